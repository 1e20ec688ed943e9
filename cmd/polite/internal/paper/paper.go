// Package paper is what people read: rulings and their reasons in words, and a
// standard output that is aligned, and coloured and folded if it is a terminal.
//
// Text of a server or of a list of URLs passes Clean or Link before it gets
// here or in here: no octet of a stranger commands a terminal.
package paper

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rfc9309/polite/internal/clean"
)

// Paper is standard output with what is known of the one who reads it.
type Paper struct {
	*bufio.Writer
	Width  int // columns of the terminal; 0 if it is none, and lines are not folded
	colour bool
}

// New returns the Paper of an output. Colours are for terminals that know them,
// unless the environment has NO_COLOR.
func New(w io.Writer) *Paper {
	p := &Paper{Writer: bufio.NewWriterSize(w, 64<<10)}
	if width, ok := Terminal(w); ok {
		p.Width = width
		p.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return p
}

// Terminal reports whether w is a terminal, and its columns.
func Terminal(w io.Writer) (columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 40 {
		columns = 80 // unknown, or too narrow for columns
	}
	return columns, true
}

// Say writes a line, folded if w is a terminal.
func Say(w io.Writer, s string) {
	if columns, ok := Terminal(w); ok {
		s = strings.Join(Fold(s, columns), "\n")
	}
	fmt.Fprintln(w, s)
}

// JSON writes one object a line.
func (p *Paper) JSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.Write(b)
	return p.WriteByte('\n')
}

// Colour is one of those a terminal has, by what it means here.
type Colour string

// The colours, each legible on light and on dark. Those of the verdicts are also
// told apart by their words.
const (
	Green   Colour = "32"
	Red     Colour = "31"
	Yellow  Colour = "33"
	Magenta Colour = "35"
	Faint   Colour = "2"
	Bold    Colour = "1"
)

// Paint returns s in a colour if the terminal has some.
func (p *Paper) Paint(c Colour, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// None stands where a verdict would: there is no ruling.
const None = "NONE"

// Verdict is the word for a verdict in its colour and eight columns.
func (p *Paper) Verdict(word string) string {
	colour := Red
	switch word {
	case "ALLOW":
		colour = Green
	case "DEFER":
		colour = Yellow
	}
	return p.Paint(colour, Pad(word, 8))
}

// longURL bounds a URL that is shown, in octets.
const longURL = 2000

// Column is the width of a column of URLs. A long one does not move the others.
func Column(urls []string) int {
	column := 0
	for _, u := range urls {
		column = max(column, min(Columns(clean.Text(u, longURL)), 60))
	}
	return column
}

// Ruling writes one result: verdict, URL in a column, reason. On a terminal a
// reason that does not fit goes below.
func (p *Paper) Ruling(word, url string, column int, reason string) {
	const indent = 10
	url = clean.Text(url, longURL)
	below := p.Width > 0 && indent+max(column, Columns(url))+2+Columns(reason) > p.Width
	if !below {
		pad := max(column-Columns(url), 0)
		fmt.Fprintf(p, "%s  %s%*s  %s\n", p.Verdict(word), p.Paint(Bold, url), pad, "", reason)
		return
	}
	p.Title(word, url)
	for _, line := range Fold(reason, p.Width-indent) {
		fmt.Fprintf(p, "%*s%s\n", indent, "", line)
	}
}

// Title writes a verdict and its URL.
func (p *Paper) Title(word, url string) {
	fmt.Fprintf(p, "%s  %s\n", p.Verdict(word), p.Paint(Bold, clean.Text(url, longURL)))
}

// Line writes a line without the spaces at its end.
func (p *Paper) Line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}
