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
// strings after their lengths, the text of the copy, deflated, and a checksum of
// all of it.
const (
	magic     = "polite\x00\x03" // the last byte is the version
	sumSize   = 16
	maxString = 1 << 20 // bytes; the longest ever stored are URLs
)

// stored is a record as it is written, without pointers. What a record lacks is
// zero.
type stored struct {
	numbers
	profile, robots, served, cause, clause, origin, etag string
}

// numbers are the fields of a record that are no strings.
type numbers struct {
	Learnt, Next               int64
	Status                     int32
	Access                     Access
	NoStore                    bool
	Outage                     bool // there is an outage
	First, Tried, Reached      int64
	Lasted                     time.Duration
	Fails                      uint8
	Answered, Hold             bool
	Copy                       bool // there is a copy
	Page, CopyNoStore          bool
	Fetched, Expires, Modified int64
	Declared                   time.Duration
}

// strings are the fields of a record that are strings, in the order of the stored
// form.
func (s *stored) strings() []*string {
	return []*string{&s.profile, &s.robots, &s.served, &s.cause, &s.clause, &s.origin, &s.etag}
}

// valid reports whether the numbers are such as MarshalBinary writes.
func (n *numbers) valid() bool {
	least := min(n.Learnt, n.Next, n.First, n.Tried, n.Reached, int64(n.Lasted), n.Fetched, n.Expires, n.Modified)
	return least >= 0 && n.Declared >= undeclared && n.Status >= 0 && n.Status <= maxStatus &&
		n.Access <= Restricted && n.Fails <= maxFails && n.Outage == (n.Access == Unreachable)
}

// MarshalBinary returns the record in a form that [Profile.Load] reads, for a
// store. A nil or zero Record is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	a := r.answer
	s := stored{profile: r.profile.Name, robots: r.robots, served: a.served, cause: a.cause, clause: a.clause}
	s.Learnt, s.Next, s.Status, s.Access, s.NoStore = r.learnt, r.next, int32(a.status), a.access, a.noStore
	if o := r.outage; o != nil {
		s.Outage, s.First, s.Tried, s.Reached = true, o.first, o.tried, o.reached
		s.Lasted, s.Fails, s.Answered, s.Hold = o.lasted, o.fails, o.answered, o.hold
	}
	if r.copy == nil {
		return s.seal(""), nil
	}
	c := r.copy
	s.Copy, s.Page, s.CopyNoStore = true, c.page, c.noStore
	s.Fetched, s.Expires, s.Declared = c.fetched, c.expires, c.declared
	if c.source != nil {
		s.origin, s.etag, s.Modified = c.source.origin, c.source.etag, c.source.modified
	}
	return s.seal(c.text.deflated), nil
}

// seal returns the stored form with the text of the copy.
func (s *stored) seal(deflated string) []byte {
	b, err := binary.Append([]byte(magic), binary.LittleEndian, &s.numbers)
	if err != nil {
		panic(err) // never: all fields of numbers have a fixed size
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
	size, err := binary.Decode(body, binary.LittleEndian, &s.numbers)
	if err != nil || !s.valid() {
		return nil, errDamaged
	}
	body = body[size:]
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
	case !s.Copy && len(deflated) > 0:
		return nil, errDamaged
	}
	a := answer{status: int(s.Status), access: s.Access, noStore: s.NoStore, served: s.served, cause: s.cause, clause: s.clause}
	r := &Record{profile: p, robots: s.robots, learnt: s.Learnt, next: s.Next, answer: a.shared()}
	if s.Outage {
		r.outage = &outage{s.First, s.Tried, s.Reached, s.Lasted, s.Fails, s.Answered, s.Hold}
	}
	if !s.Copy {
		return r, nil
	}
	text, err := loadText(p, deflated)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.copy = &cachedCopy{text: text, fetched: s.Fetched, expires: s.Expires, declared: s.Declared, page: s.Page, noStore: s.CopyNoStore}
	if src := (source{s.origin, s.etag, s.Modified}); src != (source{}) {
		r.copy.source = &src
	}
	return r, nil
}
