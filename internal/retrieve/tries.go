package retrieve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file requests one URL of a fetch, and again if that fails: RFC 9309, section 2.3.1.
// It is the only one that knows go-retryablehttp.

const (
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxConns bounds the connections that one try may take of an *http.Transport.
	maxConns = 3
	// retryWait is the time between two tries of a hop. Longer waits are left to the
	// record, which says when the next fetch is.
	retryWait = 500 * time.Millisecond
)

// tries are the tries to request one URL. They belong to one hop, and are the
// http.RoundTripper below go-retryablehttp. They have no method CloseIdleConnections:
// go-retryablehttp would call it after each failure, and close the connections for pages.
type tries struct {
	fetch      *Fetch
	request    http.Request    // for each try
	answer     *policy.Attempt // gets the answer to the last try, and its failure
	made       int             // tries made
	late       bool            // the next try has no turn in time
	statusOnly bool            // no body is read
}

// get requests one URL, whose text is in the attempt, and requests it again if the connection
// fails. The answer is in the attempt. It is one call of go-retryablehttp, which is set to follow
// no redirect, to log nothing, and to return the last answer whatever its status. Its own request
// is empty, since http.Client would copy the header. It takes about 2 µs and 9 allocations of a
// hop.
func (f *Fetch) get(u *url.URL) {
	a := &f.attempt
	t := &tries{fetch: f, request: f.request(http.MethodGet, u, a.Served), answer: a}
	t.clear()
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: t},
		RetryMax:     f.Attempts - 1,
		CheckRetry:   t.mayRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return retryWait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	empty := http.Request{URL: u, Header: http.Header{}}
	//nolint:bodyclose // tries return no body
	_, err := client.Do(&retryablehttp.Request{Request: empty.WithContext(f.ctx)})
	if err != nil && a.Err == nil { // no try was made: http.Client failed, or there was no turn in time
		a.Err = classify(f.ctx, err)
	}
}

// clear removes an earlier answer from the attempt.
func (t *tries) clear() {
	a := t.answer
	a.Status, a.Header, a.Body, a.Cut, a.Err = 0, nil, nil, false, nil
}

// mayRetry reports whether there is another try: only after a failure of the network,
// and only if there is time to wait for it.
func (t *tries) mayRetry(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if err == nil || t.late || ctx.Err() != nil {
		return false, nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= retryWait {
		return false, nil
	}
	return isTransient(classify(ctx, err)), nil
}

// RoundTrip makes the next try. The response has the status without body and Location, so that
// http.Client does not follow a redirect and go-retryablehttp does not read a body.
func (t *tries) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.next(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: t.answer.Status, Body: http.NoBody, Request: req}, nil
}

// next makes the next try at the host's turn. The error is the failure of the try, or says that it
// had no turn.
func (t *tries) next() error {
	f, a := t.fetch, t.answer
	turn, err := f.nextTurn(t.request.URL)
	if err != nil {
		t.late = true
		return err
	}
	defer turn.Done() // if a method of the base's error panics
	t.made++
	f.sent = time.Now()
	t.clear()
	if err = t.try(turn); err != nil {
		a.Err = classify(f.ctx, err)
		FailTurn(turn, a.Err)
	}
	turn.Done()
	if f.Tried != nil {
		f.Tried(Try{
			Robots: f.attempt.Robots, URL: a.Served, Number: t.made, Status: a.Status, Start: f.sent, Took: time.Since(f.sent), Err: a.Err,
		})
	}
	return a.Err
}

// An exchange is one try: a request, and what has been received of its answer. The goroutine that
// receives sets the fields of the answer before it stores in received that they are set.
type exchange struct {
	turn     pace.Turn
	conns    atomic.Int32 // new connections for the request
	heard    atomic.Bool  // the answer has begun to arrive
	received atomic.Int32 // nothing, headReceived or allReceived
	status   int
	header   http.Header
	body     []byte // if received is allReceived
}

const (
	headReceived = 1 + iota
	allReceived  // nothing is left to read that counts
)

// try makes one request and reads the body of a successful answer into the attempt. The base
// runs on a goroutine of its own. A base that blocks in RoundTrip, Read or Close is left
// behind when the time of the fetch ends; its goroutine ends when the base returns.
func (t *tries) try(turn pace.Turn) error {
	f, whole, a := t.fetch, t.fetch.ctx, t.answer
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	x := &exchange{turn: turn}
	req := t.request.WithContext(httptrace.WithClientTrace(ctx, t.trace(ctx, x, cancel)))
	var err error
	if f.Sign != nil {
		if req, err = f.Sign(req); err != nil {
			return err
		}
	}
	_, err = bounded.Call(ctx, f.Log, func(context.Context) (none struct{}, err error) { return none, t.receive(req, x, cancel) }, nil)
	if received := x.received.Load(); received > 0 {
		a.Status, a.Header = x.status, x.header
		if received == allReceived && whole.Err() == nil { // what becomes of the rest does not matter
			err, a.Body, a.Cut = nil, x.body, len(x.body) > f.Profile.Limit
		}
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	failure := classify(whole, err)
	if failure.Class == policy.Protocol && !x.heard.Load() && err != errRefusing {
		failure = &policy.Failure{Class: policy.Connect, Err: failure.Err} // the connection ended before the first byte of an answer
	}
	return failure
}

// receive sends the request and receives what counts of its answer. It ends after the answer is
// closed.
func (t *tries) receive(req *http.Request, x *exchange, cancel context.CancelCauseFunc) error {
	resp, err := t.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, field.Canonical(resp.Header).Clone() // another base may keep the lower case of HTTP/2
	x.turn.Answer(x.status, x.header)
	x.received.Store(headReceived)
	body, atEnd, err := t.read(resp, x.header)
	if err != nil {
		return err
	}
	x.body = body
	x.received.Store(allReceived)
	if !atEnd {
		drain(resp, cancel)
	}
	return nil
}

// send requests by way of the base and checks the header of the answer.
func (t *tries) send(req *http.Request) (*http.Response, error) {
	resp, err := t.fetch.trip.RoundTrip(req)
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

// read reads the body of a successful answer. Any other body counts for nothing. atEnd says that
// nothing is left of the body.
func (t *tries) read(resp *http.Response, header http.Header) (body []byte, atEnd bool, err error) {
	if t.statusOnly || resp.StatusCode < 200 || resp.StatusCode > 299 || resp.StatusCode == http.StatusNoContent {
		return nil, resp.Body == http.NoBody, nil // a 204 has no content, whatever length it declares (RFC 9110, section 15.3.5)
	}
	limit := t.fetch.Profile.Limit
	if body, err = readBody(t.fetch.ctx, resp, header, limit); err != nil {
		return nil, false, &policy.Failure{Class: policy.Body, Err: err}
	}
	return body, len(body) <= limit && header["Content-Encoding"] == nil, nil
}

const (
	// drainBytes and drainTime bound what is read of a body that counts for nothing.
	drainBytes = 64 << 10
	drainTime  = 500 * time.Millisecond
)

// drain reads a short rest of an HTTP/1 body, so that the connection can be used for the page
// that waits for this answer. The connection of a longer or slower body is closed, and so is
// the connection of an answer with a status below 200, whose body is no body.
func drain(resp *http.Response, cancel context.CancelCauseFunc) {
	if resp.ProtoMajor != 1 || resp.Close || resp.StatusCode < 200 || resp.ContentLength > drainBytes {
		return
	}
	defer time.AfterFunc(drainTime, func() { cancel(nil) }).Stop()
	io.CopyN(io.Discard, resp.Body, drainBytes)
}

// errNoAnswer is the failure of a base that breaks the contract of http.RoundTripper.
var errNoAnswer = errors.New("the base returned neither an answer nor an error")

// errRefusing ends a try that takes one connection after the other.
var errRefusing error = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("no answer by %d connections", maxConns)}

// trace receives what net/http reports of a try: that the request is written, that
// an answer to it begins to arrive, and each connection for it. More than maxConns new
// connections end the try: an *http.Transport dials again without a pause, for as long
// as the context lasts, if a server accepts HTTP/2 connections and refuses every
// request on them. Another base may have retries of its own. A kept connection that turns
// out to be closed does not count: net/http tries the next one.
func (t *tries) trace(ctx context.Context, x *exchange, cancel context.CancelCauseFunc) *httptrace.ClientTrace {
	w := t.fetch.trip.Watch(ctx, t.request.URL, cancel)
	return &httptrace.ClientTrace{
		GetConn: func(to string) {
			if x.conns.Add(1) > maxConns && t.fetch.network.IsTransport() {
				cancel(errRefusing)
			}
			w.GetConn(to)
		},
		GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				x.conns.Add(-1)
			}
			w.GotConn(info)
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.turn.Sent() },
		GotFirstResponseByte: func() { x.heard.Store(true) },
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

// CheckBase refuses a base that is known to follow redirects by itself: it would
// fetch pages that no robots.txt was checked for, and skip the address rule.
func CheckBase(base http.RoundTripper) error {
	if t, ok := base.(*http.Transport); ok && t == nil {
		return errors.New("fetcher: Base is a nil *http.Transport; want a transport, or a nil interface for http.DefaultTransport")
	}
	rt, ok := base.(*retryablehttp.RoundTripper)
	if !ok || rt != nil && rt.Client != nil && rt.Client.HTTPClient != nil && rt.Client.HTTPClient.CheckRedirect != nil {
		return nil
	}
	return errors.New("fetcher: Base is a go-retryablehttp RoundTripper that follows redirects; want one whose " +
		"Client.HTTPClient has a CheckRedirect that returns http.ErrUseLastResponse")
}
