package matcher

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// This file splits a file into lines and lines into records: RFC 9309,
// sections 2.2 and 2.3.1.5. Every line is tried; none is an error.

// scanner walks over the lines of a file. What it looks for it finds once, so
// that a file of any line ends is read in linear time.
type scanner struct {
	text string
	pos  int // start of the next line
	line int // number of the line returned last, from 1
	lf   int // the first LF at or after pos, or len(text)
	cr   int // the first CR, likewise
	hash int // the first "#", likewise
}

func newScanner(text string) scanner {
	return scanner{text: text, lf: find(text, 0, '\n'), cr: find(text, 0, '\r'), hash: find(text, 0, '#')}
}

// find returns the first c at or after i in s, or len(s).
func find(s string, i int, c byte) int {
	if n := strings.IndexByte(s[i:], c); n >= 0 {
		return i + n
	}
	return len(s)
}

// next returns the next line without its end, which is CR, LF or CRLF.
// comment is where "#" stands in it, or its length.
func (s *scanner) next() (line string, comment int, ok bool) {
	if s.pos >= len(s.text) {
		return "", 0, false
	}
	s.line++
	from, end := s.pos, min(s.lf, s.cr)
	s.pos = end + 1
	if end == s.cr && s.lf == end+1 {
		s.pos++
	}
	if s.cr < s.pos {
		s.cr = find(s.text, min(s.pos, len(s.text)), '\r')
	}
	if s.lf < s.pos {
		s.lf = lineFeed(s.text, min(s.pos, len(s.text)))
	}
	comment = min(s.hash, end)
	if s.hash < s.pos {
		s.hash = find(s.text, min(s.pos, len(s.text)), '#')
	}
	return s.text[from:end], comment - from, true
}

// lineFeed is find for LF, and looks at the next eight octets first, all at once:
// a file of very short lines has the most of them. An octet of x is zero where
// the text has LF, and the lowest such octet is the lowest set in the mask.
func lineFeed(s string, i int) int {
	const ones = 0x0101010101010101
	if i+8 > len(s) {
		return find(s, i, '\n')
	}
	x := word(s[i:]) ^ '\n'*ones
	if m := (x - ones) &^ x & (ones << 7); m != 0 {
		return i + bits.TrailingZeros64(m)/8
	}
	return find(s, i+8, '\n')
}

// atBlank reports whether the next line has no octet.
func (s *scanner) atBlank() bool {
	return s.pos < len(s.text) && (s.text[s.pos] == '\n' || s.text[s.pos] == '\r')
}

// skipBlank passes lines without any octet.
func (s *scanner) skipBlank() {
	i := s.pos
	for ; i < len(s.text); i++ {
		if s.text[i] == '\r' {
			s.line++
		} else if s.text[i] != '\n' {
			break
		} else if i == s.pos || s.text[i-1] != '\r' {
			s.line++
		}
	}
	if s.pos = i; i >= len(s.text) {
		return
	}
	if s.lf < i {
		s.lf = lineFeed(s.text, i)
	}
	if s.cr < i {
		s.cr = find(s.text, i, '\r')
	}
}

// byteOrderMark is the one of UTF-8.
const byteOrderMark = "\xEF\xBB\xBF"

// decode returns text as UTF-8 octets without a byte order mark. The result
// may alias text.
func (d *Dialect) decode(text []byte) string {
	const mark = byteOrderMark
	switch {
	case d.halfBOM:
		n := 0
		for n < len(mark) && n < len(text) && text[n] == mark[n] {
			n++
		}
		return view(text[n:])
	case len(text) >= 3 && string(text[:3]) == mark:
		return view(text[3:])
	case d.utf8Only || len(text) < 2:
	case text[0] == 0xFF && text[1] == 0xFE:
		return decode16(text[2:], binary.LittleEndian)
	case text[0] == 0xFE && text[1] == 0xFF:
		return decode16(text[2:], binary.BigEndian)
	}
	return view(text)
}

// Lines yields the lines of a file with the numbers that [Parse] gives them, so
// that what a File says of a line can be shown below it. They are UTF-8 where
// Parse makes it so, without a byte order mark and without their ends, and do not
// alias text.
func (d Dialect) Lines(text []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		s := newScanner(strings.Clone(d.decode(text[:min(len(text), textMax)])))
		for {
			line, _, ok := s.next()
			if !ok || !yield(s.line, line) {
				return
			}
		}
	}
}

// view returns b as a string that must not outlive the next change of b.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// decode16 turns UTF-16 into UTF-8; what is not valid becomes U+FFFD.
func decode16(text []byte, order binary.ByteOrder) string {
	out := make([]byte, 0, len(text))
	for i := 0; i+1 < len(text); i += 2 {
		r := rune(order.Uint16(text[i:]))
		if utf16.IsSurrogate(r) && i+3 < len(text) {
			if p := utf16.DecodeRune(r, rune(order.Uint16(text[i+2:]))); p != utf8.RuneError {
				r = p
				i += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return view(out)
}

// strip returns what counts of a line whose comment begins at comment: no
// comment, no white space around it, no octets past the limit.
func (d *Dialect) strip(line string, comment int) string {
	if d.lineMax > 0 {
		comment = min(comment, int(d.lineMax))
	}
	line = line[:comment]
	if d.nulEnds {
		line = until(line, 0)
	}
	return d.trim(line)
}

// until returns the part of s before the first c.
func until(s string, c byte) string {
	if i := strings.IndexByte(s, c); i >= 0 {
		return s[:i]
	}
	return s
}

// trim removes white space at both ends of s.
func (d *Dialect) trim(s string) string {
	for len(s) > 0 && d.isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && d.isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func (d *Dialect) isSpace(c byte) bool {
	return c == ' ' || c == '\t' || d.wideSpace && (c == '\v' || c == '\f')
}

// split divides a stripped line into name and value. sep is the index of the
// separator, or -1 if there is none.
func (d *Dialect) split(line string) (name, value string, sep int) {
	for sep < len(line) && line[sep] != ':' { // a name is short
		sep++
	}
	if sep == len(line) {
		sep = -1
	}
	if sep < 0 && d.twoWords {
		sep = strings.IndexAny(line, " \t")
		if sep >= 0 && strings.ContainsAny(strings.TrimLeft(line[sep:], " \t"), " \t") {
			sep = -1
		}
	}
	if sep < 0 {
		return "", "", -1
	}
	return d.trim(line[:sep]), d.trim(line[sep+1:]), sep
}
