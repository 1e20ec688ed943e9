package matcher

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file splits a file into lines and lines into records: RFC 9309,
// sections 2.2 and 2.3.1.5. Every line is tried; none is an error.

// scanner walks over the lines of a file.
type scanner struct {
	text string
	pos  int // start of the next line
	nl   int // the first LF at or after pos, or len(text); found once, so that a file of CR stays linear
	line int // number of the line returned last, from 1
}

// next returns the next line without its end, which is CR, LF or CRLF.
func (s *scanner) next() (string, bool) {
	if s.pos >= len(s.text) {
		return "", false
	}
	if s.nl < s.pos || s.line == 0 {
		s.nl = len(s.text)
		if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
			s.nl = s.pos + i
		}
	}
	s.line++
	line := s.text[s.pos:s.nl]
	cr := strings.IndexByte(line, '\r')
	if cr < 0 {
		s.pos = s.nl + 1
		return line, true
	}
	s.pos += cr + 1
	if s.pos == s.nl {
		s.pos++
	}
	return line[:cr], true
}

// decode returns text as UTF-8 octets without a byte order mark.
func (d *Dialect) decode(text []byte) string {
	const mark = "\xEF\xBB\xBF"
	switch {
	case d.halfBOM:
		n := 0
		for n < len(mark) && n < len(text) && text[n] == mark[n] {
			n++
		}
		return string(text[n:])
	case len(text) >= 3 && string(text[:3]) == mark:
		return string(text[3:])
	case d.utf8Only || len(text) < 2:
	case text[0] == 0xFF && text[1] == 0xFE:
		return decode16(text[2:], binary.LittleEndian)
	case text[0] == 0xFE && text[1] == 0xFF:
		return decode16(text[2:], binary.BigEndian)
	}
	return string(text)
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
	return string(out)
}

// strip returns what counts of a line: no comment, no white space around it.
// cut reports that octets past the dialect's limit for a line were dropped.
func (d *Dialect) strip(line string) (rest string, cut bool) {
	if d.lineMax > 0 && len(line) > d.lineMax {
		line, cut = line[:d.lineMax], true
	}
	if d.nulEnds {
		line = until(line, 0)
	}
	return d.trim(until(line, '#')), cut
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
	sep = strings.IndexByte(line, ':')
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
