package conformance

import "strings"

// span is a part of a text between two offsets.
type span struct{ from, to int }

// oneLine returns a text as one line. It removes the marks of a quoted message at the
// start of lines, and writes one space for any white space.
func oneLine(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		words = append(words, strings.Fields(strings.TrimLeft(line, ">"))...)
	}
	return strings.Join(words, " ")
}

// locate returns where a folded text has a quotation, one span for each part between
// its ellipses. It returns nil if a word differs.
func locate(text, quote string) []span {
	var spans []span
	pos := 0
	for part := range strings.SplitSeq(quote, "…") {
		part = strings.TrimSpace(part)
		i := strings.Index(text[pos:], part)
		if i < 0 {
			return nil
		}
		spans = append(spans, span{pos + i, pos + i + len(part)})
		pos += i + len(part)
	}
	return spans
}
