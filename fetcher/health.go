package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file follows a paced page request to the end of its answer, and reports to its turn
// how it went.

// slowAfter is how long a request must have been under way for the deadline of its caller
// to count as a timeout of the host.
const slowAfter = time.Second

// failTurn reports to a turn that its request failed, if the host or the way to it is
// the reason.
func failTurn(turn pace.Turn, f *policy.Failure) {
	switch f.Class {
	case policy.DNS, policy.Connect, policy.TLS, policy.Timeout, policy.Protocol, policy.Body:
		turn.Fail(f.Class.String())
	}
}

// A pacedPage is a page request that has been sent, with its turn.
type pacedPage struct {
	turn    pace.Turn
	began   time.Time      // when it was sent; zero if the caller has no deadline
	caller  *http.Request  // the request as RoundTrip got it
	rec     *policy.Record // governs the request; nil if none was needed
	sending *sending       // nil unless the request is traced
}

// sending is the copy of a page request that goes out. It is also the body of that copy,
// and notes what happens while the request is written.
type sending struct {
	io.ReadCloser // the body of the request as RoundTrip got it; nil if there is none
	request       http.Request
	turn          pace.Turn
	trace         httptrace.ClientTrace
	unreadable    atomic.Bool // the body could not be read
	wrote         atomic.Bool // the request went out
}

// traced returns a copy of the request that reports to the turn when it is written.
func (p *pacedPage) traced() *http.Request {
	s := &sending{ReadCloser: p.caller.Body, turn: p.turn}
	p.sending = s
	s.trace.WroteRequest = s.written
	s.request = *p.caller.WithContext(httptrace.WithClientTrace(p.caller.Context(), &s.trace))
	if s.request.Body != nil && s.request.Body != http.NoBody {
		s.request.Body = s
	}
	return &s.request
}

func (s *sending) written(httptrace.WroteRequestInfo) {
	s.wrote.Store(true)
	s.turn.Sent()
}

// Read reads the body of the request, and notes if that fails.
func (s *sending) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if err != nil && err != io.EOF {
		s.unreadable.Store(true)
	}
	return n, err
}

// fail reports a failed page to its turn, if the host or the way to it is the reason. It
// reports nothing if the caller left, if the body of the request could not be read, or if
// the request is one that cannot be sent.
func (p *pacedPage) fail(err error) {
	ctx := p.caller.Context()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		if time.Since(p.began) >= slowAfter {
			p.turn.Fail(policy.Timeout.String())
		}
		return
	case ctx.Err() != nil, errors.Is(err, context.Canceled), canceled(p.caller), p.sending != nil && p.sending.unreadable.Load():
		return
	}
	f := classify(context.Background(), err)
	if f.Class != policy.Protocol || p.sending != nil && p.sending.wrote.Load() {
		failTurn(p.turn, f)
	}
}

// canceled reports whether the deprecated Request.Cancel is closed.
func canceled(req *http.Request) bool {
	select {
	//lint:ignore SA1019 net/http honours it as well
	case <-req.Cancel:
		return true
	default:
		return false
	}
}

// A pacedBody is the body of the answer to a paced page. Its end, or Close, ends the turn.
type pacedBody struct {
	io.ReadCloser
	page   pacedPage
	closed atomic.Bool // the caller wants no more of the answer
}

func (b *pacedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if err == nil {
		return n, nil
	}
	if err != io.EOF && !b.closed.Load() {
		b.page.fail(&policy.Failure{Class: policy.Body, Err: err})
	}
	b.page.turn.Done()
	return n, err
}

func (b *pacedBody) Close() error {
	b.closed.Store(true)
	defer b.page.turn.Done()
	return b.ReadCloser.Close()
}
