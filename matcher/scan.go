package matcher

import (
	"strings"
	"unicode/utf16"
)

// This file splits a robots.txt file into lines and lines into records: RFC 9309,
// sections 2.2 and 2.3.1.5. Nothing else in the package reads the format. Every line is
// tried; none is an error.

// A record is a line of a file that is neither blank nor a comment, or what the kinds blank and
// tooLong stand for. It has offsets and no strings: a file can have 170,000 records, which take
// 9 ms to read, and 18 ms with strings.
type record struct {
	from       int32 // where the record starts in the text of the scanner
	nameEnd    int32 // where the name of the record ends in that text
	valueAt    int32 // where the value of the record starts in that text
	to         int32 // where the record ends in that text
	line       int32 // number of the line, from 1
	kind       kind
	grouped    bool // a group is open: the record is, or follows, a user-agent line
	begins     bool // the record is a user-agent line that begins a group
	misspelled bool // the name is misspelled, or a colon is missing, and accepted
}

// A scanner reads the records of a file one after another, as bufio.Scanner
// reads lines.
type scanner struct {
	record  // the record that next has read; line and grouped carry over to the following one
	dialect *Dialect
	text    string // UTF-8, without a byte order mark
	pos     int    // where the next line starts
	inRules bool   // the open group has a rule
	cut     bool   // a line was cut at dialect.lineMax, and its rest is the next record

	// Where the next line feed, carriage return and "#" stand, or the length of the text
	// if there is none. Each is searched for only when pos has passed it, so each byte of a
	// file is searched once, whatever its line ends are.
	lineFeed, carriageReturn, hash int
}

// maxText bounds the bytes of a file that are read. So each place in it, and in its
// normal form of three times the length, is an int32.
const maxText = 512 << 20

// scan returns a scanner of the file before its first record.
func (f *File) scan() scanner {
	text := f.dialect.decode(f.Text())
	text = text[:min(len(text), maxText)]
	return scanner{dialect: &f.dialect, text: text, lineFeed: -1, carriageReturn: -1, hash: -1}
}

// name returns the name of the record as written, "" if kind is junk, blank or tooLong.
func (s *scanner) name() string { return s.text[s.from:s.nameEnd] }

// value returns the value of the record as written, without white space around it and
// without a comment.
func (s *scanner) value() string { return s.text[s.valueAt:s.to] }

// next reads the next record and reports whether there is one.
func (s *scanner) next() bool {
	d := s.dialect
	for {
		if s.cut {
			s.cut = false
			s.record = record{kind: tooLong, line: s.line, grouped: s.grouped}
			return true
		}
		start, end, ok := s.nextLine()
		if !ok {
			return false
		}
		if s.hash < start {
			s.hash = start + indexByte(s.text[start:], '#')
		}
		from, to := start, min(s.hash, end)
		if d.lineMax > 0 && to-from > int(d.lineMax) {
			to, s.cut = from+int(d.lineMax), true
		}
		if d.nulEnds {
			to = from + indexByte(s.text[from:to], 0)
		}
		if from, to = d.trim(s.text, from, to); from < to {
			s.read(from, to)
			return true
		}
		if d.blankEnds && s.grouped && s.isBlank(start, end) {
			s.record = record{kind: blank, line: s.line}
			return true
		}
	}
}

// isBlank reports whether s.text[start:end] is white space. A comment is not.
func (s *scanner) isBlank(start, end int) bool {
	from, to := s.dialect.trim(s.text, start, end)
	return from == to
}

// nextLine reads to the end of a line, which is CR, LF or CRLF, and returns where the
// line stands in the text.
func (s *scanner) nextLine() (start, end int, ok bool) {
	if start = s.pos; start >= len(s.text) {
		return 0, 0, false
	}
	if s.lineFeed < start {
		s.lineFeed = start + indexByte(s.text[start:], '\n')
	}
	if s.carriageReturn < start {
		s.carriageReturn = start + indexByte(s.text[start:], '\r')
	}
	end = min(s.lineFeed, s.carriageReturn)
	s.line++
	if s.pos = end + 1; s.lineFeed == end+1 { // CRLF
		s.pos++
	}
	return start, end, true
}

// indexByte returns where the first c is in s, or the length of s.
func indexByte(s string, c byte) int {
	if i := strings.IndexByte(s, c); i >= 0 {
		return i
	}
	return len(s)
}

// read reads the record on the line s.text[from:to], which has no white space around it, and
// notes whether it begins or continues a group.
func (s *scanner) read(from, to int) {
	line := s.text[from:to]
	s.from, s.to, s.misspelled, s.begins = int32(from), int32(to), false, false
	if k, n := usualName(line); k != other {
		value, _ := s.dialect.trim(s.text, from+n+1, to)
		s.kind, s.nameEnd, s.valueAt = k, int32(from+n), int32(value)
	} else {
		s.readUnusual(line)
	}
	switch s.kind {
	case agent:
		s.begins, s.grouped = s.inRules || !s.grouped, true
		s.inRules = s.inRules && !s.begins
	case allow, disallow:
		s.inRules = s.grouped
	}
}

// usualName returns the kind of a line that begins with the name of a record and a
// colon, as most files write them, and the length of the name. Otherwise it returns
// other. readUnusual reads the same from such a line, but takes longer.
func usualName(line string) (kind, int) {
	switch first := lower(line[0]); {
	case first == 'd' && len(line) >= 9 && line[1:9] == "isallow:":
		return disallow, len("disallow")
	case first == 'a' && len(line) >= 6 && line[1:6] == "llow:":
		return allow, len("allow")
	case first == 'u' && len(line) >= 11 && (line[1:11] == "ser-agent:" || line[1:11] == "ser-Agent:"):
		return agent, len("user-agent")
	case first == 's' && len(line) >= 8 && line[1:8] == "itemap:":
		return sitemap, len("sitemap")
	}
	return other, 0
}

// readUnusual reads a record whose name usualName does not know.
func (s *scanner) readUnusual(line string) {
	name, value, sep := s.dialect.split(line)
	s.nameEnd, s.valueAt = s.from+int32(len(name)), s.to-int32(len(value))
	if s.kind = junk; name != "" {
		s.kind, s.misspelled = s.dialect.kindOf(name)
		s.misspelled = s.misspelled || sep != ':' && s.kind != other
	}
}

// split divides a line without white space around it into name and value, and returns the
// byte between them. The name is "" if there is no colon. With Dialect.twoWords, two words
// without a colon are a name and a value, too.
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
	_, nameEnd := d.trim(line, 0, i)
	valueAt, _ := d.trim(line, i+1, len(line))
	return line[:nameEnd], line[valueAt:], line[i]
}

// until returns the part of s before the first c.
func until(s string, c byte) string { return s[:indexByte(s, c)] }

// trim returns text[from:to] without white space around it, as places in the text.
func (d *Dialect) trim(text string, from, to int) (int, int) {
	for from < to && d.isSpace(text[to-1]) {
		to--
	}
	for from < to && d.isSpace(text[from]) {
		from++
	}
	return from, to
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
