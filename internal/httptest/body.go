package httptest

import (
	"io"
	"net/http"
	"time"
)

// A body is where a step writes its body: it cuts it into the pieces of a drip and ends it where the step ends it.
type body struct {
	Step
	to      io.Writer
	flush   func()
	request *http.Request
	sent    int
}

// send writes the body of the step, as far as the step lets it come.
func (s Step) send(b *body) {
	b.stopAt(0)
	if s.stream != nil {
		if s.stream(b) != nil { // the client is gone
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
		some, err := b.to.Write(b.coated(p[:size]))
		if err != nil {
			return n + min(some, size), err
		}
		n, p, b.sent = n+size, p[size:], b.sent+size
	}
	return n, nil
}

func (b *body) coated(p []byte) []byte {
	if b.coat == nil {
		return p
	}
	return b.coat(p)
}

// pause is the gap of a drip, before every piece but the first.
func (b *body) pause() {
	if b.gap > 0 && b.sent > 0 {
		b.flush()
		wait(b.request, b.gap)
	}
}

// stopAt ends the body if the step says that it ends after this many octets.
func (b *body) stopAt(sent int) {
	if b.end == whole || sent < b.keep {
		return
	}
	b.flush()
	switch b.end {
	case tornOff:
		settle(b.request)
		connOf(b.request).reset()
	case hangsOff:
		wait(b.request, forever)
	}
	panic(http.ErrAbortHandler)
}

// settle lets the server's own goroutine for HTTP/2 write what was flushed.
func settle(r *http.Request) {
	if r.ProtoMajor == 2 {
		wait(r, time.Millisecond)
	}
}

// onWire answers past the server, on the bare connection, and closes it.
func (s Step) onWire(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		s.notInHTTP2(w, r)
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // the client is gone
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

// notInHTTP2 ends a request by HTTP/2 that the step cannot answer. A final status below 200 it can, nearly: the stream ends
// with an error after it. Anything else is a mistake in the test.
func (s Step) notInHTTP2(w http.ResponseWriter, r *http.Request) {
	if s.wire != nil {
		connOf(r).web.t.Errorf("httptest: %s: the step breaks the framing of HTTP/1.1, but the request came by HTTP/2", r.URL)
	} else if s.status != http.StatusSwitchingProtocols {
		w.WriteHeader(s.status)
	}
	panic(http.ErrAbortHandler)
}
