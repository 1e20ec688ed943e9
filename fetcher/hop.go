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

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const (
	// maxHeader bounds the header of an answer, in octets.
	maxHeader = 64 << 10
	// maxConns bounds the connections that one try may take of an *http.Transport.
	maxConns = 3
	// retryWait is the time between two tries of a hop. Longer waits are not
	// sat out: the record says when to come back.
	retryWait = 500 * time.Millisecond
)

// hop makes one request for robots.txt, tried again if the connection fails. It
// is one call of go-retryablehttp, which is told to follow nothing, log
// nothing, hand over the last answer whatever it is, and never to sleep longer
// than retryWait.
func (e *engine) hop(ctx context.Context, u *url.URL, old *policy.Record, path *path) answer {
	try := &tries{engine: e, ctx: ctx, url: u, path: path}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return answer{err: &policy.Failure{Class: policy.Protocol, Err: err}}
	}
	req.Header = e.header(u, old)
	req.SetResponseHandler(try.read)
	client := &retryablehttp.Client{
		HTTPClient: &http.Client{Transport: try, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		RetryMax:     e.opts.Attempts - 1,
		CheckRetry:   try.again,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return retryWait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	resp, err := client.Do(req)
	if resp != nil {
		resp.Body.Close()
	}
	try.finish(err)
	return try.last
}

// tries is the http.RoundTripper below go-retryablehttp for one hop, and the
// state of its tries. It has no CloseIdleConnections, or every failure would
// close the idle connections of the whole crawler, and it takes the Location
// out of an answer before http.Client sees it, which would follow it or fail.
type tries struct {
	*engine
	ctx   context.Context
	url   *url.URL
	path  *path
	n     int       // tries made
	late  bool      // no turn for another try in time
	start time.Time // of the last try
	held  pace.Turn // its turn
	end   func()    // ends its context
	last  answer    // what it came to
}

// RoundTrip makes one try, when it is the host's turn.
func (t *tries) RoundTrip(req *http.Request) (*http.Response, error) {
	turn, err := t.turn()
	if err != nil {
		t.late = true
		return nil, err
	}
	t.n++
	t.start, t.held, t.last = time.Now(), turn, answer{}
	t.counts.requests.Add(1)
	answered := false
	defer func() {
		if !answered { // a panic in the base must not keep the turn
			t.held.Done()
		}
	}()
	if t.pacer != nil {
		req = timed(req, turn)
	}
	req, heard := t.bounded(req)
	resp, err := t.path.roundTrip(req)
	if err == nil {
		resp, err = t.head(resp)
	} else {
		err = unanswered(req.Context(), classify(t.ctx, err), heard.Load())
	}
	if err != nil {
		t.done(classify(t.ctx, err))
		return nil, err
	}
	answered = true
	return resp, nil
}

// errRefusing ends a try that takes one connection after the other.
var errRefusing error = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("no answer by %d connections", maxConns)}

// bounded is req with maxConns connections to live by, and whether an answer to
// it began to arrive. For a server that takes HTTP/2 connections and refuses
// every request on them, an *http.Transport dials anew without a pause for as
// long as the context lasts. Another base may have retries of its own.
func (t *tries) bounded(req *http.Request) (*http.Request, *atomic.Bool) {
	ctx, cancel := context.WithCancelCause(req.Context())
	t.end = func() { cancel(nil) }
	var conns atomic.Int32
	heard := new(atomic.Bool)
	return req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			if conns.Add(1) > maxConns && t.path.dials {
				cancel(errRefusing)
			}
		},
		GotFirstResponseByte: func() { heard.Store(true) },
	})), heard
}

// unanswered is a failure seen in the light of what net/http told of the try:
// before the first octet of an answer nothing can be wrong with the answer, so
// what has no class of its own is a failure of the connection.
func unanswered(ctx context.Context, f *policy.Failure, heard bool) error {
	switch {
	case context.Cause(ctx) == errRefusing:
		return errRefusing
	case f.Class == policy.Protocol && !heard:
		return &policy.Failure{Class: policy.Connect, Err: f.Err}
	}
	return f
}

// head takes what counts in the head of an answer. The answer it returns is for
// http.Client.
func (t *tries) head(resp *http.Response) (*http.Response, error) {
	if resp == nil {
		return nil, errors.New("the base returned neither an answer nor an error")
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if n := headerSize(resp.Header); n > maxHeader {
		resp.Body.Close()
		return nil, &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("a header of %d octets; at most %d are read", n, maxHeader)}
	}
	t.last.status, t.last.header = resp.StatusCode, resp.Header.Clone()
	t.held.Answer(resp.StatusCode, resp.Header)
	bare := *resp
	bare.Header = resp.Header.Clone()
	bare.Header.Del("Location")
	return &bare, nil
}

// turn waits for the host's turn to be asked, within the budget, unless it is
// held already. Without pacing it is the zero Turn.
func (t *tries) turn() (none pace.Turn, err error) {
	if held := t.path.turn; held != none || t.pacer == nil {
		t.path.turn = none
		return held, nil
	}
	key, err := Authority(t.url)
	if err != nil {
		return none, err
	}
	turn, err := t.pacer.Wait(t.ctx, key, 0)
	if err != nil {
		return none, &policy.Failure{Class: policy.Timeout, Err: fmt.Errorf("waiting for a turn: %w", err)}
	}
	return turn, nil
}

// read takes the body of an answer that is worth it. It runs inside the retry,
// so that a body that breaks off is tried again.
func (t *tries) read(resp *http.Response) error {
	defer t.held.Done()
	var failure error
	if t.last.status >= 200 && t.last.status <= 299 {
		t.last.body, t.last.cut, failure = readBody(resp, t.last.header, t.profile.Limit)
	}
	resp.Body.Close()
	if failure != nil {
		failure = classify(t.ctx, failure)
	}
	t.done(failure)
	return failure
}

// done ends a try: the turn is given back and the hook is told.
func (t *tries) done(err error) {
	t.last.err = err
	t.held.Done()
	t.watch.hop(Hop{Robots: t.path.robots, URL: t.url.String(), Try: t.n, Status: t.last.status, Start: t.start, Took: time.Since(t.start), Err: err})
}

// again decides on another try: only the network's failures are worth one, and
// only while there is time to wait for it.
func (t *tries) again(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if err == nil || t.late || ctx.Err() != nil {
		return false, nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= retryWait {
		return false, nil
	}
	return passing(classify(ctx, err)), nil
}

// finish takes the outcome that no try has recorded: an error of http.Client's
// own, or no turn for the first try. The failure of a try that was made counts
// more than that there was no time for another.
func (t *tries) finish(err error) {
	switch {
	case t.last.err != nil:
		t.last.body = nil
	case err != nil:
		t.last = answer{err: classify(t.ctx, err)}
	}
}

// headerSize is the number of octets a header took on the wire, about.
func headerSize(h http.Header) int {
	n := 0
	for name, lines := range h {
		for _, l := range lines {
			n += len(name) + len(l) + 4
		}
	}
	return n
}
