package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// This file follows a page request in its turn to the end of its answer, and reports to the
// turn how it went.

// sendPage reports the decision on a request that may go out, and makes the request in its
// turn. Under Options.PageEgress the address decides, so the decision is reported after the dial.
func (t *Transport) sendPage(req *http.Request, v *visit, turn pace.Turn, d *policy.Decision) (*http.Response, error) {
	ctx := req.Context()
	if !t.engine.opts.PageEgress {
		t.engine.watch.decided(ctx, d, func() { turn.Done(); closeBody(req) })
		return t.sendInTurn(req, v, turn)
	}
	resp, err := t.sendInTurn(req, v, turn)
	if err != nil {
		if refused, other := t.decisionFor(ctx, v.target, err); other == nil {
			return t.refuse(req, refused)
		}
	}
	t.engine.watch.decided(ctx, d, func() { closeAnswer(resp) })
	return resp, err
}

// sendInTurn is send with a turn, which is zero if requests are not paced. The turn ends with
// the answer's body, or with the request if there is no body to read. The next gap counts from
// when the request is written, however long the connection took: a copy of it with a trace goes
// out, which takes 170 ns of the 850 of a request in its turn.
func (t *Transport) sendInTurn(req *http.Request, v *visit, turn pace.Turn) (*http.Response, error) {
	if turn == (pace.Turn{}) && t.engine.opts.PageTimeout == 0 {
		return t.send(req, req, v.key)
	}
	p := &page{engine: t.engine, turn: turn, caller: req, rec: v.rec}
	p.ctx, p.cancel = t.engine.pageContext(req.Context())
	inBody := false // the body of the answer ends the turn
	defer func() {
		if !inBody {
			turn.Done()
			p.free()
		}
	}()
	resp, err := t.send(req, p.traced(), v.key)
	if err == nil {
		header := resp.Header
		if !t.route.network.IsTransport() { // it may keep the lower case of HTTP/2
			header = field.Canonical(header)
		}
		turn.Answer(resp.StatusCode, header)
		// The body of a 101 is a connection, not an answer.
		if resp.StatusCode == http.StatusSwitchingProtocols {
			p.cancel = nil // the connection may depend on the context
			return resp, nil
		}
		if resp.Body == nil || resp.Body == http.NoBody {
			return resp, nil
		}
	}
	if err != nil {
		p.fail(err)
		return nil, p.timeoutOr(err)
	}
	p.body, resp.Body, inBody = resp.Body, p, true
	p.open()
	return resp, nil
}

// pageContext returns the context of a page whose turn has come. cancel is nil unless
// Options.PageTimeout bounds it.
func (e *engine) pageContext(caller context.Context) (ctx context.Context, cancel context.CancelFunc) {
	if e.opts.PageTimeout == 0 {
		return caller, nil
	}
	return context.WithTimeoutCause(caller, e.opts.PageTimeout, e.pageTimedOut)
}

// free frees the context of the page, if it is not the caller's.
func (p *page) free() {
	if p.cancel != nil {
		p.cancel()
	}
}

// timeoutOr returns the error of Options.PageTimeout if that has passed, and otherwise err, the
// error of the base.
func (p *page) timeoutOr(err error) error {
	if cause := error(p.engine.pageTimedOut); context.Cause(p.ctx) == cause {
		return cause
	}
	return err
}

// A page is a request for a page in its turn, and the body of the answer. The turn ends with the
// body, with Close, or with the context of the request. The page has the copy of the request that
// goes out, and reports when that is written.
type page struct {
	engine  *engine
	turn    pace.Turn
	caller  *http.Request         // the request as RoundTrip got it
	ctx     context.Context       // of the request that goes out
	cancel  context.CancelFunc    // frees ctx; nil if that is the caller's
	rec     *policy.Record        // governs the request; nil if none was needed
	request http.Request          // the copy that goes out
	trace   httptrace.ClientTrace // of the copy: reports that it is written
	body    io.ReadCloser         // of the answer
	opened  time.Time             // when RoundTrip returned the answer
	index   int                   // of the page in unclosedBodies.pages
	stop    func() bool           // ends the wait for the end of the context; nil if that never ends

	uploaded     atomic.Int64 // bytes read from the body of the request
	uploadEnded  atomic.Bool  // the body of the request was read to its end
	uploadClosed atomic.Bool  // the base wants no more of the body of the request
	unreadable   atomic.Bool  // the body of the request could not be read
	misfit       atomic.Bool  // the connection is HTTP/2, and the request cannot be sent over that
	closed       atomic.Bool  // the caller wants no more of the answer, or has all of it
	unread       atomic.Int64 // since when nobody reads the answer, in nanoseconds after opened; or beingRead
}

// traced returns the copy of the request that reports to the turn when it is written.
func (p *page) traced() *http.Request {
	p.trace.WroteRequest = func(httptrace.WroteRequestInfo) { p.turn.Sent() }
	p.request = *p.caller.WithContext(httptrace.WithClientTrace(p.ctx, &p.trace))
	if body := p.caller.Body; body != nil && body != http.NoBody {
		p.request.Body = upload{body, p}
	}
	if needsHTTP1(p.caller.Header) {
		p.trace.GotConn = func(info httptrace.GotConnInfo) { p.misfit.Store(egress.IsHTTP2(info.Conn)) }
	}
	return &p.request
}

// needsHTTP1 reports whether a header has a field about the connection that net/http refuses to send
// over HTTP/2 (RFC 9113, section 8.2.2).
func needsHTTP1(h http.Header) bool {
	for _, name := range []string{"Connection", "Transfer-Encoding", "Upgrade"} {
		for _, value := range h[name] {
			switch strings.ToLower(value) {
			case "", "close", "keep-alive", "chunked":
			default:
				return true
			}
		}
	}
	return false
}

// An upload is the body of a page request. It notes in the page how long the body is, and whether
// reading it fails. Both are the caller's fault, also if the error is one of the network. A read
// that fails because the base has closed the body shows nothing: HTTP/2 ends an upload so when the
// server resets it.
type upload struct {
	io.ReadCloser
	page *page
}

func (u upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	u.page.uploaded.Add(int64(n))
	switch {
	case err == nil, u.page.uploadClosed.Load():
	case err == io.EOF:
		u.page.uploadEnded.Store(true)
	default:
		u.page.unreadable.Store(true)
	}
	return n, err
}

func (u upload) Close() error {
	u.page.uploadClosed.Store(true)
	return u.ReadCloser.Close()
}

func (p *page) Read(b []byte) (int, error) {
	p.unread.Store(beingRead)
	n, err := p.body.Read(b)
	if err == nil {
		p.unread.Store(int64(time.Since(p.opened)))
		return n, nil
	}
	if err == io.EOF {
		p.closed.Store(true)
	} else if !p.closed.Load() {
		p.fail(&policy.Failure{Class: policy.Body, Err: err})
		err = p.timeoutOr(err)
	}
	p.end()
	return n, err
}

func (p *page) Close() error {
	p.closed.Store(true)
	defer p.end()
	return p.body.Close()
}

// fail reports to the turn that the request failed, which ends it. It counts for the host whatever
// the error of the base is, unless the caller is the reason: it left, the body of the request could
// not be read, or nobody could send the request. If the deadline of the caller or
// Options.PageTimeout has passed, the host has timed out, however little time the wait for the turn
// had left.
func (p *page) fail(err error) {
	ctx := p.ctx
	deadline, hasDeadline := ctx.Deadline()
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded), p.unreadable.Load(), p.unsendable():
	case hasDeadline && !time.Now().Before(deadline): // http.Client may close Request.Cancel before the context ends
		p.turn.Fail(errors.New(policy.Timeout.String()))
	case !canceled(p.caller):
		retrieve.FailTurn(p.turn, err)
	}
}

// unsendable reports whether no server could be the reason why the request failed: its method,
// its header or its trailer cannot be written, at all or over HTTP/2, or its body does not have the
// declared length. Over HTTP/1.1 a request without a body is not sent if it declares any length.
func (p *page) unsendable() bool {
	req, sent := p.caller, p.uploaded.Load()
	return req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method) || // a token, like the name of a field
		req.Header != nil && checkHeader(req.Header) != nil || req.Trailer != nil && checkHeader(req.Trailer) != nil ||
		req.Body == nil && req.ContentLength != 0 || p.misfit.Load() ||
		req.ContentLength > 0 && (sent > req.ContentLength || sent < req.ContentLength && p.uploadEnded.Load())
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

// Usage returns what the site says about the use of a page that the Transport fetched:
// in its robots.txt and in the header of the answer. It is experimental; nothing is
// enforced. See package usage.
//
// The robots.txt is the cached copy that governed the request, if the request was paced
// and the Body of resp is as RoundTrip returned it: http.Client wraps the Body if its
// Timeout is set. Otherwise it is the copy in memory. If that replaced another one, the
// Set lists [usage.RobotsTxt] as skipped, with the time of the change, as long as it is
// among the last 1,800 changes or so. Without a copy, the header alone counts. Usage does
// no I/O and does not read the body.
func (t *Transport) Usage(resp *http.Response) usage.Set {
	said := usage.OfHeader(resp.Header, t.token)
	if resp.Request == nil {
		return said
	}
	target := targetOf(resp.Request)
	key, err := Authority(target)
	if err != nil {
		return said
	}
	var rec *policy.Record
	var changed time.Time
	if p, ok := resp.Body.(*page); ok && p.rec != nil && p.caller == resp.Request {
		rec = p.rec
	} else {
		rec = t.engine.records.Get(key)
		if resp.Body != nil { // no client returns a nil Body: such a resp asks what the site says now
			changed = t.engine.records.LastChange(key)
		}
	}
	said = usage.Combine(usage.OfFile(rec.File(), t.token, target.RequestURI()), said)
	if changed.IsZero() {
		return said
	}
	return said.With(usage.Skip{
		Source: usage.Source{Kind: usage.RobotsTxt},
		Reason: "it changed at " + changed.UTC().Format(time.RFC3339) + "; a page requested before was governed by another copy",
	})
}
