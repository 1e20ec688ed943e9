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
	early int           // an interim status sent first, earlys times; without end if earlys is negative
	times int
	gap   time.Duration // between two pieces of the body, of piece bytes each; one piece if piece is 0
	piece int
	end   ending
	keep  int // how many bytes of the body are sent before end

	matching bool                // answers 304 to a validator that fits
	handler  http.HandlerFunc    // answers instead, after delay and with fields set
	wire     func(Step) []byte   // what is sent on the bare connection before the body, instead of a head
	coat     func([]byte) []byte // the framing of each piece written on the bare connection
}

// A field is one header field. [Step.Header] replaces a field that a constructor sets by default.
type field struct {
	name, value string
	late        func(now, start time.Time) string // returns the value when the step is used; start is the start of the web
	mild        bool                              // a default
	absent      bool                              // not sent, even if the server would
}

// An ending is how the connection ends within a body.
type ending uint8

const (
	whole    ending = iota // nothing
	cutOff                 // closed
	tornOff                // reset
	hangsOff               // nothing more is sent
)

// Text is 200 with a body of type text/plain and its length.
func Text(body string) Step {
	return Step{status: http.StatusOK, body: []byte(body)}.mildly("Content-Type", "text/plain; charset=utf-8")
}

// Status answers with a status from 100 to 999 and an empty body. A status below 200 is sent as a final
// answer, which HTTP does not allow: the connection is closed after the head, or stays open without a byte after a 101.
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

// DateHeader adds a header field that is a date: the moment of the answer and offset. It makes Expires, Last-Modified and
// the dates of Retry-After.
func (s Step) DateHeader(name string, offset time.Duration) Step {
	return s.field(field{name: name, late: func(now, _ time.Time) string {
		return now.Add(offset).UTC().Format(http.TimeFormat)
	}})
}

// Without keeps the server from adding a field of its own, such as Date.
func (s Step) Without(name string) Step { return s.field(field{name: name, absent: true}) }

// mildly adds a field that any field of the same name replaces.
func (s Step) mildly(name, value string) Step {
	return s.field(field{name: name, value: value, mild: true})
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

// ETag adds an entity tag, quotes included, and answers 304 to an If-None-Match that has it.
func (s Step) ETag(tag string) Step {
	s.matching = true
	return s.Header("ETag", tag)
}

// LastModified adds a date, and answers 304 to an If-Modified-Since that is not before it, unless If-None-Match decides.
func (s Step) LastModified(at time.Time) Step {
	s.matching = true
	return s.Header("Last-Modified", at.UTC().Format(http.TimeFormat))
}

// SharedCache answers like a shared cache in front of the site that has had its copy since the start of the web and renews
// it every ttl: with Cache-Control: max-age and a growing Age.
func (s Step) SharedCache(ttl time.Duration) Step {
	return s.Header("Cache-Control", "max-age="+seconds(ttl)).field(field{name: "Age", late: func(now, start time.Time) string {
		return seconds(now.Sub(start) % ttl)
	}})
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// Gzip compresses the body and says so.
func (s Step) Gzip() Step {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(s.body) // neither fails on a buffer
	z.Close()
	s.body = b.Bytes()
	return s.Header("Content-Encoding", "gzip")
}

// Chunked leaves the length of the body undeclared.
func (s Step) Chunked() Step {
	s.unsized = true
	return s
}

// Trailer adds a field after the body, which is chunked then.
func (s Step) Trailer(name, value string) Step {
	s.trailer = append(slices.Clip(s.trailer), field{name: name, value: value})
	return s.Chunked()
}

// Early sends an interim answer n times first, or without end if n is negative.
func (s Step) Early(code, n int) Step {
	s.early, s.times = code, n
	return s
}

// answer does what the step says. It panics with http.ErrAbortHandler to end the connection.
func (s Step) answer(w http.ResponseWriter, r *http.Request) {
	wait(r, s.delay)
	s.storm(w, r)
	s = s.settled(connOf(r).web.start)
	if s.matching && s.fits(r) {
		s = s.notModified()
	}
	switch {
	case s.wire != nil || s.handler == nil && s.status < 200:
		s.onWire(w, r)
	case s.handler != nil:
		s.setFields(w.Header())
		s.handler(w, r)
	default:
		s.onServer(w, r)
	}
}

// settled returns the step with the present value of every field, without the defaults that were replaced.
func (s Step) settled(start time.Time) Step {
	now, fields := time.Now(), []field{}
	for _, f := range s.fields {
		if f.late != nil {
			f.value = f.late(now, start)
		}
		if !f.mild || !s.says(f.name) {
			fields = append(fields, f)
		}
	}
	s.fields = fields
	return s
}

// says reports whether the test has set a field itself.
func (s Step) says(name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return !f.mild && strings.EqualFold(f.name, name) })
}

// onServer answers through the server, which frames the answer for HTTP/1.1 and HTTP/2.
func (s Step) onServer(w http.ResponseWriter, r *http.Request) {
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

// setFields sets the fields of a settled step.
func (s Step) setFields(h http.Header) {
	for _, f := range s.fields {
		if f.absent {
			h[http.CanonicalHeaderKey(f.name)] = nil
			continue
		}
		h.Add(f.name, f.value)
	}
}

// fits reports whether the validators of a request name the copy that the step would send (RFC 9110, section 13.2.2).
func (s Step) fits(r *http.Request) bool {
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

// notModified is the 304 in place of the step.
func (s Step) notModified() Step {
	fields := slices.DeleteFunc(slices.Clone(s.fields), func(f field) bool {
		return f.mild || strings.EqualFold(f.name, "Content-Encoding")
	})
	return Step{status: http.StatusNotModified, fields: fields}
}

// wait waits for d, for ever if d is negative. If the client closes the connection first, it ends the handler.
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
	case <-connOf(r).gone: // a connection that was taken from the server no longer ends the context
	}
	panic(http.ErrAbortHandler)
}

// left reports whether the client has closed the connection.
func left(r *http.Request) bool {
	select {
	case <-connOf(r).gone:
		return true
	default:
		return r.Context().Err() != nil
	}
}

// forever waits until the client closes the connection.
const forever = -1
