// Package cases answers test cases, one JSON object a line, for harnesses that
// compare matchers: a robots.txt, a product token and a URL in, the ruling out.
//
//	{"id": 1, "robots": "User-agent: *\nDisallow: /private", "agent": "ExampleBot", "url": "https://example.com/private"}
//	{"id":1,"allowed":false,"line":2,"agent":"*","pattern":"/private"}
package cases

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/rfc9309/polite/cmd/polite/internal/lines"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// Options say how cases are answered.
type Options struct {
	Profile *policy.Profile
	Token   string               // for cases without an agent
	Warn    func(message string) // told of each line that cannot be read
}

// ErrBad is the error of a stream with lines that could not be read; the others
// are answered.
var ErrBad = errors.New("some lines could not be read; the others are answered")

const (
	// longCase bounds a line, in octets: a file at its limit in which every
	// octet is written \u00XX takes 3 MB.
	longCase = 16 << 20
	// batchLines and batchBytes bound what one goroutine takes at a time.
	batchLines = 512
	batchBytes = 4 << 20
	// keptFiles is how many parsed files a goroutine remembers: cases of one
	// file stand together.
	keptFiles = 64
)

// A testCase is one line of input. Fields that are missing are nil.
type testCase struct {
	ID     json.RawMessage `json:"id"`
	Robots json.RawMessage `json:"robots"`
	Base64 json.RawMessage `json:"robots_b64"`
	Agent  *string         `json:"agent"`
	URL    *string         `json:"url"`
}

// batch is some lines on their way from the reader over a worker to the
// printer.
type batch struct {
	first  int // number of the first line
	lines  [][]byte
	errs   []error // by line: what the reader says of it
	answer []byte
	bad    []string // messages about lines that could not be answered
	done   chan struct{}
}

// Answer answers all cases of in, in order. Lines are read in batches of what is
// at hand, so that a program that writes one case and waits for its answer gets
// it at once, and a large file keeps every processor busy. The error is ErrBad, or
// that of ctx, of in or of out.
func (o *Options) Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	workers := runtime.GOMAXPROCS(0)
	work := make(chan *batch)
	order := make(chan *batch, 2*workers)
	var readErr error // set before order is closed
	inner, stop := context.WithCancel(ctx)
	defer stop()
	// Ends with the input, or with inner once a read returns.
	go func() {
		defer close(order)
		defer close(work)
		readErr = readBatches(inner, in, func(b *batch) {
			select {
			case order <- b:
				work <- b
			case <-inner.Done():
			}
		})
	}()
	for range workers {
		// Ends when the reader closes work.
		go func() {
			a := answerer{Options: o}
			for b := range work {
				a.answer(b)
			}
		}()
	}
	bad, err := o.write(ctx, out, order)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case readErr != nil:
		return fmt.Errorf("reading standard input: %w", readErr)
	case bad:
		return ErrBad
	}
	return nil
}

// write writes answers in order, and as soon as there are no more to come at
// once.
func (o *Options) write(ctx context.Context, w io.Writer, order chan *batch) (bad bool, err error) {
	out := bufio.NewWriterSize(w, 256<<10)
	defer func() {
		if e := out.Flush(); err == nil {
			err = e
		}
	}()
	for {
		var b *batch
		var more bool
		select {
		case b, more = <-order:
		case <-ctx.Done():
			return bad, nil
		}
		if !more {
			return bad, nil
		}
		<-b.done
		out.Write(b.answer)
		for _, message := range b.bad {
			bad = true
			o.Warn(message)
		}
		if len(order) == 0 {
			if err := out.Flush(); err != nil {
				return bad, err
			}
		}
	}
}

// readBatches hands out the lines of r in batches until its end.
func readBatches(ctx context.Context, r io.Reader, out func(*batch)) error {
	in := lines.New(r, longCase)
	for ctx.Err() == nil {
		b := &batch{first: in.N + 1, done: make(chan struct{})}
		size := 0
		for {
			line, err := in.Next()
			if err != nil && err != lines.ErrLong {
				if len(b.lines) > 0 {
					out(b)
				}
				if err == io.EOF {
					err = nil
				}
				return err
			}
			b.lines, b.errs = append(b.lines, line), append(b.errs, err)
			size += len(line)
			if len(b.lines) >= batchLines || size >= batchBytes || !in.Ready() {
				break
			}
		}
		out(b)
	}
	return nil
}

// answerer answers cases and belongs to one goroutine.
type answerer struct {
	*Options
	files map[string]*matcher.File
}

func (a *answerer) answer(b *batch) {
	defer close(b.done)
	for i, line := range b.lines {
		err := b.errs[i]
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = a.one(b, line)
		}
		if err != nil {
			b.bad = append(b.bad, fmt.Sprintf("line %d: %v", b.first+i, err))
		}
	}
	b.lines = nil
}

// one answers one case.
func (a *answerer) one(b *batch, line []byte) error {
	var c testCase
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if c.URL == nil {
		return errors.New(`no "url"`)
	}
	f, err := a.file(&c)
	if err != nil {
		return err
	}
	agent := a.Token
	if c.Agent != nil {
		agent = *c.Agent
	}
	b.answer = appendAnswer(b.answer, c.ID, f.Match(agent, *c.URL))
	return nil
}

// file is the parsed file of a case, remembered by its text as it stands in the
// line, which is cheaper to look up than to decode.
func (a *answerer) file(c *testCase) (*matcher.File, error) {
	plain, encoded := present(c.Robots), present(c.Base64)
	raw, kind := c.Robots, "t"
	switch {
	case plain && encoded:
		return nil, errors.New(`both "robots" and "robots_b64"; want one`)
	case encoded:
		raw, kind = c.Base64, "b"
	case !plain:
		return nil, errors.New(`neither "robots" nor "robots_b64"`)
	}
	key := kind + string(raw)
	if f, ok := a.files[key]; ok {
		return f, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("the file: %w", err)
	}
	body := []byte(text)
	if encoded {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("robots_b64: %w", err)
		}
		body = b
	}
	f := matcher.Parse(Cut(body, a.Profile.Limit), a.Profile.Dialect)
	if a.files == nil || len(a.files) >= keptFiles {
		a.files = map[string]*matcher.File{}
	}
	a.files[key] = f
	return f, nil
}

// present reports whether a field is there and not null.
func present(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// appendAnswer appends one line of output. The id is as in the question.
func appendAnswer(b []byte, id json.RawMessage, m matcher.Match) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b = append(b, `{"id":`...)
	b = append(b, id...)
	b = append(b, `,"allowed":`...)
	b = strconv.AppendBool(b, m.Allowed)
	b = append(b, `,"line":`...)
	b = strconv.AppendInt(b, int64(m.Rule.Line), 10)
	b = append(b, `,"agent":`...)
	b = appendString(b, m.Agent)
	b = append(b, `,"pattern":`...)
	b = appendString(b, m.Rule.Pattern)
	return append(b, "}\n"...)
}

// appendString appends s as JSON; plain ASCII needs no detour.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				quoted = []byte(`""`) // a string cannot fail
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// Cut keeps the whole lines among the first limit octets: half a rule may say
// the opposite of the whole.
func Cut(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	if i := bytes.LastIndexAny(text, "\r\n"); i >= 0 {
		return text[:i+1]
	}
	return text
}
