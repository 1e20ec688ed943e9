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

// The stored form of a record is a magic with the version, a byte for each part that a
// record may lack, the numbers, the strings, each after its length, the text of the
// copy, deflated, and a checksum of all of it.
const (
	magic   = "polite\x00\x06"
	parts   = 2 // the copy and the outage: 1 if the record has it, otherwise 0
	sumSize = 16
)

// fields returns pointers to what is stored of a record besides the text of its copy:
// the numbers, each of a fixed size, and the strings. Without a copy the last two strings
// are empty.
func (r *Record) fields(profile *string) (numbers []any, texts []*string) {
	a, o, c := r.answer, r.outage, cmp.Or(r.copy, &cachedCopy{})
	numbers = []any{&r.learnt, &r.next, &a.status, (*uint8)(&a.access), &a.noStore}
	if r.copy != nil {
		numbers = append(numbers, &c.fetched, &c.expires, &c.source.modified, (*int64)(&c.declared), &c.notRobots, &c.noStore)
	}
	if o != nil {
		numbers = append(numbers, &o.first, &o.tried, &o.reached, &o.probed, (*int64)(&o.lasted), &o.fails, &o.early, &o.answered, &o.patience)
	}
	return numbers, []*string{profile, &r.robots, &a.served, &a.cause, &a.clause, &c.source.origin, &c.source.etag}
}

// MarshalBinary returns the record in a form that [Profile.Load] reads, for a
// store. A nil or zero Record is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	data, _ := binary.Append([]byte(magic), binary.LittleEndian, [parts]bool{r.copy != nil, r.outage != nil})
	numbers, texts := r.fields(&r.profile.Name)
	for _, n := range numbers {
		data, _ = binary.Append(data, binary.LittleEndian, n) // no error: the size is fixed
	}
	for _, s := range texts {
		data = append(binary.AppendUvarint(data, uint64(len(*s))), *s...)
	}
	if r.copy != nil {
		data = append(data, r.copy.text.deflated...)
	}
	sum := sha256.Sum256(data)
	return append(data, sum[:sumSize]...), nil
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
	deflated, ok := r.decode(body, &stored)
	switch {
	case !ok || !r.valid() || r.copy == nil && deflated != "":
		return nil, errDamaged
	case stored != p.Name:
		return nil, fmt.Errorf("policy: the record was stored by profile %q, want %q", clean.Text(stored, maxWords), p.Name)
	}
	r.answer = r.answer.shared()
	if r.copy == nil {
		return r, nil
	}
	text, err := inflate(deflated, int64(p.Limit))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.copy.text = newText(text, p.Dialect, sha256.Sum256(text), deflated)
	return r, nil
}

// unseal returns what is between the magic and the checksum.
func unseal(data []byte) ([]byte, error) {
	if len(data) < len(magic)+parts+sumSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("policy: this is not a stored record of version %d", magic[len(magic)-1])
	}
	body, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if want := sha256.Sum256(body); string(want[:sumSize]) != string(sum) {
		return nil, fmt.Errorf("%w: its checksum does not fit", errDamaged)
	}
	return body[len(magic):], nil
}

// decode fills in the fields of r and makes the parts that it has. It returns the text
// of the copy, which is the rest of data. It reports false if data ends too early.
func (r *Record) decode(data []byte, profile *string) (deflated string, ok bool) {
	if data[0] != 0 {
		r.copy = &cachedCopy{}
	}
	if data[1] != 0 {
		r.outage = &outage{}
	}
	data = data[parts:]
	numbers, texts := r.fields(profile)
	for _, n := range numbers {
		size, err := binary.Decode(data, binary.LittleEndian, n)
		if err != nil {
			return "", false
		}
		data = data[size:]
	}
	for _, s := range texts {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return "", false
		}
		*s, data = string(data[size:size+int(n)]), data[size+int(n):]
	}
	return string(data), true
}

// valid reports whether the numbers are such as MarshalBinary writes.
func (r *Record) valid() bool {
	a, o, c := r.answer, cmp.Or(r.outage, &outage{}), cmp.Or(r.copy, &cachedCopy{})
	lowest := min(r.learnt, r.next, o.first, o.tried, o.reached, o.probed, int64(o.lasted), c.fetched, c.expires, c.source.modified)
	return lowest >= 0 && c.declared >= undeclared && a.status >= 0 && a.status <= maxStatus &&
		a.access <= Restricted && o.fails <= maxFails && o.early <= maxEarly && (r.outage != nil) == (a.access == Unreachable)
}
