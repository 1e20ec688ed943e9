package matcher

import (
	"strings"
	"unicode/utf16"
)

// This file splits a robots.txt file into lines and lines into records: RFC 9309,
// sections 2.2 and 2.3.1.5. Nothing else in the package reads the format. Every line is
// tried; none is an error.

// A record describes one line that is neither blank nor a comment, or that has the kind blank or
// tooLong. next returns its name and value beside it.
type record struct {
	line       int32 // number of the line, from 1
	kind       kind
	grouped    bool // a group is open: the record is, or follows, a user-agent line
	begins     bool // the record is a user-agent line that begins a group
	misspelled bool // the name is misspelled, or a colon is missing, and accepted
}

// A scanner reads the records of a file one after another, as bufio.Scanner
// reads lines.
type scanner struct {
	record  // the current record; line and grouped carry over to the following one
	dialect *Dialect
	file    string // UTF-8, without a byte order mark
	start   int    // where the current line starts
	pos     int    // where the next line starts
	cut     bool   // a line was cut at dialect.lineMax, and its rest is the next record
	inRules bool   // the open group has a rule

	lineFeed int  // where the next LF is, or the length of the file; out of date if less than pos
	hasCR    bool // the file has a CR; most have none
}

// maxText bounds the bytes of a file that are read. So each place in it, and in its
// normal form of three times the length, is an int32.
const maxText = 512 << 20

// scan returns a scanner of the file before its first record.
func (f *File) scan() scanner {
	text := f.dialect.decode(f.Text())
	text = text[:min(len(text), maxText)]
	return scanner{dialect: &f.dialect, file: text, lineFeed: -1, hasCR: contains(text, '\r')}
}

// next reads the next record and returns its name and value as written, without white space around
// them and without a comment. ok is false if there is no record. The name is "" if kind is junk,
// blank or tooLong.
func (s *scanner) next() (name, value string, ok bool) {
	d := s.dialect
	for !s.cut {
		whole, ok := s.nextLine()
		if !ok {
			return "", "", false
		}
		line := until(whole, '#')
		if d.lineMax > 0 && len(line) > int(d.lineMax) {
			line, s.cut = line[:d.lineMax], true
		}
		if d.nulEnds {
			line = until(line, 0)
		}
		if line = d.trimLeft(d.trimRight(line)); line != "" {
			name, value = s.read(line)
			return name, value, true
		}
		if d.blankEnds && s.grouped && d.trimRight(whole) == "" { // a comment is not blank
			s.record = record{kind: blank, line: s.line}
			return "", "", true
		}
	}
	s.cut = false
	s.record = record{kind: tooLong, line: s.line, grouped: s.grouped}
	return "", "", true
}

// skipRules skips lines that begin as rules do, and returns how many. This saves a third of the time in
// which groups are found.
func (s *scanner) skipRules() (n int) {
	for s.pos < len(s.file) && (lower(s.file[s.pos]) == 'd' || lower(s.file[s.pos]) == 'a') {
		s.nextLine()
		n++
	}
	return n
}

// nextLine reads to the end of a line, which is CR, LF or CRLF, and returns the line without it. ok
// is false if there is no line.
func (s *scanner) nextLine() (line string, ok bool) {
	start := s.pos
	if start >= len(s.file) {
		return "", false
	}
	s.start = start
	if s.lineFeed < start {
		s.lineFeed = len(s.file)
		if i := strings.IndexByte(s.file[start:], '\n'); i >= 0 {
			s.lineFeed = start + i
		}
	}
	line = s.file[start:s.lineFeed]
	s.line++
	s.pos = min(s.lineFeed+1, len(s.file))
	if s.hasCR {
		if i := strings.IndexByte(line, '\r'); i >= 0 {
			if i+1 < len(line) { // no CRLF
				s.pos = start + i + 1
			}
			line = line[:i]
		}
	}
	return line, true
}

// indexByte returns where the first c is in s, or the length of s.
func indexByte(s string, c byte) int {
	if i := strings.IndexByte(s, c); i >= 0 {
		return i
	}
	return len(s)
}

// read reads the record on a line without white space around it, and notes whether it begins or
// continues a group. The switch recognises the usual spellings. readUnusual would return the same for
// them, more slowly.
func (s *scanner) read(line string) (name, value string) {
	n := 0
	switch first := lower(line[0]); {
	case first == 'd' && len(line) >= 9 && line[1:9] == "isallow:":
		s.kind, n = disallow, len("disallow")
	case first == 'a' && len(line) >= 6 && line[1:6] == "llow:":
		s.kind, n = allow, len("allow")
	case first == 'u' && len(line) >= 11 && (line[1:11] == "ser-agent:" || line[1:11] == "ser-Agent:"):
		s.kind, n = agent, len("user-agent")
	case first == 's' && len(line) >= 8 && line[1:8] == "itemap:":
		s.kind, n = sitemap, len("sitemap")
	}
	s.begins, s.misspelled = false, false
	if n > 0 {
		name, value = line[:n], s.dialect.trimLeft(line[n+1:])
	} else {
		name, value = s.readUnusual(line)
	}
	switch s.kind {
	case agent:
		s.begins, s.grouped = s.inRules || !s.grouped, true
		s.inRules = s.inRules && !s.begins
	case allow, disallow:
		s.inRules = s.grouped
	}
	return name, value
}

// readUnusual reads a record of any name.
func (s *scanner) readUnusual(line string) (name, value string) {
	name, value, sep := s.dialect.split(line)
	if s.kind = junk; name != "" {
		s.kind, s.misspelled = s.dialect.kindOf(name)
		s.misspelled = s.misspelled || sep != ':' && s.kind != other
	}
	return name, value
}

// split divides a line without white space around it into name and value, and returns the
// byte between them. The name is "" if there is no colon. With Dialect.twoWords, two words
// without a colon are also a name and a value.
func (d *Dialect) split(line string) (name, value string, sep byte) {
	i := strings.IndexByte(line, ':')
	if i < 0 {
		if !d.twoWords {
			return "", "", 0
		}
		i = strings.IndexAny(line, " \t")
		if i < 0 || strings.ContainsAny(strings.TrimLeft(line[i:], " \t"), " \t") {
			return "", "", 0
		}
	}
	return d.trimRight(line[:i]), d.trimLeft(line[i+1:]), line[i]
}

// until returns the part of s before the first c.
func until(s string, c byte) string { return s[:indexByte(s, c)] }

// trimLeft returns s without white space at its beginning.
func (d *Dialect) trimLeft(s string) string {
	i := 0
	for i < len(s) && d.isSpace(s[i]) {
		i++
	}
	return s[i:]
}

// trimRight returns s without white space at its end.
func (d *Dialect) trimRight(s string) string {
	n := len(s)
	for n > 0 && d.isSpace(s[n-1]) {
		n--
	}
	return s[:n]
}

// isSpace reports whether c is white space within a line.
func (d *Dialect) isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\t' || d.wideSpace && (c == '\v' || c == '\f'))
}

// decode returns text as UTF-8 without a byte order mark.
func (d *Dialect) decode(text string) string {
	const mark = "\xEF\xBB\xBF"
	switch {
	case d.halfBOM:
		n := 0
		for n < len(mark) && n < len(text) && text[n] == mark[n] {
			n++
		}
		return text[n:]
	case strings.HasPrefix(text, mark):
		return text[len(mark):]
	case strings.HasPrefix(text, "\xFF\xFE"):
		return decode16(text[2:], 1)
	case strings.HasPrefix(text, "\xFE\xFF"):
		return decode16(text[2:], 0)
	}
	return text
}

// decode16 turns UTF-16 into UTF-8. What is not valid becomes U+FFFD. high is the place of
// the high byte in each pair of bytes, 0 or 1.
func decode16(text string, high int) string {
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = uint16(text[2*i+high])<<8 | uint16(text[2*i+1-high])
	}
	return string(utf16.Decode(units))
}
