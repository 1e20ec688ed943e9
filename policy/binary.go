package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rfc9309/polite/internal/clean"
)

// This file stores and loads records.

// The stored form of a record is a magic with the version, the numbers, the
// strings, each after its length, the text of the copy, deflated, and a checksum of
// all of it.
const (
	magic     = "polite\x00\x03"
	version   = len(magic) - 1 // the place of the version
	sumSize   = 16
	maxString = 1 << 20 // bytes; the longest ever stored are URLs
)

// coder writes the fields of a record, or reads them in the same order.
type coder struct {
	data    []byte // what is written, or what is left to read
	reading bool
	failed  bool // the data ended too early
}

// record codes all fields but the text of the copy. To read, r must have a profile and
// an answer; record makes the other parts that it needs.
func (c *coder) record(r *Record, profile *string) {
	a, o, k := r.answer, r.outage, cmp.Or(r.copy, &cachedCopy{})
	down, copied := r.outage != nil, r.copy != nil
	c.numbers(&r.learnt, &r.next, &a.status, (*uint8)(&a.access), &a.noStore, &down, &copied)
	if c.reading && down {
		o = &outage{}
		r.outage = o
	}
	if c.reading && copied {
		r.copy = k
	}
	if down {
		c.numbers(&o.first, &o.tried, &o.reached, (*int64)(&o.lasted), &o.fails, &o.answered, &o.hold)
	}
	if copied {
		c.numbers(&k.fetched, &k.expires, &k.source.modified, (*int64)(&k.declared), &k.page, &k.noStore)
	}
	c.strings(profile, &r.robots, &a.served, &a.cause, &a.clause, &k.source.origin, &k.source.etag)
}

// numbers codes pointers to numbers and booleans of a fixed size.
func (c *coder) numbers(all ...any) {
	for _, n := range all {
		if !c.reading {
			c.data, _ = binary.Append(c.data, binary.LittleEndian, n) // no error: the size is fixed
			continue
		}
		size, err := binary.Decode(c.data, binary.LittleEndian, n)
		c.data, c.failed = c.data[size:], c.failed || err != nil
	}
}

// strings codes each string after its length.
func (c *coder) strings(all ...*string) {
	for _, s := range all {
		if !c.reading {
			c.data = append(binary.AppendUvarint(c.data, uint64(len(*s))), *s...)
			continue
		}
		n, size := binary.Uvarint(c.data)
		if size <= 0 || n > uint64(min(len(c.data)-size, maxString)) {
			c.failed = true
			return
		}
		*s, c.data = string(c.data[size:size+int(n)]), c.data[size+int(n):]
	}
}

// MarshalBinary returns the record in a form that [Profile.Load] reads, for a
// store. A nil or zero Record is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	c := coder{data: []byte(magic)}
	c.record(r, &r.profile.Name)
	if r.copy != nil {
		c.data = append(c.data, r.copy.text.deflated...)
	}
	sum := sha256.Sum256(c.data)
	return append(c.data, sum[:sumSize]...), nil
}

// unseal returns what is between the magic and the checksum.
func unseal(data []byte) ([]byte, error) {
	if len(data) < len(magic)+sumSize || string(data[:version]) != magic[:version] {
		return nil, errors.New("policy: this is not a stored record")
	}
	body, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if want := sha256.Sum256(body); string(want[:sumSize]) != string(sum) {
		return nil, errors.New("policy: the stored record is damaged: its checksum does not fit")
	}
	if body[version] != magic[version] {
		return nil, fmt.Errorf("policy: the stored record has version %d, want %d", body[version], magic[version])
	}
	return body[len(magic):], nil
}

var errDamaged = errors.New("policy: the stored record is damaged")

// Load reads what MarshalBinary wrote under a profile of the same name. Data
// that is truncated, altered, of another version or of another profile is an
// error and no record. Load keeps no reference to data.
func (p *Profile) Load(data []byte) (*Record, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, err
	}
	r, stored := &Record{profile: p, answer: &answer{}}, ""
	c := coder{data: body, reading: true}
	c.record(r, &stored)
	switch {
	case c.failed || !r.valid() || r.copy == nil && len(c.data) > 0:
		return nil, errDamaged
	case stored != p.Name:
		return nil, fmt.Errorf("policy: the record was stored by profile %q, want %q", clean.Text(stored, maxWords), p.Name)
	}
	r.answer = r.answer.shared()
	if r.copy == nil {
		return r, nil
	}
	deflated := string(c.data)
	text, err := inflate(deflated, int64(p.Limit))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.copy.text = newText(p, text, deflated)
	return r, nil
}

// valid reports whether the numbers are such as MarshalBinary writes.
func (r *Record) valid() bool {
	a, o, k := r.answer, cmp.Or(r.outage, &outage{}), cmp.Or(r.copy, &cachedCopy{})
	least := min(r.learnt, r.next, o.first, o.tried, o.reached, int64(o.lasted), k.fetched, k.expires, k.source.modified)
	return least >= 0 && k.declared >= undeclared && a.status >= 0 && a.status <= maxStatus &&
		a.access <= Restricted && o.fails <= maxFails && (r.outage != nil) == (a.access == Unreachable)
}
