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

// longLine bounds a line of a list, in octets.
const longLine = 64 << 10

// list is where URLs come from: arguments, then lines of a reader.
type list struct {
	args []string
	r    io.Reader // nil for none
	size int64     // octets of the reader, 0 if unknown
}

// openList opens the file of --from; "" is none and - standard input.
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

// item is one URL on its way from the list to its ruling.
type item struct {
	at       int64 // octets of the list used up with it
	text     string
	target   *url.URL // nil if err is not
	decision policy.Decision
	err      error
}

// site is the lane of an item: the authority that it shares a robots.txt with.
func (i *item) site() string {
	at, _ := origin.Of(i.target) // an item without an origin gets no decision
	return at
}

// slots is the share of the window of an item, by its size.
func (i *item) slots() int { return 1 + len(i.text)/1024 }

func newItem(text string, at int64) *item {
	target, err := parse(text)
	return &item{at: at, text: text, target: target, err: err}
}

// each yields the URLs in order. A line over the bound is an item without a
// ruling. It returns the reader's error.
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
			i = &item{at: in.Read, text: fmt.Sprintf("(line %d)", in.N), err: fmt.Errorf("%w: over %d octets", err, longLine)}
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
