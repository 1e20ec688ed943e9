package matcher

import (
	"encoding/binary"
	"iter"
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
	lf   int // where LF was found last, or len(text); to be found again if before pos
	cr   int // CR, likewise
	hash int // "#", likewise
}

func newScanner(text string) scanner {
	return scanner{text: text, lf: -1, cr: -1, hash: -1}
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
	const few = 8 // octets looked at one after another: a file of very short lines has the most of them
	from, text := s.pos, s.text
	if from >= len(text) {
		return "", 0, false
	}
	end, hash := from, len(text)
	for end < len(text) && text[end] != '\n' && text[end] != '\r' {
		if text[end] == '#' {
			hash = min(hash, end)
		}
		if end++; end == from+few {
			end = s.lineEnd(end)
			hash = min(hash, s.comment(from+few))
			break
		}
	}
	s.endLine(end)
	return text[from:end], min(hash, end) - from, true
}

// lineEnd returns the first end of a line from i on.
func (s *scanner) lineEnd(i int) int {
	if s.lf < i {
		s.lf = find(s.text, i, '\n')
	}
	if s.cr < i {
		s.cr = find(s.text, i, '\r')
	}
	return min(s.lf, s.cr)
}

// comment returns the first "#" from i on.
func (s *scanner) comment(i int) int {
	if s.hash < i {
		s.hash = find(s.text, i, '#')
	}
	return s.hash
}

// endLine passes the end of the line, which stands at end.
func (s *scanner) endLine(end int) {
	s.line++
	s.pos = min(end+1, len(s.text))
	if s.pos < len(s.text) && s.text[end] == '\r' && s.text[s.pos] == '\n' {
		s.pos++
	}
}

// usual returns a record that is written as nearly all are: the name of a rule
// or of a user-agent line, a colon, spaces, a value of octets that a pattern in
// normal form has, and the end of the line. It looks at each octet once. For any
// other line the kind is other, and the line is still the next one. special is
// as of survey.
func (s *scanner) usual(lineMax uint16) (k kind, value string, special bool) {
	t := s.text[s.pos:]
	if len(t) < 12 || !initial[t[0]] {
		return other, "", false
	}
	k, from := nameOf(t)
	if k == other {
		return other, "", false
	}
	for from < len(t) && t[from] == ' ' {
		from++
	}
	end, m := from, uint8(notStar)
	for end < len(t) && marks[t[end]]&inRule != 0 {
		m &= marks[t[end]]
		end++
	}
	if special = m == 0; end+1 < len(t) && t[end] == '$' {
		special = true
		end++
	}
	if end == len(t) || t[end] != '\n' && t[end] != '\r' || lineMax > 0 && end > int(lineMax) {
		return other, "", false
	}
	s.endLine(s.pos + end)
	return k, t[from:end], special
}

// nameOf returns which record begins with its name and a colon, of those that
// are the most, and how long both are; or other.
func nameOf(t string) (k kind, n int) {
	switch w := word(t); {
	case w|letters == disallowWord && t[8] == ':':
		return disallow, 9
	case w|letters&^(0xFF<<32) == agentWord && equalFold(t[8:11], "nt:"):
		return agent, 11
	case w&(1<<48-1)|letters>>24 == allowWord:
		return allow, 6
	}
	return other, 0
}

// letters has what makes a letter of ASCII a small one in each octet.
const letters = 0x2020202020202020

var initial = [256]bool{'d': true, 'D': true, 'u': true, 'U': true, 'a': true, 'A': true}

var (
	disallowWord = word("disallow")
	agentWord    = word("user-age")
	allowWord    = word("allow:\x00\x00")
)

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
	s.pos = i
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
