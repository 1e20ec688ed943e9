package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file makes the requests for pages.

// RoundTrip makes the request if robots.txt allows it, and otherwise returns a
// *DeniedError without touching the site. It keeps the contract of
// http.RoundTripper: the request is not modified, its body is closed on every
// path, and exactly one of response and error is not nil. Under http.Client
// every redirect of a page comes through here and is checked against the
// robots.txt of its own authority. A request without a User-Agent carries the
// agent; see the package comment.
//
// A request with a Host of its own asks for a page of that host (RFC 9110,
// section 7.1), wherever its URL leads, and is checked against its robots.txt. A
// request for /robots.txt itself is allowed.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	target := targetOf(req)
	var buf [origin.Size]byte
	key, err := t.engine.appendAuthority(buf[:0], target)
	if err != nil {
		return t.ungoverned(req, err)
	}
	if t.engine.fastPath {
		now := time.Now()
		rec, _ := t.engine.memory.records.GetBytes(key)
		switch {
		case rec.Due(now) || !rec.Allows(t.token, target, now):
		case t.engine.unpaced():
			t.engine.counts.allowed.Add(1)
			return t.send(req, req)
		default:
			return t.requestPage(req, authorityOf(rec), rec, nil)
		}
	}
	r, err := t.decideRequest(req, target, string(key))
	switch {
	case err != nil:
		closeBody(req)
		return nil, err
	case !r.decision.Allowed() && !t.engine.opts.Audit:
		return t.refuse(req, r.decision)
	}
	return t.requestPage(req, string(key), r.rec, r)
}

// ungoverned answers a request for a URL that no robots.txt governs. In audit it
// goes out like any other.
func (t *Transport) ungoverned(req *http.Request, why error) (*http.Response, error) {
	if t.engine.opts.Audit {
		return t.send(req, req)
	}
	closeBody(req)
	return nil, fmt.Errorf("fetcher: %w", why)
}

// decideRequest is decide for a request. If the turn of robots.txt comes too late by
// Limits.MaxWait, a request that follows a redirect waits for it, as long as its context
// lasts.
func (t *Transport) decideRequest(req *http.Request, target *url.URL, key string) (*checkedURL, error) {
	ctx, stop := waitContext(req)
	defer stop()
	for {
		r, err := t.decide(ctx, target, key)
		d := r.decision
		if err != nil || d.Verdict != policy.Defer || d.Pacing == "" || !isRedirected(req) || !sleepUntil(ctx, d.RetryAt) {
			return &r, err
		}
	}
}

// requestPage makes a request that may go out, in its turn if requests are paced. r is nil
// if the record allows the URL and no option needs the whole decision.
func (t *Transport) requestPage(req *http.Request, key string, rec *policy.Record, r *checkedURL) (*http.Response, error) {
	turn, late, err := t.pageTurn(req, key, rec, r)
	switch {
	case err != nil:
		closeBody(req)
		return nil, err
	case late == nil:
	case !t.engine.opts.Audit:
		return t.refuse(req, *late)
	case r == nil || r.decision.Allowed():
		r = &checkedURL{decision: *late}
	}
	if r == nil {
		t.engine.counts.allowed.Add(1)
		return t.sendInTurn(req, rec, turn)
	}
	return t.sendReported(req, rec, r.decision, turn)
}

// sendReported makes a request and reports the decision on it. Under
// Options.PageEgress the decision is known only when the address is.
func (t *Transport) sendReported(req *http.Request, rec *policy.Record, d policy.Decision, turn pace.Turn) (*http.Response, error) {
	if !t.engine.opts.PageEgress {
		t.report(req.Context(), d)
		return t.sendInTurn(req, rec, turn)
	}
	resp, err := t.sendInTurn(req, rec, turn)
	var refused *egress.RefusedError
	if errors.As(err, &refused) {
		return t.refuse(req, t.forbiddenDecision(targetOf(req), refused))
	}
	t.report(req.Context(), d)
	return resp, err
}

// targetOf returns the URL that a request is for: its URL, with its Host if that is set.
func targetOf(req *http.Request) *url.URL {
	if req.Host == "" || req.URL == nil || req.Host == req.URL.Host {
		return req.URL
	}
	u := *req.URL
	u.Host = req.Host
	return &u
}

// isRedirected reports whether the request follows a redirect: then http.Client sets the
// answer that caused it.
func isRedirected(req *http.Request) bool { return req.Response != nil }

// errCancel is why a wait ended when Request.Cancel was closed.
var errCancel = fmt.Errorf("%w: Request.Cancel is closed", context.Canceled)

// waitContext returns the context of a request while it waits. It also ends with the
// deprecated Request.Cancel, which http.Client sets for its Timeout.
func waitContext(req *http.Request) (_ context.Context, stop func()) {
	//lint:ignore SA1019 net/http honours it as well
	gaveUp := req.Cancel
	if gaveUp == nil {
		return req.Context(), func() {}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	go func() { // ends with the wait, by stop
		select {
		case <-gaveUp:
			cancel(errCancel)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// contextError returns why ctx ended: its cause, and ctx.Err() if that is not in the chain
// of the cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// sleepUntil waits until at or until ctx ends. If ctx has a deadline that is not after at,
// it returns false at once.
func sleepUntil(ctx context.Context, at time.Time) bool {
	if deadline, ok := ctx.Deadline(); ok && !at.Before(deadline) {
		return false
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // the next call of decide returns the error
	}
	return true
}

// errNoAnswer is the failure of a base that breaks the contract of
// http.RoundTripper.
var errNoAnswer = errors.New("the base returned neither an answer nor an error")

// send makes a page request through the base, signed and with a User-Agent. sent is req or a
// copy of it, and req is what the answer refers to.
func (t *Transport) send(req, sent *http.Request) (*http.Response, error) {
	if h := t.namedHeader(req); h != nil {
		if sent == req {
			sent = new(http.Request)
			*sent = *req
		}
		sent.Header = h
	}
	signed, err := t.engine.signed(sent)
	if err != nil {
		closeBody(sent)
		return nil, err
	}
	resp, err := t.engine.network.Page(signed)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoAnswer
	case resp.Request == signed:
		resp.Request = req
	}
	t.engine.storage.witnessPage(req)
	return resp, nil
}

// closeBody closes the body of a request that is not passed to the base: RoundTrip promises
// that.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
