package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// The stored form of a record: a magic with the version, the fields in a fixed
// order (numbers as varints, text behind its length), the rules as canonical
// text, and a checksum over all of it.
const (
	magic   = "polite\x00\x01" // the last octet is the version
	sumSize = 16
	maxText = 1 << 20 // octets of one text; the longest ever stored are URLs
)

// MarshalBinary returns the record in a form that [Profile.Load] reads: what a
// store keeps. A Record of which nothing is known is an error.
func (r *Record) MarshalBinary() ([]byte, error) {
	if r.blank() {
		return nil, errors.New("policy: there is no record to store")
	}
	m := r.detail()
	b := []byte(magic)
	for _, s := range []string{r.profile.Name, r.robots, m.served, m.origin, m.etag, m.lastModified, m.cause, m.clause} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, n := range []int64{r.at, r.fetched, r.end, r.next, m.down, int64(r.status), int64(r.access), int64(r.fails), int64(r.flags)} {
		b = binary.AppendVarint(b, n)
	}
	if r.file == nil {
		return seal(append(b, 0)), nil
	}
	b, err := r.file.AppendText(append(b, 1))
	if err != nil {
		return nil, fmt.Errorf("policy: storing the rules: %w", err)
	}
	return seal(b), nil
}

func seal(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:sumSize]...)
}

// Load reads what MarshalBinary wrote under a profile of the same name. Anything
// else, be it truncated, altered, of another version or of another profile, is
// an error and no record. Load keeps no reference to data.
func (p *Profile) Load(data []byte) (*Record, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, err
	}
	l := loader{rest: body}
	var m detail
	r := &Record{profile: p}
	stored := l.text()
	for _, s := range []*string{&r.robots, &m.served, &m.origin, &m.etag, &m.lastModified, &m.cause, &m.clause} {
		*s = l.text()
	}
	for _, n := range []*int64{&r.at, &r.fetched, &r.end, &r.next, &m.down} {
		*n = l.number(-1<<63, 1<<63-1)
	}
	r.status = int32(l.number(0, 1<<20))
	r.access = Access(l.number(0, int64(Restricted)))
	r.fails = uint8(l.number(0, 32))
	r.flags = flags(l.number(0, int64(allFlags)))
	hasFile := l.number8() == 1
	switch {
	case l.bad || !hasFile && len(l.rest) > 0:
		return nil, errors.New("policy: the stored record is damaged")
	case stored != p.Name:
		return nil, fmt.Errorf("policy: the record was stored by profile %q, want %q", clean.Text(stored, maxWords), p.Name)
	}
	if hasFile {
		r.file = matcher.Parse(l.rest, p.Dialect)
	}
	r.describe(m)
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

// loader reads fields one after another. After the first that does not fit, bad
// is set and all further fields are zero.
type loader struct {
	rest []byte
	bad  bool
}

func (l *loader) text() string {
	n, size := binary.Uvarint(l.rest)
	if size <= 0 || n > uint64(min(len(l.rest)-size, maxText)) {
		l.bad, l.rest = true, nil
		return ""
	}
	s := string(l.rest[size : size+int(n)])
	l.rest = l.rest[size+int(n):]
	return s
}

func (l *loader) number(least, most int64) int64 {
	n, size := binary.Varint(l.rest)
	if size <= 0 || n < least || n > most {
		l.bad, l.rest = true, nil
		return 0
	}
	l.rest = l.rest[size:]
	return n
}

// number8 reads the octet that says whether rules follow.
func (l *loader) number8() byte {
	if len(l.rest) == 0 || l.rest[0] > 1 {
		l.bad = true
		return 0
	}
	b := l.rest[0]
	l.rest = l.rest[1:]
	return b
}
