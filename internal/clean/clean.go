// Package clean makes text from a server safe for an error, a log, a terminal or a
// page. The result has no control characters, no direction marks and no invalid
// UTF-8, and is at most as long as the caller wants.
package clean

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mark replaces the part that was cut off.
const mark = "…"

// Unbounded is a bound for text that must not be cut.
const Unbounded = math.MaxInt

// Text returns s with a question mark for each character that does not print, cut to
// most bytes, which include the mark of the cut.
func Text(s string, most int) string {
	return replace(s, most, func(b []byte, _ string) []byte { return append(b, '?') })
}

// Quote returns Text between double quotes, escaped as in Go.
func Quote(s string, most int) string { return strconv.Quote(Text(s, most)) }

// Escape returns s with each character that does not print escaped as in Go, cut to
// most bytes.
func Escape(s string, most int) string {
	return replace(s, most, func(b []byte, bad string) []byte {
		quoted := strconv.Quote(bad)
		return append(b, quoted[1:len(quoted)-1]...)
	})
}

// Link returns a URL as one word: spaces, double quotes and characters that do
// not print are percent-encoded. It is cut to most bytes.
func Link(s string, most int) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, " ", "%20"), `"`, "%22")
	return replace(s, most, func(b []byte, bad string) []byte {
		const hex = "0123456789ABCDEF"
		for i := range len(bad) {
			b = append(b, '%', hex[bad[i]>>4], hex[bad[i]&15])
		}
		return b
	})
}

// Cut returns s cut between two characters to most bytes. It replaces no characters.
// If s is cut, the result does not keep the memory of s.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most = max(most-len(mark), 0)
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + mark
}

// replace returns s cut to most bytes. For each character that does not print it
// calls instead, which appends the replacement.
func replace(s string, most int, instead func(b []byte, bad string) []byte) string {
	if len(s) <= most && printableASCII(s) {
		return s
	}
	b, end := make([]byte, 0, min(len(s), most)), 0 // b[:end] leaves room for the mark
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		if Prints(c, n) {
			b = append(b, s[:n]...)
		} else {
			b = instead(b, s[:n])
		}
		if len(b) > most {
			return string(b[:end]) + mark
		}
		if len(b) <= most-len(mark) {
			end = len(b)
		}
		s = s[n:]
	}
	return string(b)
}

// Prints reports whether a character that was decoded from size bytes may be shown.
func Prints(c rune, size int) bool {
	return strconv.IsPrint(c) && (c != utf8.RuneError || size > 1)
}

// printableASCII reports whether s is printable ASCII.
func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
