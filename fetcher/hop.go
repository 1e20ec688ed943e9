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

const (
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxConns bounds the connections that one try may take of an *http.Transport.
	maxConns = 3
)

// hop requests one URL, again if the connection fails.
func (r *retrieval) hop(u *url.URL) answer {
	t := &tries{retrieval: r, engine: r.engine, url: u}
	t.finish(t.do(r.ctx, u.String(), r.engine.header(u, r.old), r.engine.opts.Attempts))
	return t.last
}

// answer is the result of one hop.
type answer struct {
	status  int
	header  http.Header
	content content
	err     error // a *policy.Failure
}

// tries makes the tries of one hop. It is the http.RoundTripper below
// go-retryablehttp. It has no CloseIdleConnections, or every failure would close
// the idle connections of the whole crawler.
//
// The base runs on a goroutine of its own. A base that blocks in RoundTrip, Read or
// Close is left behind when the time of the fetch ends; its goroutine ends when the
// base returns.
type tries struct {
	retrieval *retrieval
	engine    *engine
	url       *url.URL
	n         int                     // tries made
	late      bool                    // another try has no turn in time
	start     time.Time               // of the last try
	held      pace.Turn               // turn of the last try
	cancel    context.CancelCauseFunc // ends the last try
	resp      *http.Response          // answer of the base to the last try
	last      answer                  // result of the last try
}

// RoundTrip makes one try at the host's turn and keeps the answer. It returns a
// status without body or Location, so that http.Client does not follow a redirect
// and go-retryablehttp does not read from the base.
func (t *tries) RoundTrip(req *http.Request) (*http.Response, error) {
	turn, err := t.turn()
	if err != nil {
		t.late = true
		return nil, err
	}
	t.n++
	t.start, t.held, t.last = time.Now(), turn, answer{}
	t.engine.counts.requests.Add(1)
	req, heard := t.bounded(req)
	t.resp, err = call(req.Context(), t.engine.watch.log, func(context.Context) (*http.Response, error) {
		return t.send(req)
	})
	if err != nil {
		err = unanswered(req.Context(), classify(t.retrieval.ctx, err), heard.Load())
		t.done(err)
		return nil, err
	}
	t.last.status, t.last.header = t.resp.StatusCode, t.resp.Header.Clone()
	t.held.Answer(t.resp.StatusCode, t.resp.Header)
	return &http.Response{StatusCode: t.resp.StatusCode, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// send requests by way of the base and checks the header of the answer.
func (t *tries) send(req *http.Request) (*http.Response, error) {
	resp, err := t.retrieval.trip.RoundTrip(req, t.cancel)
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
		closeResponse(resp)
		return nil, err
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return resp, nil
}

func closeResponse(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
}

// errRefusing ends a try that takes one connection after the other.
var errRefusing error = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("no answer by %d connections", maxConns)}

// bounded returns req with a context that t.cancel ends, and whether an answer to it
// began to arrive. More than maxConns connections end it, too: an *http.Transport
// dials anew without a pause, for as long as the context lasts, if a server accepts
// HTTP/2 connections and refuses every request on them. Another base may have
// retries of its own.
func (t *tries) bounded(req *http.Request) (*http.Request, *atomic.Bool) {
	ctx, cancel := context.WithCancelCause(req.Context())
	t.cancel = cancel
	turn := t.held
	var conns atomic.Int32
	heard := new(atomic.Bool)
	return req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			if conns.Add(1) > maxConns && t.engine.network.IsTransport() {
				cancel(errRefusing)
			}
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { turn.Sent() },
		GotFirstResponseByte: func() { heard.Store(true) },
	})), heard
}

// unanswered corrects the class of a failed try by what net/http reported of it. A
// try that was canceled failed for the reason of its cancellation. A failure before
// the first byte of an answer is not a fault of the answer but of the connection.
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

// turn waits for the host's turn as long as the time of the fetch permits. The turn
// of the first request is there already. Without pacing it is the zero Turn.
func (t *tries) turn() (none pace.Turn, err error) {
	r := t.retrieval
	if held := r.turn; held != none || t.engine.pacer == nil {
		r.turn = none
		return held, nil
	}
	key, err := Authority(t.url)
	if err != nil {
		return none, err
	}
	turn, err := t.engine.pacer.Follow(r.ctx, key, 0)
	if err != nil {
		return none, &policy.Failure{Class: policy.Timeout, Err: fmt.Errorf("waiting for a turn: %w", err)}
	}
	return turn, nil
}

// read reads the body of a successful answer, and closes the body of every answer.
// go-retryablehttp calls it within a try, so that a body that breaks off is tried
// again.
func (t *tries) read(*http.Response) error {
	resp, header, limit := t.resp, t.last.header, t.engine.opts.Profile.Limit
	c, err := call(t.retrieval.ctx, t.engine.watch.log, func(context.Context) (content, error) {
		defer resp.Body.Close()
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			return content{}, nil
		}
		return readBody(resp, header, limit)
	})
	if err != nil {
		err = classify(t.retrieval.ctx, err)
	}
	t.last.content = c
	t.done(err)
	return err
}

// done ends a try: it gives the turn back and calls the hook.
func (t *tries) done(err error) {
	t.last.err = err
	t.cancel(nil)
	t.held.Done()
	t.engine.watch.hop(Hop{Robots: t.retrieval.robots, URL: t.url.String(), Try: t.n, Status: t.last.status, Start: t.start, Took: time.Since(t.start), Err: err})
}

// again decides on another try. It makes one only after a failure of the network,
// and only if there is time to wait for it.
func (t *tries) again(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if err == nil || t.late || ctx.Err() != nil {
		return false, nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= retryWait {
		return false, nil
	}
	return passing(classify(ctx, err)), nil
}

// finish keeps an error that no try has kept: one of http.Client's own, or that the
// first try had no turn. The failure of a try counts more than the missing turn of
// the next.
func (t *tries) finish(err error) {
	if err != nil && t.last.err == nil {
		t.last = answer{err: classify(t.retrieval.ctx, err)}
	}
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
