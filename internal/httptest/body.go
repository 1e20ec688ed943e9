package httptest

import (
	"io"
	"net/http"
	"time"
)

// A body writes the body of a step, in the pieces of [Step.Drip], and stops where the step stops.
type body struct {
	Step
	to      io.Writer
	flush   func()
	request *http.Request
	sent    int
}

// send writes the body of the step, up to the point where the step stops.
func (s Step) send(b *body) {
	b.stopAt(0)
	if s.stream != nil {
		if s.stream(b) != nil { // the client has closed the connection
			panic(http.ErrAbortHandler)
		}
	} else if _, err := b.Write(s.body); err != nil {
		panic(http.ErrAbortHandler)
	}
	b.stopAt(s.keep)
}

func (b *body) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		b.stopAt(b.sent)
		b.pause()
		size := len(p)
		if b.piece > 0 {
			size = min(size, b.piece)
		}
		if b.end != whole {
			size = min(size, b.keep-b.sent)
		}
		some, err := b.to.Write(b.framed(p[:size]))
		if err != nil {
			return n + min(some, size), err
		}
		n, p, b.sent = n+size, p[size:], b.sent+size
	}
	return n, nil
}

func (b *body) framed(p []byte) []byte {
	if b.frame == nil {
		return p
	}
	return b.frame(p)
}

// pause waits for the gap of [Step.Drip], before every piece except the first.
func (b *body) pause() {
	if b.gap > 0 && b.sent > 0 {
		b.flush()
		wait(b.request, b.gap)
	}
}

// stopAt ends the body if the step ends it after this many bytes.
func (b *body) stopAt(sent int) {
	if b.end == whole || sent < b.keep {
		return
	}
	b.flush()
	switch b.end {
	case tornOff:
		waitForFlush(b.request)
		connOf(b.request).reset()
	case hangsOff:
		wait(b.request, forever)
	}
	panic(http.ErrAbortHandler)
}

// waitForFlush waits until the server's goroutine for HTTP/2 has written the flushed bytes.
func waitForFlush(r *http.Request) {
	if r.ProtoMajor == 2 {
		wait(r, time.Millisecond)
	}
}

// answerRaw writes the answer to the connection, without the server, and closes the connection.
func (s Step) answerRaw(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		s.notInHTTP2(w, r)
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // the client has closed the connection
		panic(http.ErrAbortHandler)
	}
	defer c.Close()
	head := s.head
	if s.wire != nil {
		head = func(string, ...string) []byte { return s.wire(s) }
	}
	if _, err := c.Write(head("HTTP/1.1")); err != nil {
		return
	}
	if s.wire == nil && s.status == http.StatusSwitchingProtocols {
		wait(r, forever)
	}
	s.send(&body{Step: s, to: c, flush: func() {}, request: r})
}

// notInHTTP2 ends an HTTP/2 request that the step cannot answer. After a final status below 200 the stream ends with an
// error. Any other such step is a mistake in the test.
func (s Step) notInHTTP2(w http.ResponseWriter, r *http.Request) {
	if s.wire != nil {
		connOf(r).web.t.Errorf("httptest: %s: the step breaks the framing of HTTP/1.1, but the request came by HTTP/2", r.URL)
	} else if s.status != http.StatusSwitchingProtocols {
		w.WriteHeader(s.status)
	}
	panic(http.ErrAbortHandler)
}
