package httptest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Step is what a site does with one request. Steps are values: each method returns a changed copy, so a step may be
// kept, varied and used for several sites.
type Step struct {
	status int
	fields []field

	body    []byte
	stream  func(io.Writer) error // writes the body, which may be endless, instead of body
	unsized bool                  // the length of the body is not declared
	trailer []field

	delay time.Duration // wait before anything is sent
	early int           // interim status that is sent first
	times int           // how often early is sent; a negative number means without end
	gap   time.Duration // wait between two pieces of the body
	piece int           // length of a piece in bytes; 0 means that the body is one piece
	end   ending
	keep  int // how many bytes of the body are sent before end

	matching bool                // answer 304 to a matching validator
	handler  http.HandlerFunc    // answers instead of the step, after delay and with fields set
	wire     func(Step) []byte   // returns the bytes to write to the bare connection before the body
	frame    func([]byte) []byte // frames each piece that is written to the bare connection
}

// A field is one header field. [Step.Header] replaces a field that a constructor sets by default.
type field struct {
	name, value string
	late        func(now, start time.Time) string // returns the value when the step is used; start is the start of the web
	isDefault   bool                              // a field of the same name replaces this one
	absent      bool                              // the field is not sent, even if the server would send it
}

// An ending is how the connection ends within a body.
type ending uint8

const (
	whole    ending = iota // the body is sent to its end
	cutOff                 // the connection is closed
	tornOff                // the connection is reset
	hangsOff               // the connection stays open, but nothing more is sent
)

// Text is 200 with a body of type text/plain and its length.
func Text(body string) Step {
	return Step{status: http.StatusOK, body: []byte(body)}.withDefault("Content-Type", "text/plain; charset=utf-8")
}

// Status answers with a status from 100 to 999 and an empty body. A status below 200 is sent as a final answer, which HTTP
// does not allow. The connection is closed after the head. After a 101 it stays open, but nothing more is sent.
func Status(code int) Step { return Step{status: code} }

// Redirect answers with a status and a Location, whose bytes are sent as they are. For a redirect without a Location use
// [Status], and for one with two add a [Step.Header].
func Redirect(code int, location string) Step { return Status(code).Header("Location", location) }

// Handler answers with h. A panic in h fails the test, except [http.ErrAbortHandler]. If h waits it must wait for the
// context of the request, which ends when the client closes the connection or the test ends.
func Handler(h http.HandlerFunc) Step { return Step{handler: h} }

// Status changes the status of an answer that has a body.
func (s Step) Status(code int) Step {
	s.status = code
	return s
}

// Header adds a header field.
func (s Step) Header(name, value string) Step {
	return s.field(field{name: name, value: value})
}

// DateHeader adds a header field with a date: the time of the answer plus offset. Use it for Expires, Last-Modified and
// Retry-After.
func (s Step) DateHeader(name string, offset time.Duration) Step {
	return s.field(field{name: name, late: func(now, _ time.Time) string {
		return now.Add(offset).UTC().Format(http.TimeFormat)
	}})
}

// Without leaves out a field that the server would add, such as Date.
func (s Step) Without(name string) Step { return s.field(field{name: name, absent: true}) }

// withDefault adds a field that any field of the same name replaces.
func (s Step) withDefault(name, value string) Step {
	return s.field(field{name: name, value: value, isDefault: true})
}

func (s Step) field(f field) Step {
	s.fields = append(slices.Clip(s.fields), f)
	return s
}

// After waits before the step does anything.
func (s Step) After(d time.Duration) Step {
	s.delay = d
	return s
}

// ETag adds an entity tag, which includes the quotes, and answers 304 to an If-None-Match that has it.
func (s Step) ETag(tag string) Step {
	s.matching = true
	return s.Header("ETag", tag)
}

// LastModified adds a date, and answers 304 to an If-Modified-Since that is not before it, unless If-None-Match decides.
func (s Step) LastModified(at time.Time) Step {
	s.matching = true
	return s.Header("Last-Modified", at.UTC().Format(http.TimeFormat))
}

// SharedCache answers like a shared cache in front of the site, with Cache-Control: max-age and a growing Age. The cache
// has its copy since the start of the web, and renews it every ttl.
func (s Step) SharedCache(ttl time.Duration) Step {
	return s.Header("Cache-Control", "max-age="+seconds(ttl)).field(field{name: "Age", late: func(now, start time.Time) string {
		return seconds(now.Sub(start) % ttl)
	}})
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// Gzip compresses the body and sets Content-Encoding.
func (s Step) Gzip() Step {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(s.body) // writing to a buffer cannot fail
	z.Close()
	s.body = b.Bytes()
	return s.Header("Content-Encoding", "gzip")
}

// Chunked sends the body without a Content-Length.
func (s Step) Chunked() Step {
	s.unsized = true
	return s
}

// Trailer adds a field after the body, and makes the body chunked.
func (s Step) Trailer(name, value string) Step {
	s.trailer = append(slices.Clip(s.trailer), field{name: name, value: value})
	return s.Chunked()
}

// Early sends an interim answer n times first, or without end if n is negative.
func (s Step) Early(code, n int) Step {
	s.early, s.times = code, n
	return s
}

// answer performs the step. It panics with http.ErrAbortHandler to end the connection.
func (s Step) answer(w http.ResponseWriter, r *http.Request) {
	wait(r, s.delay)
	s.sendEarly(w, r)
	s = s.withValues(connOf(r).web.start)
	if s.matching && s.matches(r) {
		s = s.notModified()
	}
	switch {
	case s.wire != nil || s.handler == nil && s.status < 200:
		s.answerRaw(w, r)
	case s.handler != nil:
		s.setFields(w.Header())
		s.handler(w, r)
	default:
		s.answerByServer(w, r)
	}
}

// withValues returns the step with the current value of every field, without the defaults that were replaced.
func (s Step) withValues(start time.Time) Step {
	now, fields := time.Now(), []field{}
	for _, f := range s.fields {
		if f.late != nil {
			f.value = f.late(now, start)
		}
		if !f.isDefault || !s.hasField(f.name) {
			fields = append(fields, f)
		}
	}
	s.fields = fields
	return s
}

// hasField reports whether the test has set a field.
func (s Step) hasField(name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return !f.isDefault && strings.EqualFold(f.name, name) })
}

// answerByServer answers through the server, which frames the answer for HTTP/1.1 and HTTP/2.
func (s Step) answerByServer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	s.setFields(h)
	if s.stream == nil && !s.unsized && !bodiless(s.status) && h["Content-Length"] == nil {
		h.Set("Content-Length", strconv.Itoa(len(s.body)))
	}
	w.WriteHeader(s.status)
	flush := func() { http.NewResponseController(w).Flush() }
	if s.unsized {
		flush()
	}
	if !bodiless(s.status) {
		s.send(&body{Step: s, to: w, flush: flush, request: r})
	}
	for _, f := range s.trailer {
		h.Add(http.TrailerPrefix+f.name, f.value)
	}
}

func bodiless(status int) bool {
	return status < 200 || status == http.StatusNoContent || status == http.StatusNotModified
}

// setFields sets the fields of a step that withValues returned.
func (s Step) setFields(h http.Header) {
	for _, f := range s.fields {
		if f.absent {
			h[http.CanonicalHeaderKey(f.name)] = nil
			continue
		}
		h.Add(f.name, f.value)
	}
}

// matches reports whether the validators of a request match the body of the step (RFC 9110, section 13.2.2).
func (s Step) matches(r *http.Request) bool {
	own := http.Header{}
	s.setFields(own)
	if tags := r.Header.Values("If-None-Match"); len(tags) > 0 {
		tag := strings.TrimPrefix(own.Get("ETag"), "W/")
		for t := range strings.SplitSeq(strings.Join(tags, ","), ",") {
			t = strings.TrimSpace(t)
			if tag != "" && (t == "*" || strings.TrimPrefix(t, "W/") == tag) {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	modified, missing := http.ParseTime(own.Get("Last-Modified"))
	return err == nil && missing == nil && !modified.After(since)
}

// notModified returns the step that answers 304 instead.
func (s Step) notModified() Step {
	fields := slices.DeleteFunc(slices.Clone(s.fields), func(f field) bool {
		return f.isDefault || strings.EqualFold(f.name, "Content-Encoding")
	})
	return Step{status: http.StatusNotModified, fields: fields}
}

// wait waits for d, or without end if d is negative. If the client closes the connection first, it ends the handler.
func wait(r *http.Request, d time.Duration) {
	if d == 0 {
		return
	}
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return
	case <-r.Context().Done():
	case <-connOf(r).gone: // after Hijack the end of the connection does not end the context
	}
	panic(http.ErrAbortHandler)
}

// clientGone reports whether the client has closed the connection.
func clientGone(r *http.Request) bool {
	select {
	case <-connOf(r).gone:
		return true
	default:
		return r.Context().Err() != nil
	}
}

// forever makes wait wait until the client closes the connection.
const forever = -1
