// Package evidence logs what a run fetched and decided, and derives the decisions again
// from the log. A log is a file of JSON objects, one a line:
//
//	{"run": ...}      first: the profile and the product token
//	{"fetched": ...}  a fetch of a robots.txt: each hop, the header, the text, the times
//	{"decided": ...}  a policy.Decision
package evidence

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// line is a line of a log. One field is set.
type line struct {
	Run     *Run            `json:"run,omitempty"`
	Fetched *fetch          `json:"fetched,omitempty"`
	Decided json.RawMessage `json:"decided,omitempty"`
}

// A Run says what all decisions of a log rest on.
type Run struct {
	Profile string `json:"profile"`
	Token   string `json:"token"`
}

// fetch is a policy.Attempt.
type fetch struct {
	Robots   string    `json:"robots"`
	Served   value     `json:"served,omitempty"`
	Hops     []hop     `json:"hops,omitempty"`
	Status   int       `json:"status,omitempty"`
	Header   header    `json:"header,omitempty"`
	Text     value     `json:"text,omitempty"` // the body
	Cut      bool      `json:"cut,omitempty"`
	Sent     time.Time `json:"sent"`
	Received time.Time `json:"received"`
	Failure  *failure  `json:"failure,omitempty"`
	Probe    *probe    `json:"probe,omitempty"`
}

type hop struct {
	From   value  `json:"from"`
	To     value  `json:"to"`
	Status int    `json:"status"`
	Header header `json:"header,omitempty"`
}

// header is an http.Header.
type header map[string][]value

// value is a text from a server. One that is not UTF-8 is logged as {"b64": "..."}.
type value string

type binary struct {
	Bytes []byte `json:"b64"`
}

func (v value) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(v)) {
		return json.Marshal(string(v))
	}
	return json.Marshal(binary{[]byte(v)})
}

func (v *value) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return json.Unmarshal(text, (*string)(v))
	}
	var b binary
	err := json.Unmarshal(text, &b)
	*v = value(b.Bytes)
	return err
}

// convert returns a header with values of another type.
func convert[To, From ~string](h map[string][]From) map[string][]To {
	if h == nil {
		return nil
	}
	out := make(map[string][]To, len(h))
	for name, lines := range h {
		out[name] = make([]To, len(lines))
		for i, line := range lines {
			out[name][i] = To(line)
		}
	}
	return out
}

// probe is a policy.Probe.
type probe struct {
	Root    int `json:"root"`
	Missing int `json:"missing"`
}

// failure is the error of an attempt. Class is empty if it is no *policy.Failure.
type failure struct {
	Class string `json:"class,omitempty"`
	Text  string `json:"text,omitempty"`
}

// longText bounds the text of an error, in bytes. It is longer than a decision has of it.
const longText = 4 << 10

// toFetch returns an attempt as it is logged.
func toFetch(a policy.Attempt) *fetch {
	f := &fetch{
		Robots: a.Robots, Served: value(a.Served), Status: a.Status, Header: convert[value](a.Header), Text: value(a.Body), Cut: a.Cut,
		Sent: a.Sent, Received: a.Received, Probe: (*probe)(a.Probe),
	}
	for _, h := range a.Hops {
		f.Hops = append(f.Hops, hop{value(h.From), value(h.To), h.Status, convert[value](h.Header)})
	}
	if a.Err != nil {
		f.Failure = &failure{Text: clean.Text(a.Err.Error(), longText)}
		var classed *policy.Failure
		if errors.As(a.Err, &classed) && classed != nil {
			*f.Failure = failure{Class: classed.Class.String()}
			if classed.Err != nil {
				f.Failure.Text = clean.Text(classed.Err.Error(), longText)
			}
		}
	}
	return f
}

// attempt returns the attempt that was logged.
func (f *fetch) attempt() policy.Attempt {
	a := policy.Attempt{
		Robots: f.Robots, Served: string(f.Served), Status: f.Status, Header: convert[string](f.Header), Body: []byte(f.Text), Cut: f.Cut,
		Sent: f.Sent, Received: f.Received, Probe: (*policy.Probe)(f.Probe),
	}
	for _, h := range f.Hops {
		a.Hops = append(a.Hops, policy.Hop{From: string(h.From), To: string(h.To), Status: h.Status, Header: convert[string](h.Header)})
	}
	if f.Failure != nil {
		a.Err = f.Failure.error()
	}
	return a
}

// error returns the error that was logged.
func (f *failure) error() error {
	var cause error
	if f.Text != "" {
		cause = errors.New(f.Text)
	}
	for c := policy.Other; c < maxClass; c++ {
		if c.String() == f.Class {
			return &policy.Failure{Class: c, Err: cause}
		}
	}
	return cause
}

// maxClass is more than any class.
const maxClass policy.Class = 32

// A Log writes a log.
type Log struct {
	mu  sync.Mutex
	out *json.Encoder
	err error // the first error of the writer
}

// NewLog returns a Log.
func NewLog(w io.Writer) *Log {
	l := &Log{out: json.NewEncoder(w)}
	l.out.SetEscapeHTML(false)
	return l
}

// Begin writes the first line.
func (l *Log) Begin(run Run) { l.write(line{Run: &run}) }

func (l *Log) write(v line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.out.Encode(v)
	}
}

// Trace adds the Log to a trace.
func (l *Log) Trace(t *fetcher.Trace) {
	next := t.Fetched
	t.Fetched = func(a policy.Attempt, r *policy.Record) {
		l.write(line{Fetched: toFetch(a)})
		if next != nil {
			next(a, r)
		}
	}
}

// Decided logs a decision.
func (l *Log) Decided(d policy.Decision) {
	text, err := json.Marshal(d)
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	l.write(line{Decided: text})
}

// Err returns the first error of the writer.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
