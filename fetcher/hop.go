package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file requests one URL of a fetch: RFC 9309, section 2.3.1.

const (
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxConns bounds the connections that one try may take of an *http.Transport.
	maxConns = 3
)

// hop requests one URL, and requests it again if the connection fails.
func (r *retrieval) hop(u *url.URL) answer {
	t := &tries{retrieval: r, url: u}
	if err := t.retry(); err != nil && t.last.err == nil {
		// No try was made: http.Client failed, or there was no turn in time.
		return answer{err: classify(r.ctx, err)}
	}
	return t.last
}

// tries are the tries of one hop.
type tries struct {
	*retrieval
	url        *url.URL
	made       int    // tries made
	late       bool   // the next try has no turn in time
	last       answer // result of the last try
	statusOnly bool   // no body is read
}

// answer is the result of one try.
type answer struct {
	status  int
	header  http.Header
	content content
	err     error // a *policy.Failure
}

// next makes the next try at the host's turn and keeps its answer in t.last. The error
// is the failure of the try, or says that it had no turn.
func (t *tries) next(req *http.Request) error {
	turn, err := t.nextTurn()
	if err != nil {
		t.late = true
		return err
	}
	t.made++
	t.engine.counts.requests.Add(1)
	start := time.Now()
	t.last = t.try(req, turn)
	var failure *policy.Failure
	if errors.As(t.last.err, &failure) {
		failTurn(turn, failure)
	}
	turn.Done()
	t.engine.watch.request(Request{
		Robots: t.robots, URL: t.url.String(), Try: t.made, Status: t.last.status, Start: start, Took: time.Since(start), Err: t.last.err,
	})
	return t.last.err
}

// try makes one request and reads the body of a successful answer. The base runs on
// goroutines of its own. A base that blocks in RoundTrip, Read or Close is left
// behind when the time of the fetch ends; its goroutine ends when the base returns.
func (t *tries) try(req *http.Request, turn pace.Turn) (a answer) {
	whole, log := t.ctx, t.engine.watch.log
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	var heard atomic.Bool
	req, a.err = t.engine.signed(req.WithContext(httptrace.WithClientTrace(ctx, t.trace(turn, &heard, cancel))))
	if a.err != nil {
		return a
	}
	resp, err := callBounded(ctx, log, func(context.Context) (*http.Response, error) { return t.send(req, cancel) })
	if err != nil {
		a.err = unanswered(ctx, classify(whole, err), heard.Load())
		return a
	}
	turn.Answer(resp.StatusCode, resp.Header)
	header := resp.Header.Clone()
	a.status, a.header = resp.StatusCode, header
	a.content, err = callBounded(whole, log, func(ctx context.Context) (content, error) {
		defer resp.Body.Close()
		if t.statusOnly || resp.StatusCode < 200 || resp.StatusCode > 299 {
			return content{}, nil
		}
		return readBody(ctx, resp, header, t.engine.opts.Profile.Limit)
	})
	if err != nil {
		a.err = classify(whole, err)
	}
	return a
}

// send requests by way of the base and checks the header of the answer.
func (t *tries) send(req *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	resp, err := t.trip.RoundTrip(req, cancel)
	switch {
	case err != nil:
	case resp == nil:
		return nil, errNoAnswer
	case context.Cause(req.Context()) != nil:
		err = context.Cause(req.Context())
	case headerSize(resp.Header) > maxHeader:
		err = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("a header of %d bytes; at most %d are read", headerSize(resp.Header), maxHeader)}
	}
	if err != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, err
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return resp, nil
}

// errRefusing ends a try that takes one connection after the other.
var errRefusing error = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("no answer by %d connections", maxConns)}

// trace receives what net/http reports of a try: that the request is written, that
// an answer to it begins to arrive, and each connection for it. More than maxConns
// connections end the try: an *http.Transport dials again without a pause, for as long
// as the context lasts, if a server accepts HTTP/2 connections and refuses every
// request on them. Another base may have retries of its own.
func (t *tries) trace(turn pace.Turn, heard *atomic.Bool, cancel context.CancelCauseFunc) *httptrace.ClientTrace {
	var conns atomic.Int32
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			if conns.Add(1) > maxConns && t.engine.network.IsTransport() {
				cancel(errRefusing)
			}
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { turn.Sent() },
		GotFirstResponseByte: func() { heard.Store(true) },
	}
}

// unanswered corrects the failure of a try by what net/http reported of it. A try that
// was canceled failed for the reason of its cancellation. A failure before the first
// byte of an answer is a failure of the connection.
func unanswered(ctx context.Context, f *policy.Failure, heard bool) error {
	var refused *egress.RefusedError
	switch cause := context.Cause(ctx); {
	case cause == errRefusing:
		return errRefusing
	case errors.As(cause, &refused):
		return &policy.Failure{Class: policy.Egress, Err: refused}
	case f.Class == policy.Protocol && !heard:
		return &policy.Failure{Class: policy.Connect, Err: f.Err}
	}
	return f
}

// nextTurn waits for the host's turn as long as the time of the fetch permits. The turn
// of the first request is there already.
func (t *tries) nextTurn() (pace.Turn, error) {
	if held := t.turn; held != (pace.Turn{}) {
		t.turn = pace.Turn{}
		return held, nil
	}
	key, err := Authority(t.url)
	if err != nil {
		return pace.Turn{}, err
	}
	turn, err := t.engine.pacer.Follow(t.ctx, key, 0, t.engine.opts.Scopes(t.url)...)
	if err != nil {
		return pace.Turn{}, &policy.Failure{Class: policy.Timeout, Err: fmt.Errorf("waiting for a turn: %w", err)}
	}
	return turn, nil
}

// headerSize is about the number of bytes a header took on the wire.
func headerSize(h http.Header) int {
	n := 0
	for name, lines := range h {
		for _, l := range lines {
			n += len(name) + len(l) + 4
		}
	}
	return n
}
