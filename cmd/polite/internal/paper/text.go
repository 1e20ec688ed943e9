package paper

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean is text of a stranger as a terminal may see it: what does not print,
// direction marks and broken encoding among it, is replaced, and at most most
// octets are left, the mark of the cut not counted.
func Clean(s string, most int) string {
	var b strings.Builder
	for i, r := range s {
		if i >= most {
			b.WriteString("…")
			break
		}
		b.WriteRune(tame(r))
	}
	return b.String()
}

// tame is r, or a question mark for what must not reach a terminal.
func tame(r rune) rune {
	if r == utf8.RuneError || !strconv.IsPrint(r) {
		return '?'
	}
	return r
}

// Link is Clean for a URL that will be used: what cannot stand in one is
// percent-encoded and not replaced, and nothing is cut.
func Link(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || r == ' ' || !strconv.IsPrint(r) {
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Columns is how many columns of a terminal s takes.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < unicode.MaxLatin1:
			n++
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n += 2
		default:
			n++
		}
	}
	return n
}

// Pad is s and the spaces that it lacks to a number of columns.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-Columns(s), 0))
}

// Fold breaks s into lines of at most width columns, after a semicolon where it
// can, else at a space; a longer word has a line of its own.
func Fold(s string, width int) []string {
	var lines []string
	for _, clause := range strings.SplitAfter(s, "; ") {
		if Columns(strings.TrimRight(clause, " ")) <= width {
			lines = fill(lines, clause, width)
			continue
		}
		for _, word := range strings.SplitAfter(clause, " ") {
			lines = fill(lines, word, width)
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// fill appends part to the last line, or to a new one where it has no room.
func fill(lines []string, part string, width int) []string {
	if n := len(lines); n > 0 && Columns(lines[n-1])+Columns(strings.TrimRight(part, " ")) <= width {
		lines[n-1] += part
		return lines
	}
	return append(lines, part)
}
