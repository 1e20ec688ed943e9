package matcher

import (
	"encoding/binary"
	"sync/atomic"
)

// A File is a robots.txt file, read once and for all tokens. It is immutable
// and safe for concurrent use. Most callers want [File.Match]; [File.Group]
// is the same for many targets of one crawler.
type File struct {
	dialect Dialect
	text    string                   // the records, see entry
	agents  []name                   // what the user-agent lines name, by hash unless dialect.within
	first   atomic.Pointer[asked]    // the first token asked for, mostly the only one
	groups  atomic.Pointer[[]*Group] // made so far, by agent
}

// asked is a token with the group it obeys.
type asked struct {
	token string
	group *Group
}

// A name is the token of one user-agent line.
type name struct {
	hash  uint32 // of the token, without case
	off   uint32 // where in File.text the line stands
	group uint32 // where in File.text the first line of its group stands
}

// textMax bounds what is read of a file, so that offsets fit. House rule: far
// past the 500 KiB of RFC 9309, section 2.5; the caller sets the real limit.
const textMax = 1 << 26

// Parse reads a robots.txt file. It never fails: what is not understood is
// skipped, line by line (RFC 9309, section 2.3.1.5), and listed by
// [File.Skipped]. The result does not alias text.
func Parse(text []byte, d Dialect) *File {
	if len(text) > textMax {
		text = text[:textMax]
	}
	s := newScanner(d.decode(text))
	p := parser{dialect: d, agents: make([]name, 0, 8), out: make([]byte, 0, len(s.text))}
	for {
		if !d.blankEnds {
			s.skipBlank()
		}
		line, comment, ok := s.next()
		if !ok {
			return p.finish()
		}
		p.line(line, comment, s.line)
	}
}

// entry is one record of File.text: a header, kind and length of the value in
// one uvarint, then the value, then the number of the line as a uvarint. The
// value of an entry of kind other is the whole line.
type entry struct {
	kind  kind
	value string
	off   int // where in File.text value begins
	start int // where in File.text what is kept of the line begins
	line  int
	odd   bool // accepted although it is not written as it should be
	name  string
}

// next reads the entry at pos and returns the position of the one after it.
func (f *File) next(pos int) (entry, int) {
	head, n := uvarint(f.text, pos)
	pos += n
	e := entry{kind: kind(head & 7), off: pos, start: pos}
	end := pos + int(head>>3)
	e.value = f.text[pos:end]
	line, n := uvarint(f.text, end)
	e.line = int(line)
	if e.kind == other {
		f.reread(&e)
	}
	return e, end + n
}

// reread splits the line of an entry of kind other.
func (f *File) reread(e *entry) {
	d := &f.dialect
	name, value, _ := d.split(e.value)
	e.name = name
	e.off += len(e.value) - len(value) // nothing stands after the value
	e.kind = d.kindOf(name)
	e.odd = e.kind != other
	e.value = value
}

// uvarint reads a number at s[i:] and returns how many octets it takes.
func uvarint(s string, i int) (v uint64, n int) {
	for shift := 0; ; shift += 7 {
		c := s[i+n]
		n++
		v |= uint64(c&0x7F) << shift
		if c < 0x80 {
			return v, n
		}
	}
}

// parser builds a File. The agents from open on belong to the group being read.
type parser struct {
	dialect Dialect
	agents  []name
	out     []byte // becomes File.text
	last    int    // where in out the last entry begins
	start   int    // where in out the group being read begins
	open    int
	grouped bool // a user-agent line stands before
	inRules bool // a rule of the present group stands before
}

// line reads one line, whose comment begins at comment.
func (p *parser) line(line string, comment, number int) {
	d := &p.dialect
	rest := d.strip(line, comment)
	if rest == "" {
		if d.blankEnds && d.trim(line) == "" {
			p.blank(number)
		}
		return
	}
	name, value, sep := d.split(rest)
	if name == "" {
		p.put(junk, "", number)
		return
	}
	if rest[sep] == ':' {
		if k := properKind(name); k != other {
			p.put(k, value, number)
			p.group(k, value)
			return
		}
	}
	p.put(other, rest, number)
	p.group(d.kindOf(name), value)
}

// put appends an entry.
func (p *parser) put(k kind, value string, line int) {
	p.last = len(p.out)
	p.out = binary.AppendUvarint(p.out, uint64(len(value))<<3|uint64(k))
	p.out = append(p.out, value...)
	p.out = binary.AppendUvarint(p.out, uint64(line))
}
