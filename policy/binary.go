package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rfc9309/polite/internal/clean"
)

// The stored form of a record: a magic with the version, the fields in the
// order of stored.fields (numbers as varints, strings after their length), the
// text of the copy, deflated, and a checksum of all of it.
const (
	magic   = "polite\x00\x03" // the last byte is the version
	sumSize = 16
	maxText = 1 << 20 // bytes of one text; the longest ever stored are URLs
)

// stored is a record as it is written: no pointers, and flags for the parts it
// may lack.
type stored struct {
	profile, robots string
	learnt, next    int64
	answer          answer
	hasOutage       bool
	outage          outage
	hasCopy         bool
	copy            cachedCopy
	source          source
}

// fields is the stored form in order, for writing and for reading.
func (s *stored) fields(c codec) {
	for _, text := range []*string{
		&s.profile, &s.robots, &s.answer.served, &s.answer.cause, &s.answer.clause, &s.source.origin, &s.source.etag,
	} {
		c.text(text)
	}
	status, access, fails := int64(s.answer.status), int64(s.answer.access), int64(s.outage.fails)
	lasted, declared := int64(s.outage.lasted), int64(s.copy.declared)
	for _, n := range []number{
		{&s.learnt, 0, math.MaxInt64}, {&s.next, 0, math.MaxInt64}, {&status, 0, maxStatus}, {&access, 0, int64(Restricted)},
		{&s.outage.first, 0, math.MaxInt64}, {&s.outage.tried, 0, math.MaxInt64}, {&s.outage.reached, 0, math.MaxInt64},
		{&lasted, 0, math.MaxInt64}, {&fails, 0, maxFails},
		{&s.copy.fetched, 0, math.MaxInt64}, {&s.copy.expires, 0, math.MaxInt64}, {&declared, int64(undeclared), math.MaxInt64},
		{&s.source.modified, 0, math.MaxInt64},
	} {
		c.number(n)
	}
	s.answer.status, s.answer.access, s.outage.fails = int(status), Access(access), uint8(fails)
	s.outage.lasted, s.copy.declared = time.Duration(lasted), time.Duration(declared)
	for _, flag := range []*bool{
		&s.answer.noStore, &s.hasOutage, &s.outage.answered, &s.outage.hold, &s.hasCopy, &s.copy.page, &s.copy.noStore,
	} {
		c.flag(flag)
	}
}

// codec writes or reads one field.
type codec interface {
	text(*string)
	number(number)
	flag(*bool)
}

// number is a field with its least and greatest value.
type number struct {
	n           *int64
	least, most int64
}

// MarshalBinary returns the record in a form that [Profile.Load] reads, for a
// store. A nil or zero Record is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	s := stored{profile: r.profile.Name, robots: r.robots, learnt: r.learnt, next: r.next, answer: *r.answer}
	if r.outage != nil {
		s.hasOutage, s.outage = true, *r.outage
	}
	if r.copy == nil {
		return s.seal(""), nil
	}
	s.hasCopy, s.copy = true, *r.copy
	if r.copy.source != nil {
		s.source = *r.copy.source
	}
	return s.seal(r.copy.text.deflated), nil
}

// seal is the whole of the stored form.
func (s *stored) seal(deflated string) []byte {
	w := writer{b: []byte(magic)}
	s.fields(&w)
	w.b = append(w.b, deflated...)
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:sumSize]...)
}

// Load reads what MarshalBinary wrote under a profile of the same name. Data
// that is truncated, altered, of another version or of another profile is an
// error and no record. Load keeps no reference to data.
func (p *Profile) Load(data []byte) (*Record, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, err
	}
	var s stored
	l := reader{rest: body}
	s.fields(&l)
	switch {
	case l.bad || !s.hasCopy && len(l.rest) > 0 || s.hasOutage != (s.answer.access == Unreachable):
		return nil, errors.New("policy: the stored record is damaged")
	case s.profile != p.Name:
		return nil, fmt.Errorf("policy: the record was stored by profile %q, want %q", clean.Text(s.profile, maxWords), p.Name)
	}
	a := s.answer
	r := &Record{profile: p, robots: s.robots, learnt: s.learnt, next: s.next, answer: a.shared()}
	if s.hasOutage {
		o := s.outage
		r.outage = &o
	}
	if s.hasCopy {
		c := s.copy
		if c.text, err = loadText(p, l.rest); err != nil {
			return nil, fmt.Errorf("policy: the stored record is damaged: %w", err)
		}
		r.copy = &c
	}
	if src := s.source; s.hasCopy && src != (source{}) {
		r.copy.source = &src
	}
	return r, nil
}

// unseal checks magic and checksum and returns what lies between.
func unseal(data []byte) ([]byte, error) {
	if len(data) < len(magic)+sumSize || string(data[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, errors.New("policy: this is not a stored record")
	}
	body, sum := data[:len(data)-sumSize], data[len(data)-sumSize:]
	if want := sha256.Sum256(body); string(want[:sumSize]) != string(sum) {
		return nil, errors.New("policy: the stored record is damaged: its checksum does not fit")
	}
	if v := body[len(magic)-1]; v != magic[len(magic)-1] {
		return nil, fmt.Errorf("policy: the stored record has version %d, want %d", v, magic[len(magic)-1])
	}
	return body[len(magic):], nil
}

// writer appends fields.
type writer struct{ b []byte }

func (w *writer) text(s *string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(*s)))
	w.b = append(w.b, *s...)
}

func (w *writer) number(n number) { w.b = binary.AppendVarint(w.b, *n.n) }

func (w *writer) flag(f *bool) {
	if *f {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// reader reads fields. After the first that does not fit, bad is set and all
// further fields are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (l *reader) text(s *string) {
	n, size := binary.Uvarint(l.rest)
	if size <= 0 || n > uint64(min(len(l.rest)-size, maxText)) {
		l.bad, l.rest = true, nil
		return
	}
	*s = string(l.rest[size : size+int(n)])
	l.rest = l.rest[size+int(n):]
}

func (l *reader) number(n number) {
	v, size := binary.Varint(l.rest)
	if size <= 0 || v < n.least || v > n.most {
		l.bad, l.rest = true, nil
		return
	}
	*n.n = v
	l.rest = l.rest[size:]
}

func (l *reader) flag(f *bool) {
	if len(l.rest) == 0 || l.rest[0] > 1 {
		l.bad, l.rest = true, nil
		return
	}
	*f = l.rest[0] == 1
	l.rest = l.rest[1:]
}
