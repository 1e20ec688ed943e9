// Package cases answers test cases for programs that compare matchers. Each case is
// one JSON object on a line: a robots.txt, a product token and a URL. Each answer is
// one JSON object on a line.
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

// Options configures how cases are answered.
type Options struct {
	Profile *policy.Profile
	Token   string               // product token for cases without an agent
	Warn    func(message string) // called for each line that cannot be read
}

// ErrBad is returned if some lines could not be read. All other lines were
// answered.
var ErrBad = errors.New("some lines could not be read; the others are answered")

const (
	// longCase is the longest line in bytes. A file at the profile's limit takes
	// 3 MB if every byte is written as \u00XX.
	longCase = 16 << 20
	// batchLines is the largest number of lines in a batch.
	batchLines = 512
	// batchBytes is the number of bytes at which a batch is full.
	batchBytes = 4 << 20
	// keptFiles is how many parsed files a goroutine keeps. Cases of one file
	// usually follow each other.
	keptFiles = 64
)

// A testCase is one line of input. Missing fields are nil.
type testCase struct {
	ID     json.RawMessage `json:"id"`
	Robots json.RawMessage `json:"robots"`
	Base64 json.RawMessage `json:"robots_b64"`
	Agent  *string         `json:"agent"`
	URL    *string         `json:"url"`
}

// batch is a number of lines. The reader fills it, a worker answers it, and the
// writer prints it.
type batch struct {
	first  int // number of the first line
	lines  [][]byte
	errs   []error // errs[i] is the read error of lines[i], or nil
	answer []byte
	bad    []string      // messages about lines that could not be answered
	done   chan struct{} // closed when the batch is answered
}

// Answer answers all cases of in, in order. A batch ends where no further line is
// buffered. So a program that writes one case and waits gets its answer at once,
// and a large file keeps every processor busy. Answer returns ErrBad or the error
// of ctx, in or out.
func (o *Options) Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	workers := runtime.GOMAXPROCS(0)
	work := make(chan *batch)
	order := make(chan *batch, 2*workers)
	var readErr error // set before order is closed
	inner, stop := context.WithCancel(ctx)
	defer stop()
	// This goroutine ends with the input, or when inner ends and a read returns.
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
		// A worker ends when the reader closes work.
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

// write writes the answers in order. It flushes whenever no further batch waits.
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

// readBatches reads r to its end and calls out for each batch of lines.
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

// answerer answers cases. Only one goroutine may use it.
type answerer struct {
	*Options
	files map[string]*matcher.File // parsed files by their encoded text
}

func (a *answerer) answer(b *batch) {
	defer close(b.done)
	for i, line := range b.lines {
		err := b.errs[i]
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = a.answerCase(b, line)
		}
		if err != nil {
			b.bad = append(b.bad, fmt.Sprintf("line %d: %v", b.first+i, err))
		}
	}
	b.lines = nil
}

// answerCase appends the answer to one case to b.
func (a *answerer) answerCase(b *batch, line []byte) error {
	var c testCase
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("want a JSON object: %w", err)
	}
	if c.URL == nil {
		return errors.New(`no "url"`)
	}
	f, err := a.parsedFile(&c)
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

// parsedFile returns the parsed file of a case. The key in a.files is the encoded
// text, so that a file that was seen before need not be decoded.
func (a *answerer) parsedFile(c *testCase) (*matcher.File, error) {
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

// present reports whether a field exists and is not null.
func present(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// appendAnswer appends one line of output.
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

// appendString appends s as JSON. Plain ASCII is only put in quotes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				quoted = []byte(`""`) // not reached: a string can always be encoded
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// Cut returns the whole lines within the first limit bytes. A rule that is cut in
// the middle could mean the opposite.
func Cut(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	text = text[:limit+1]
	if i := bytes.LastIndexAny(text, "\r\n"); i >= 0 {
		text = text[:i+1]
	}
	return text[:min(len(text), limit)]
}
