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

// item is one URL of the list, and its decision once there is one.
type item struct {
	end      int64 // offset in the list behind this URL's line, in bytes
	text     string
	target   *url.URL // nil if err is not nil
	decision policy.Decision
	err      error
}

// site returns the authority whose robots.txt decides.
func (i *item) site() string {
	authority, _ := origin.Of(i.target) // a URL without an authority gets no decision
	return authority
}

// slots returns how many slots of the window the item takes, by its length.
func (i *item) slots() int { return 1 + len(i.text)/1024 }

func newItem(text string, end int64) *item {
	target, err := parseURL(text)
	return &item{end: end, text: text, target: target, err: err}
}

// each yields the URLs in order. A line that is too long becomes an item with an
// error. The result is the reader's error.
func (l *list) each(yield func(*item) bool) error {
	for _, a := range l.args {
		if !yield(newItem(a, 0)) {
			return nil
		}
	}
	if l.r == nil {
		return nil
	}
	in := lines.New(l.r, longLine)
	for {
		line, err := in.Next()
		var i *item
		switch {
		case err == io.EOF:
			return nil
		case err == lines.ErrLong:
			i = &item{end: in.Read, text: fmt.Sprintf("(line %d)", in.N), err: fmt.Errorf("%w: over %d bytes", err, longLine)}
		case err != nil:
			return fmt.Errorf("reading the list after line %d: %w", in.N, err)
		default:
			if in.N == 1 {
				line = bytes.TrimPrefix(line, []byte("\uFEFF")) // a byte order mark
			}
			if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
				continue
			}
			i = newItem(string(line), in.Read)
		}
		if !yield(i) {
			return nil
		}
	}
}
