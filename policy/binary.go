package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rfc9309/polite/internal/clean"
)

// The stored form of a record is a magic with the version, the numbers, the
// strings, each after its length, the text of the copy, deflated, and a checksum of
// all of it.
const (
	magic     = "polite\x00\x03" // the last byte is the version
	sumSize   = 16
	maxString = 1 << 20 // bytes; the longest ever stored are URLs
)

// stored is a record as it is written, without pointers. What a record lacks is
// zero.
type stored struct {
	base    storedBase
	outage  storedOutage
	copy    storedCopy
	profile string
	robots  string
	served  string
	cause   string
	clause  string
	origin  string
	etag    string
}

// storedBase has the numbers that every record has.
type storedBase struct {
	Learnt, Next int64
	Status       int32
	Access       Access
	NoStore      bool
	Outage       bool // storedOutage follows
	Copy         bool // storedCopy follows
}

// storedOutage has the numbers of an outage.
type storedOutage struct {
	First, Tried, Reached int64
	Lasted                time.Duration
	Fails                 uint8
	Answered, Hold        bool
}

// storedCopy has the numbers of a copy.
type storedCopy struct {
	Fetched, Expires, Modified int64
	Declared                   time.Duration
	Page, NoStore              bool
}

// numbers are the numbers of the record, in the order of the stored form.
func (s *stored) numbers() []any {
	parts := []any{&s.base}
	if s.base.Outage {
		parts = append(parts, &s.outage)
	}
	if s.base.Copy {
		parts = append(parts, &s.copy)
	}
	return parts
}

// strings are the fields of a record that are strings, in the order of the stored
// form.
func (s *stored) strings() []*string {
	return []*string{&s.profile, &s.robots, &s.served, &s.cause, &s.clause, &s.origin, &s.etag}
}

// valid reports whether the numbers are such as MarshalBinary writes.
func (s *stored) valid() bool {
	b, o, c := &s.base, &s.outage, &s.copy
	least := min(b.Learnt, b.Next, o.First, o.Tried, o.Reached, int64(o.Lasted), c.Fetched, c.Expires, c.Modified)
	return least >= 0 && c.Declared >= undeclared && b.Status >= 0 && b.Status <= maxStatus &&
		b.Access <= Restricted && o.Fails <= maxFails && b.Outage == (b.Access == Unreachable)
}

// MarshalBinary returns the record in a form that [Profile.Load] reads, for a
// store. A nil or zero Record is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	a := r.answer
	s := stored{profile: r.profile.Name, robots: r.robots, served: a.served, cause: a.cause, clause: a.clause}
	s.base = storedBase{r.learnt, r.next, int32(a.status), a.access, a.noStore, r.outage != nil, r.copy != nil}
	if o := r.outage; o != nil {
		s.outage = storedOutage{o.first, o.tried, o.reached, o.lasted, o.fails, o.answered, o.hold}
	}
	if r.copy == nil {
		return s.seal(""), nil
	}
	c := r.copy
	s.copy = storedCopy{Fetched: c.fetched, Expires: c.expires, Declared: c.declared, Page: c.page, NoStore: c.noStore}
	if c.source != nil {
		s.origin, s.etag, s.copy.Modified = c.source.origin, c.source.etag, c.source.modified
	}
	return s.seal(c.text.deflated), nil
}

// seal returns the stored form with the text of the copy.
func (s *stored) seal(deflated string) []byte {
	b := []byte(magic)
	for _, n := range s.numbers() {
		b, _ = binary.Append(b, binary.LittleEndian, n) // no error: all fields have a fixed size
	}
	for _, text := range s.strings() {
		b = binary.AppendUvarint(b, uint64(len(*text)))
		b = append(b, *text...)
	}
	b = append(b, deflated...)
	sum := sha256.Sum256(b)
	return append(b, sum[:sumSize]...)
}

// unseal is the inverse of seal.
func (s *stored) unseal(data []byte) (deflated []byte, err error) {
	const version = len(magic) - 1
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
	body = body[len(magic):]
	for i := 0; i < len(s.numbers()); i++ { // the first says which others follow
		size, err := binary.Decode(body, binary.LittleEndian, s.numbers()[i])
		if err != nil {
			return nil, errDamaged
		}
		body = body[size:]
	}
	if !s.valid() {
		return nil, errDamaged
	}
	for _, text := range s.strings() {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > uint64(min(len(body)-size, maxString)) {
			return nil, errDamaged
		}
		*text, body = string(body[size:size+int(n)]), body[size+int(n):]
	}
	return body, nil
}

var errDamaged = errors.New("policy: the stored record is damaged")

// Load reads what MarshalBinary wrote under a profile of the same name. Data
// that is truncated, altered, of another version or of another profile is an
// error and no record. Load keeps no reference to data.
func (p *Profile) Load(data []byte) (*Record, error) {
	var s stored
	deflated, err := s.unseal(data)
	switch {
	case err != nil:
		return nil, err
	case s.profile != p.Name:
		return nil, fmt.Errorf("policy: the record was stored by profile %q, want %q", clean.Text(s.profile, maxWords), p.Name)
	case !s.base.Copy && len(deflated) > 0:
		return nil, errDamaged
	}
	b, o, c := s.base, s.outage, s.copy
	a := answer{status: int(b.Status), access: b.Access, noStore: b.NoStore, served: s.served, cause: s.cause, clause: s.clause}
	r := &Record{profile: p, robots: s.robots, learnt: b.Learnt, next: b.Next, answer: a.shared()}
	if b.Outage {
		r.outage = &outage{o.First, o.Tried, o.Reached, o.Lasted, o.Fails, o.Answered, o.Hold}
	}
	if !b.Copy {
		return r, nil
	}
	packed := string(deflated)
	text, err := inflate(packed, int64(p.Limit))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.copy = &cachedCopy{text: newText(p, text, packed), fetched: c.Fetched, expires: c.Expires, declared: c.Declared, page: c.Page, noStore: c.NoStore}
	if src := (source{s.origin, s.etag, c.Modified}); src != (source{}) {
		r.copy.source = &src
	}
	return r, nil
}
