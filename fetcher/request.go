package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file makes the requests for pages, and answers those that are refused.

// RoundTrip makes the request if robots.txt allows it, and otherwise returns a
// *DeniedError without touching the site. It keeps the contract of
// http.RoundTripper: the request is not modified, its body is closed on every
// path, and exactly one of response and error is not nil. Under http.Client
// every redirect of a page comes through here and is checked against the
// robots.txt of its own authority.
//
// A request with a Host of its own asks for a page of that host (RFC 9110,
// section 7.1), wherever its URL leads, and is checked against its robots.txt. A
// request for /robots.txt itself is allowed.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	passed := false // to send, which closes the body or leaves that to the base
	defer func() {
		if !passed { // also if a function of the options has panicked
			closeBody(req)
		}
	}()
	now := time.Now()
	v, err := t.visit(targetOf(req), now)
	if err != nil { // no robots.txt governs the URL
		if passed = t.engine.opts.Audit && t.route.err == nil; passed {
			return t.send(req, req, "")
		}
		return nil, err
	}
	if v.redirected = req.Response != nil; v.redirected && req.Response.Request != nil {
		v.from, _ = t.engine.authority(targetOf(req.Response.Request))
	}
	ctx := req.Context()
	//lint:ignore SA1019 net/http honours it as well
	if gaveUp := req.Cancel; gaveUp != nil {
		var stop context.CancelCauseFunc
		ctx, stop = waitContext(ctx, gaveUp)
		defer stop(nil)
	}
	v.brief = t.engine.fastPath
	var turn pace.Turn
	var d policy.Decision
	if v.brief && v.rec != nil && v.rec.Allows(t.token, v.target, now) {
		d.Verdict = policy.Allow
		turn, err = t.takeTurn(ctx, &v, &d)
	} else {
		turn, d, err = t.admit(ctx, &v)
	}
	if err != nil {
		return nil, err
	}
	if passed = t.mayGoOut(d.Verdict); passed {
		return t.sendPage(req, &v, turn, &d)
	}
	return t.refuse(req, d)
}

// admit decides on a URL, and waits for the turn of its request if that may go out. The turn
// is zero if requests are not paced, and in an audit if it comes too late.
func (t *Transport) admit(ctx context.Context, v *visit) (turn pace.Turn, d policy.Decision, err error) {
	if patience := t.engine.opts.Patience; patience > 0 && !t.engine.opts.Audit {
		v.patientUntil = time.Now().Add(patience)
	}
	if d, err = t.decide(ctx, v); err == nil && t.mayGoOut(d.Verdict) {
		turn, err = t.takeTurn(ctx, v, &d)
	}
	return turn, d, err
}

// mayGoOut reports whether a request with this verdict is made.
func (t *Transport) mayGoOut(v policy.Verdict) bool { return v == policy.Allow || t.engine.opts.Audit }

// targetOf returns the URL that a request is for: its URL, with its Host if that is set.
func targetOf(req *http.Request) *url.URL {
	if req.Host == "" || req.URL == nil || req.Host == req.URL.Host {
		return req.URL
	}
	u := *req.URL
	u.Host = req.Host
	return &u
}

// errCancel is why a wait ended when Request.Cancel was closed.
var errCancel = fmt.Errorf("%w: Request.Cancel is closed", context.Canceled)

// waitContext returns a context that also ends when gaveUp is closed, the deprecated
// Request.Cancel, until stop is called.
func waitContext(ctx context.Context, gaveUp <-chan struct{}) (_ context.Context, stop context.CancelCauseFunc) {
	ctx, stop = context.WithCancelCause(ctx)
	go func() { // ends with the wait, by stop
		select {
		case <-gaveUp:
			stop(errCancel)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// contextError returns why ctx ended: its cause, wrapped together with ctx.Err() if that is
// not in the chain of the cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// A waitError is the error of a wait that its context ended.
type waitError struct {
	thing string // what the request waited for
	err   error  // of contextError
}

func (e *waitError) Error() string { return "fetcher: waiting for " + e.thing + ": " + e.err.Error() }

func (e *waitError) Unwrap() error { return e.err }

// Timeout reports whether a deadline ended the wait. The Timeout of [url.Error] calls it.
func (e *waitError) Timeout() bool { return errors.Is(e.err, context.DeadlineExceeded) }

// errNoAnswer is the failure of a base that breaks the contract of http.RoundTripper.
var errNoAnswer = errors.New("the base returned neither an answer nor an error")

// send makes a page request through the base, signed and with a User-Agent. sent is req or a
// copy of it, and req is what the answer refers to. key is the authority of the page.
func (t *Transport) send(req, sent *http.Request, key string) (*http.Response, error) {
	e := t.engine
	if agent, ok := req.Header["User-Agent"]; !ok {
		if sent == req {
			sent = new(http.Request)
			*sent = *req
		}
		sent.Header = make(http.Header, len(req.Header)+1)
		maps.Copy(sent.Header, req.Header)
		sent.Header["User-Agent"] = e.agentLine
	} else if len(agent) > 0 && agent[0] != e.agent {
		t.checkAgent(agent[0])
	}
	if e.opts.Sign != nil {
		var err error
		if sent, err = e.signed(sent); err != nil {
			closeBody(req)
			return nil, err
		}
	}
	resp, err := t.route.network.Page(sent)
	switch {
	case err != nil:
		closeAnswer(resp)
		return nil, err
	case resp == nil:
		return nil, errNoAnswer
	case resp.Request == sent:
		resp.Request = req
	}
	if key != "" {
		e.records.NoteAnswer(key)
	}
	return resp, nil
}

// signed returns a copy of a request with the header that Options.Sign has given it. It waits no
// longer than the context of the request. The error is a *policy.Failure.
func (e *engine) signed(req *http.Request) (*http.Request, error) {
	toSign := req.Clone(req.Context())
	toSign.Body, toSign.GetBody = nil, nil // if Sign read the body, the server would not get it
	err := callBounded(req.Context(), e.watch.log, func() error { return e.opts.Sign(toSign) })
	if err == nil {
		err = checkHeader(toSign.Header)
	}
	if err != nil {
		return nil, &policy.Failure{Class: policy.Sign, Err: err}
	}
	// Only the header is taken: with another URL the request could go where robots.txt forbids it.
	out := *req
	out.Header = toSign.Header
	return &out, nil
}

// checkHeader returns an error if net/http would refuse to send a header.
func checkHeader(h http.Header) error {
	if h == nil {
		return errors.New("the header is nil")
	}
	for name, lines := range h {
		invalid := func(line string) bool { return !httpguts.ValidHeaderFieldValue(line) }
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(lines, invalid) {
			return fmt.Errorf("the field %.100q cannot be sent", name)
		}
	}
	return nil
}

// closeBody closes the body of a request that is not passed to the base: RoundTrip promises
// that.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// closeAnswer closes the body of an answer that is not used, if there is one.
func closeAnswer(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
}

// ErrDisallowed and ErrDeferred tell apart the two ways a request is refused.
// A *DeniedError matches one of them with errors.Is.
var (
	ErrDisallowed = errors.New("disallowed by robots.txt")
	ErrDeferred   = errors.New("deferred: robots.txt could not be fetched, or the turn comes too late")
)

// DeniedError is the error of a request that was refused. http.Client wraps it
// in a *url.Error; errors.As finds it there. It is a [net.Error].
type DeniedError struct {
	Decision policy.Decision
}

// Error returns the verdict and its reason in short, without the URL, which http.Client writes
// before it. The printed Decision is the long form: with the URL, the file and the clause.
func (e *DeniedError) Error() string {
	d := &e.Decision
	if d.Verdict == policy.Disallow {
		return "disallowed: " + shortReason(d)
	}
	if d.RetryAt.IsZero() {
		return "deferred: " + shortReason(d)
	}
	return "deferred until " + d.RetryAt.UTC().Format(time.RFC3339) + ": " + shortReason(d)
}

// shortReason returns why a request was refused. Text of the server is quoted and bounded.
func shortReason(d *policy.Decision) string {
	const maxReason = 200
	switch {
	case d.Override != "":
		return "by order of the operator: " + clean.Text(d.Override, maxReason)
	case d.Pacing != "":
		return clean.Text(d.Pacing, maxReason)
	case d.Match.Rule.Line != 0:
		return "robots.txt has " + d.Rule()
	case d.Robots == "": // Options.PageEgress refused the address
		return clean.Text(d.Cause, maxReason)
	}
	return fmt.Sprintf("robots.txt is %s (%s)", d.Access, clean.Text(cmp.Or(d.Cause, "not fetched yet"), maxReason))
}

// Is reports whether target is ErrDisallowed or ErrDeferred and names this kind
// of refusal.
func (e *DeniedError) Is(target error) bool {
	if e.Decision.Verdict == policy.Disallow {
		return target == ErrDisallowed
	}
	return target == ErrDeferred
}

// Temporary reports whether the request was deferred, so that a later one may succeed: not
// before Decision.RetryAt. A loop that retries temporary errors stops at a Disallow.
func (e *DeniedError) Temporary() bool { return e.Decision.Verdict != policy.Disallow }

// Timeout is like Temporary: what the request needed, robots.txt or a turn, did not come in
// time. Many loops look at Timeout alone.
func (e *DeniedError) Timeout() bool { return e.Temporary() }

// verdictHeader is the field by which a client knows an answer of Options.AsResponse.
const verdictHeader = "Polite-Verdict"

// refuse reports the decision on a request that does not go out, and answers it: with a
// *DeniedError, or with AsResponse a response with the Decision.
func (t *Transport) refuse(req *http.Request, d policy.Decision) (*http.Response, error) {
	t.engine.watch.decided(req.Context(), &d, nil)
	if !t.engine.opts.AsResponse {
		return nil, &DeniedError{Decision: d}
	}
	text, status := d.String()+"\n", http.StatusForbidden
	h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, verdictHeader: {d.Verdict.String()}}
	if d.Verdict == policy.Defer {
		status = http.StatusServiceUnavailable
	}
	if !d.RetryAt.IsZero() { // the next whole second: before RetryAt the answer would be the same
		wait := max(time.Until(d.RetryAt)+time.Second-1, 0)
		h.Set("Retry-After", strconv.FormatInt(int64(wait/time.Second), 10))
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: req,
	}, nil
}
