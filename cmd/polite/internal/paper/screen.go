package paper

import (
	"io"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/clean"
)

// Screen is a Writer for a page of a stranger that goes to a terminal: it
// replaces all but line ends, tabs and what prints.
type Screen struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end has not come yet
}

// NewScreen returns a Screen before w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

func (s *Screen) Write(b []byte) (int, error) {
	text := append(s.rest, b...)
	out := make([]byte, 0, len(text))
	for utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		if r != '\n' && r != '\t' && r != '\r' && !clean.Prints(r, n) {
			r = '?'
		}
		out = utf8.AppendRune(out, r)
		text = text[n:]
	}
	s.rest = append([]byte{}, text...)
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}
