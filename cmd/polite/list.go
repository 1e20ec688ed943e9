package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/rfc9309/polite/cmd/polite/internal/lines"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/policy"
)

// longLine is the longest line of a list, in bytes.
const longLine = 64 << 10

// listColumn is the least width of the column of URLs if they come from a list, which is
// not read ahead.
const listColumn = 40

// list yields URLs: first the arguments, then the lines of a reader.
type list struct {
	args []string
	r    io.Reader // nil if there is no --from
	size int64     // number of bytes that r has, 0 if unknown
}

// openList opens the file that --from names. "" means no file, "-" standard input.
func openList(args []string, from string, stdin io.Reader) (l *list, closeList func() error, err error) {
	l, closeList = &list{args: args}, func() error { return nil }
	switch from {
	case "":
		return l, closeList, nil
	case "-":
		l.r = stdin
		return l, closeList, nil
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, nil, err
	}
	l.r = f
	if fi, err := f.Stat(); err == nil && fi.Mode().IsRegular() {
		l.size = fi.Size()
	}
	return l, f.Close, nil
}

// full returns the arguments as they are shown, with a scheme.
func (l *list) full() []string {
	all := make([]string, len(l.args))
	for i, a := range l.args {
		all[i], _ = completeURL(a)
	}
	return all
}

// entry is an argument or a line of a list.
type entry struct {
	text string
	line int   // number of the line, 0 for an argument
	end  int64 // offset in the list behind this line, in bytes
	err  error // the line is too long
}

// item is one URL of the list, and its decision once there is one.
type item struct {
	entry
	typed    string   // the URL as typed, perhaps without a scheme
	target   *url.URL // nil if err is not nil
	decision policy.Decision
}

// site returns the authority whose robots.txt decides.
func (i *item) site() string {
	authority, _ := origin.Of(i.target) // a URL without an authority gets no decision
	return authority
}

// slots returns how many slots of the window the item takes, by its length.
func (i *item) slots() int { return 1 + len(i.text)/1024 }

func newItem(e entry) *item {
	i := &item{entry: e, typed: e.text}
	if i.err == nil {
		i.text, _ = completeURL(e.text)
		i.target, i.err = parseURL(i.text)
	}
	return i
}

// each yields the URLs in order, as entries does.
func (l *list) each(yield func(*item) bool) error {
	return l.entries(func(e entry) bool { return yield(newItem(e)) })
}

// entries yields the arguments and then the lines, without blank lines and comments. A line
// that is too long becomes an entry with an error. The result is the reader's error.
func (l *list) entries(yield func(entry) bool) error {
	for _, a := range l.args {
		if !yield(entry{text: a}) {
			return nil
		}
	}
	if l.r == nil {
		return nil
	}
	in := lines.New(l.r, longLine)
	for {
		line, err := in.Next()
		e := entry{line: in.N, end: in.Read}
		switch {
		case err == io.EOF:
			return nil
		case err == lines.ErrLong:
			e.text, e.err = fmt.Sprintf("(line %d)", in.N), fmt.Errorf("%w: over %d bytes", err, longLine)
		case err != nil:
			return fmt.Errorf("reading the list after line %d: %w", in.N, err)
		default:
			if in.N == 1 {
				line = bytes.TrimPrefix(line, []byte("\uFEFF")) // a byte order mark
			}
			if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
				continue
			}
			e.text = string(line)
		}
		if !yield(e) {
			return nil
		}
	}
}
