package matcher

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A File is a robots.txt file, read once and for all tokens. It is immutable
// and safe for concurrent use. Most callers want [File.Match] or
// [File.MatchURL]; [File.Group] is for many targets of one crawler.
type File struct {
	dialect Dialect
	size    uint32                   // of the records in text
	text    string                   // the records, see entry, an item that ends the last group, and the table of agents
	first   atomic.Pointer[Group]    // asked for, mostly the only one
	kept    atomic.Pointer[[]*Group] // more that are costly to make again, by agent
}

// orEmpty returns f, or a file without a line if f is nil.
func (f *File) orEmpty() *File {
	if f == nil {
		return Parse(nil, Dialect{})
	}
	return f
}

// textMax bounds what is read of a file, so that offsets fit. House rule: far
// past the 500 KiB of RFC 9309, section 2.5; the caller sets the real limit.
const textMax = 1 << 26

// Parse reads a robots.txt file. It never fails: what is not understood is
// skipped, line by line (RFC 9309, section 2.3.1.5), and listed by
// [File.Skipped]. The result does not alias text.
//
// Parse reads all of the text, up to 64 MiB. A crawler limits what it downloads,
// to 500 KiB at least (RFC 9309, section 2.5), and drops a line cut in two.
func Parse(text []byte, d Dialect) *File {
	s := newScanner(d.decode(text[:min(len(text), textMax)]))
	b := spare.Get().(*buffers)
	p := parser{dialect: d, buffers: buffers{b.agents[:0], slices.Grow(b.out[:0], len(s.text)), b.tmp[:0], seen{b.seen.slots[:0]}}}
	for {
		if !d.blankEnds && s.atBlank() {
			s.skipBlank()
		}
		if k, value, special := s.usual(d.lineMax); k != other {
			p.usual(k, value, special, s.line)
			continue
		}
		line, comment, ok := s.next()
		if !ok {
			break
		}
		p.line(line, comment, s.line)
	}
	if len(text) > textMax {
		p.put(junk, cutMark, s.line)
	}
	f := p.finish()
	if cap(p.out) <= spareMax {
		*b = p.buffers
		spare.Put(b)
	}
	return f
}

// entry is one item of File.text: its kind in one octet, the length of the
// value as a uvarint, the value, and a number as a uvarint.
//
// Most items are records, in the order of the file, and their number is that of
// the line. A rule that can match something has a kind with kindRule, and its
// value is ready to be compared. If it is not ready as it is written, its record
// has a kind without kindRule, and the normal form of the pattern follows as an
// item apart, whose number says how far before it the record begins.
//
// With kindBack, a distance stands before the value: of a rule, back to its
// value, which stands in the text already; of a user-agent line, back to the
// first line of its group.
type entry struct {
	kind  kind   // allow and disallow for rules of any sort
	value string // of an item of kind other, the whole line, until it is read again
	start int    // where in File.text the item begins
	line  int    // 0 if the item is no record
	name  string // of a record kept as a whole line
}

// next reads the item at pos and returns the position of the one after it.
func (f *File) next(pos int) (entry, int) {
	h := f.head(pos)
	number, n := uvarint(f.text, h.number)
	e := entry{kind: h.kind, value: f.text[h.off:h.end], start: pos, line: int(number)}
	switch {
	case h.kind == other:
		f.reread(&e)
	case h.kind&kindRule != 0:
		if h.kind&kindApart != 0 {
			e.line = 0
		}
		if e.kind = disallow; h.kind&kindAllow != 0 {
			e.kind = allow
		}
	}
	return e, h.number + n
}

// header says what an item is and where in File.text its parts are.
type header struct {
	kind     kind // without kindBack
	off, end int  // the value
	number   int
}

// head reads the item at pos up to its number.
func (f *File) head(pos int) header {
	t := f.text[pos:]
	if t[0]&byte(kindBack)|t[1]&0x80 != 0 {
		return f.longHead(pos)
	}
	end := pos + 2 + int(t[1])
	return header{kind(t[0]), pos + 2, end, end}
}

// longHead is head for all items.
func (f *File) longHead(pos int) header {
	k := kind(f.text[pos])
	size, n := uvarint(f.text, pos+1)
	off := pos + 1 + n
	if k&kindBack == 0 {
		return header{k, off, off + int(size), off + int(size)}
	}
	k &^= kindBack
	back, n := uvarint(f.text, off)
	off += n
	if k&kindRule != 0 {
		at := pos - int(back)
		return header{k, at, at + int(size), off}
	}
	return header{k, off, off + int(size), off + int(size)}
}

// groupOf returns where the group begins of the user-agent line at pos.
func (f *File) groupOf(pos int) int {
	if kind(f.text[pos])&kindBack == 0 {
		return pos
	}
	_, n := uvarint(f.text, pos+1)
	back, _ := uvarint(f.text, pos+1+n)
	return pos - int(back)
}

// ends reports whether no rule of a group, past the first, stands after h.
func (h header) ends() bool { return h.kind == agent || h.kind == ended }

// after returns where the item after h begins.
func (f *File) after(h header) int {
	pos := h.number
	for f.text[pos] >= 0x80 {
		pos++
	}
	return pos + 1
}

// reread splits the line of an entry of kind other.
func (f *File) reread(e *entry) {
	d := &f.dialect
	name, value, _ := d.split(e.value)
	e.name = name
	e.kind = d.kindOf(name)
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

// cutMark is the value of an item of kind junk for what is past a limit.
const cutMark = "+"

// parser builds a File. The agents from open on belong to the group being read.
type parser struct {
	buffers
	dialect Dialect
	start   int // where in out the group being read begins
	open    int
	grouped bool // a user-agent line stands before
	inRules bool // a rule of the present group stands before
	ready   bool // so does an item with kindRule
}

// buffers are what a parser writes to. They are used again, unless they are large.
type buffers struct {
	agents []uint64 // hash of the token, then where in out the item begins
	out    []byte   // becomes File.text
	tmp    []byte   // the normal form of a pattern
	seen   seen
}

var spare = sync.Pool{New: func() any { return new(buffers) }}

const spareMax = 1 << 21 // octets of out: enough for any file of 500 KiB

// line reads one line, whose comment begins at comment.
func (p *parser) line(line string, comment, number int) {
	d := &p.dialect
	rest := d.strip(line, comment)
	if rest != "" {
		p.words(rest, number)
	} else if d.blankEnds && d.trim(line) == "" {
		p.blank(number)
	}
	if d.lineMax > 0 && comment > int(d.lineMax) {
		p.put(junk, cutMark, number)
	}
}

// words reads what counts of a line.
func (p *parser) words(rest string, number int) {
	d := &p.dialect
	name, value, sep := d.split(rest)
	if name == "" {
		p.put(junk, "", number)
		return
	}
	k, stored, line := properKind(name), other, rest
	switch {
	case k == other:
		k = d.names.oddKind(name)
	case rest[sep] == ':':
		stored, line = k, value
	}
	p.record(k, stored, value, line, number)
}

// record takes a record of kind k. Its line is stored as the value alone, of
// kind stored, or whole, of kind other.
func (p *parser) record(k, stored kind, value, line string, number int) {
	switch k {
	case agent:
		p.agent(stored, value, line, number)
	case allow, disallow:
		p.rule(k, stored, value, line, number)
	default:
		p.put(stored, line, number)
	}
}

// usual takes a record that scanner.usual has read.
func (p *parser) usual(k kind, value string, special bool, number int) {
	switch {
	case k == agent:
		p.agent(k, value, value, number)
	case p.grouped && !p.dialect.neverBegins(value):
		p.normalRule(k, value, special, number)
	default:
		p.rule(k, k, value, value, number)
	}
}

// rule takes a rule, and makes of its pattern what targets are compared with.
func (p *parser) rule(k, stored kind, pattern, line string, number int) {
	d, from := &p.dialect, len(p.out)
	p.inRules = p.grouped
	isSpecial, clean := survey(pattern)
	if !p.grouped || d.neverBegins(pattern) || !clean && d.idle(pattern) {
		p.put(stored, line, number)
		return
	}
	if clean && stored != other {
		p.normalRule(k, pattern, isSpecial, number)
		return
	}
	p.ready = true
	if normal, r := p.normal(k, pattern); normal == line {
		p.putRule(r, line, number)
	} else {
		p.put(stored, line, number)
		p.putRule(r|kindApart, normal, len(p.out)-from)
	}
	if d.indexHTML && k == allow {
		p.indexPage(pattern, from)
	}
}

// normalRule takes a rule that can match something and whose pattern is in
// normal form as it is written.
func (p *parser) normalRule(k kind, pattern string, special bool, number int) {
	from := len(p.out)
	p.inRules, p.ready = true, true
	p.putRule(ruleKind(k, special && !p.dialect.literal), pattern, number)
	if p.dialect.indexHTML && k == allow {
		p.indexPage(pattern, from)
	}
}

// indexPage adds to an allow rule for an index page, whose record is at from,
// that the Google dialect takes it to be for the directory as well.
func (p *parser) indexPage(pattern string, from int) {
	slash := strings.LastIndexByte(pattern, '/')
	if slash >= 0 && strings.HasPrefix(pattern[slash:], "/index.htm") {
		normal, r := p.normal(allow, pattern[:slash+1]+"$")
		p.putRule(r|kindApart, normal, len(p.out)-from)
	}
}

// normal returns a pattern in normal form, until it is called again, and the
// kind of its rule.
func (p *parser) normal(k kind, pattern string) (string, kind) {
	p.tmp = p.dialect.form.rule(p.tmp[:0], pattern)
	special := !p.dialect.literal && (bytes.IndexByte(p.tmp, '*') >= 0 || bytes.HasSuffix(p.tmp, []byte("$")))
	return view(p.tmp), ruleKind(k, special)
}

// putRule appends a rule that can match something.
func (p *parser) putRule(k kind, pattern string, number int) {
	pos := len(p.out)
	at, slot := p.seen.find(view(p.out), pattern)
	if at == 0 {
		p.put(k, pattern, number)
		if slot != nil {
			*slot = uint32(len(p.out) - sizeOf(number) - len(pattern))
		}
		return
	}
	out := binary.AppendUvarint(appendHead(p.out, k|kindBack, len(pattern)), uint64(pos-at))
	p.out = binary.AppendUvarint(out, uint64(number))
}

// sizeOf returns how many octets the uvarint n takes.
func sizeOf(n int) int { return max(1, (bits.Len(uint(n))+6)/7) }

// put appends an item.
func (p *parser) put(k kind, value string, number int) {
	out := append(appendHead(p.out, k, len(value)), value...)
	p.out = binary.AppendUvarint(out, uint64(number))
}

// appendHead appends what stands before the value of an item, or the distance.
func appendHead(dst []byte, k kind, size int) []byte {
	return binary.AppendUvarint(append(dst, byte(k)), uint64(size))
}
