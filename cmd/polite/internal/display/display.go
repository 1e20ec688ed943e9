// Package display writes results for people: decisions and their reasons in words,
// aligned in columns. On a terminal the text is also coloured and long lines are
// folded.
//
// Text from a server or from a list of URLs passes clean.Text or clean.Link before
// it is written, so that it cannot send control characters to a terminal. A URL passes URL,
// which also masks a password.
package display

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Writer writes results to standard output.
type Writer struct {
	*bufio.Writer
	Width  int  // width of the terminal in columns, 0 if the output is not a terminal
	colour bool // the terminal has colours
	column int  // width of the column of URLs, up to widestColumn
}

// When says when colours are used.
type When string

const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// New returns a Writer to w. It uses colours if when is Always. If it is Auto, it uses them if
// w is a terminal that has them, unless NO_COLOR is set in the environment.
func New(w io.Writer, when When) *Writer {
	p := &Writer{Writer: bufio.NewWriterSize(w, 64<<10)}
	if width, ok := Terminal(w); ok {
		p.Width = width
		p.colour = when == Auto && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	p.colour = p.colour || when == Always
	return p
}

// Terminal reports whether w is a terminal, and its width in columns.
func Terminal(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 40 {
		columns = 80 // the width is unknown or too small for a table
	}
	return columns, true
}

// Message writes a line, folded if w is a terminal.
func Message(w io.Writer, s string) {
	if columns, ok := Terminal(w); ok {
		s = strings.Join(Fold(s, columns), "\n")
	}
	fmt.Fprintln(w, s)
}

// JSON writes v as one line of JSON. If v has a method MarshalJSON, its output is taken as it
// is, because json.Marshal would read all of it again.
func (p *Writer) JSON(v any) error {
	var b []byte
	var err error
	if m, ok := v.(json.Marshaler); ok {
		b, err = m.MarshalJSON()
	} else {
		b, err = json.Marshal(v)
	}
	if err != nil {
		return err
	}
	p.Write(b)
	return p.WriteByte('\n')
}

// Colour is a parameter of the terminal's escape sequence for text attributes.
type Colour string

// These colours are legible on a light and on a dark background.
const (
	Green   Colour = "32"
	Red     Colour = "31"
	Yellow  Colour = "33"
	Magenta Colour = "35"
	Faint   Colour = "2"
	Bold    Colour = "1"
)

// Paint returns s in a colour if the terminal has colours.
func (p *Writer) Paint(c Colour, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// Error is printed in place of a verdict if there is no decision.
const Error = "ERROR"

// Verdict returns the word for a verdict in its colour, padded to eight columns.
func (p *Writer) Verdict(word string) string {
	colour := Red
	switch word {
	case "ALLOW":
		colour = Green
	case "DEFER":
		colour = Yellow
	}
	return p.Paint(colour, Pad(word, 8))
}

// longURL is the longest URL that is shown in full, in bytes.
const longURL = 2000

// widestColumn is the greatest width of the column of URLs, so that one long URL does not
// widen the column.
const widestColumn = 60

// Widen makes the column of URLs at least so wide.
func (p *Writer) Widen(columns int) { p.column = max(p.column, min(columns, widestColumn)) }

// Fit makes the column of URLs wide enough for some of them.
func (p *Writer) Fit(urls ...string) {
	for _, u := range urls {
		p.Widen(Columns(URL(u, longURL)))
	}
}

// Result writes one result: the verdict, the URL in a column and the reason. If the
// reason does not fit the terminal, it is written on the lines below.
func (p *Writer) Result(word, url, reason string) {
	const indent = 10
	url = URL(url, longURL)
	p.Widen(Columns(url))
	below := p.Width > 0 && indent+max(p.column, Columns(url))+2+Columns(reason) > p.Width
	if !below {
		pad := max(p.column-Columns(url), 0)
		fmt.Fprintf(p, "%s  %s%*s  %s\n", p.Verdict(word), p.Paint(Bold, url), pad, "", reason)
		return
	}
	p.Title(word, url)
	for _, line := range Fold(reason, p.Width-indent) {
		fmt.Fprintf(p, "%*s%s\n", indent, "", line)
	}
}

// Title writes a verdict and its URL.
func (p *Writer) Title(word, url string) {
	fmt.Fprintf(p, "%s  %s\n", p.Verdict(word), p.Paint(Bold, URL(url, longURL)))
}

// Line writes a line without trailing spaces.
func (p *Writer) Line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}
