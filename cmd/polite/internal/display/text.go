package display

import (
	"strings"
	"unicode"
)

// Columns returns how many columns of a terminal s takes.
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

// Pad appends spaces to s up to a number of columns.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-Columns(s), 0))
}

// Fold breaks s into lines of at most width columns, after a semicolon if possible,
// otherwise at a space. A longer word gets a line of its own.
func Fold(s string, width int) []string {
	var lines []string
	for _, clause := range strings.SplitAfter(s, "; ") {
		if Columns(strings.TrimRight(clause, " ")) <= width {
			lines = appendPart(lines, clause, width)
			continue
		}
		for _, word := range strings.SplitAfter(clause, " ") {
			lines = appendPart(lines, word, width)
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// appendPart appends part to the last line, or to a new line if the last one is full.
func appendPart(lines []string, part string, width int) []string {
	if n := len(lines); n > 0 && Columns(lines[n-1])+Columns(strings.TrimRight(part, " ")) <= width {
		lines[n-1] += part
		return lines
	}
	return append(lines, part)
}
