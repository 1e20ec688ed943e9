package display

import (
	"io"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/clean"
)

// PageWriter writes a page from a server to a terminal. It replaces all characters
// except line ends, tabs and printable characters.
type PageWriter struct {
	w    io.Writer
	rest []byte // the first bytes of a character that is not complete yet
}

// NewPageWriter returns a PageWriter that writes to w.
func NewPageWriter(w io.Writer) *PageWriter { return &PageWriter{w: w} }

func (s *PageWriter) Write(b []byte) (int, error) {
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
