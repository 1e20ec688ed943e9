package fetcher

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// Transport decides whether a crawler may fetch a URL, and as an
// http.RoundTripper fetches only what it may. It is safe for concurrent use and
// needs no closing. It has no goroutine between fetches of robots.txt, except to
// write to a Store that was away what the Store has missed.
//
// [Transport.RoundTrip] is what most callers want; [Transport.Check] decides
// without making the request.
type Transport struct {
	engine   *engine
	token    string      // product tokens, separated by a comma and a space
	reported atomic.Bool // a request under another agent has been reported
}

// Token returns the product tokens that groups are looked up by, separated by a
// comma and a space.
func (t *Transport) Token() string { return t.token }

// As returns a Transport for the product token of another crawler, or for
// several as in Options.Token, on the same cache, pace and options. The agent
// stays the same and need not contain the token.
func (t *Transport) As(token string) (*Transport, error) {
	tokens, err := parseTokens(token)
	if err != nil {
		return nil, err
	}
	return t.engine.as(tokens), nil
}

func (e *engine) as(token string) *Transport {
	e.memory.serve(token)
	return &Transport{engine: e, token: token}
}

// Check decides on a URL and fetches its robots.txt first if that is due. It
// waits no longer than ctx. A site that is down has a decision, too: the error is
// not nil only if ctx ended, whose cause it then has in its chain, or if the URL
// is not an http or https URL with a host ([ErrURL]).
func (t *Transport) Check(ctx context.Context, target *url.URL) (policy.Decision, error) {
	key, err := Authority(target)
	if err != nil {
		return policy.Decision{}, err
	}
	r, err := t.decide(ctx, target, key, t.engine.inForce(key))
	if err == nil {
		t.report(ctx, r.decision)
	}
	return r.decision, err
}

// report counts a decision and passes it to the hook.
func (t *Transport) report(ctx context.Context, d policy.Decision) {
	t.engine.counts.decision(d.Verdict)
	t.engine.watch.decided(ctx, d)
}

// A ruling is a decision on a URL and what it rests on.
type ruling struct {
	decision policy.Decision
	rec      *policy.Record // nil if the decision needs none
	fetched  bool           // this very call began the fetch of the record
}

// decide decides on a URL. The record known is in force; if it is nil, the record
// is looked for and fetched if it is due.
func (t *Transport) decide(ctx context.Context, target *url.URL, key string, known *policy.Record) (r ruling, err error) {
	if d, ok := t.withoutRecord(target, key); ok {
		return ruling{decision: d}, nil
	}
	if r.rec = known; known == nil {
		r.rec, r.fetched, err = t.engine.fetch(ctx, key, false)
	}
	r.decision, err = t.decision(target, key, r.rec, err)
	return r, err
}

// withoutRecord is the decision on a URL that no record is needed for.
func (t *Transport) withoutRecord(target *url.URL, key string) (policy.Decision, bool) {
	if d, ok := t.overridden(target); ok {
		return d, true
	}
	if isRobots(target) {
		return t.withTurn(t.ofRobots(target), key, nil), true
	}
	return policy.Decision{}, false
}

// decision is what a record, or the error in its place, means for a URL.
func (t *Transport) decision(target *url.URL, key string, rec *policy.Record, err error) (policy.Decision, error) {
	var late *pace.RefusedError
	var forbidden *egress.RefusedError
	switch {
	case errors.As(err, &late):
		return t.tooLate(target, late), nil
	case errors.As(err, &forbidden):
		return t.forbidden(target, forbidden), nil
	case err != nil:
		return policy.Decision{}, err
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), key, rec), nil
}

// ofRobots is the decision on a robots.txt itself, which needs no record.
func (t *Transport) ofRobots(target *url.URL) policy.Decision {
	d := (*policy.Record)(nil).Decide(t.token, target, time.Now())
	d.Profile = t.engine.opts.Profile.Name
	return d
}

// overridden is the decision of Options.Override on a URL, if there is one.
func (t *Transport) overridden(target *url.URL) (policy.Decision, bool) {
	if t.engine.opts.Override == nil {
		return policy.Decision{}, false
	}
	v, reason, ok := t.engine.opts.Override(target)
	if !ok {
		return policy.Decision{}, false
	}
	if reason == "" {
		reason = "no reason given"
	}
	return policy.Decision{Verdict: v, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name, Override: reason}, true
}

// tooLate is the decision on a URL whose turn comes too late for its caller.
func (t *Transport) tooLate(target *url.URL, refused *pace.RefusedError) policy.Decision {
	return policy.Decision{
		Verdict: policy.Defer, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name,
		RetryAt: refused.RetryAt, Pacing: "no turn in time: " + string(refused.Reason),
	}
}

// forbidden is the decision on a URL whose address Options.PageEgress refuses.
func (t *Transport) forbidden(target *url.URL, refused *egress.RefusedError) policy.Decision {
	return policy.Decision{
		Verdict: policy.Disallow, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name, Cause: refused.Error(),
	}
}

// Peek decides on a URL from memory alone, without any I/O. It reports false if
// the memory has no record of the authority, or one that is due.
func (t *Transport) Peek(target *url.URL) (policy.Decision, bool) {
	key, err := Authority(target)
	if err != nil {
		return policy.Decision{}, false
	}
	if d, ok := t.withoutRecord(target, key); ok {
		return d, true
	}
	rec := t.engine.inForce(key)
	if rec == nil {
		return policy.Decision{}, false
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), key, rec), true
}

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
	target := addressed(req)
	var buf [origin.Size]byte
	key, err := origin.Append(buf[:0], target)
	if err != nil {
		return t.ungoverned(req, err)
	}
	now := time.Now()
	rec, ok := t.engine.memory.records.GetBytes(key)
	if !ok || rec.Due(now) {
		rec = nil
	}
	var r *ruling // nil on the warm path, which allocates nothing
	if rec == nil || !t.engine.quick || !rec.Allows(t.token, target, now) {
		if r, err = t.await(req, target, string(key), rec); err != nil {
			closeBody(req)
			return nil, err
		}
		if !t.engine.opts.Audit && !r.decision.Allowed() {
			return t.refuse(req, r.decision)
		}
		rec = r.rec
	}
	if t.engine.pacer == nil {
		return t.request(req, r, pace.Turn{})
	}
	return t.pacedTrip(req, string(key), rec, r)
}

// ungoverned answers a request for a URL that no robots.txt governs. In audit it
// goes out like any other.
func (t *Transport) ungoverned(req *http.Request, why error) (*http.Response, error) {
	if t.engine.opts.Audit {
		return t.send(req, pace.Turn{})
	}
	closeBody(req)
	return nil, fmt.Errorf("fetcher: %w", why)
}

// await is decide for a request. One that follows a redirect waits out what
// Limits.MaxWait defers, as long as its context lasts.
func (t *Transport) await(req *http.Request, target *url.URL, key string, known *policy.Record) (*ruling, error) {
	ctx, stop := waiting(req)
	defer stop()
	for {
		r, err := t.decide(ctx, target, key, known)
		d := r.decision
		if err != nil || d.Verdict != policy.Defer || d.Pacing == "" || !follows(req) || !sleepUntil(ctx, d.RetryAt) {
			return &r, err
		}
		known = nil
	}
}

// request makes a request that may go out and reports the decision on it. Under
// Options.PageEgress that is known only when the address is.
func (t *Transport) request(req *http.Request, r *ruling, turn pace.Turn) (*http.Response, error) {
	if !t.engine.opts.PageEgress {
		t.reportGranted(req.Context(), r)
		return t.send(req, turn)
	}
	resp, err := t.send(req, turn)
	var refused *egress.RefusedError
	if errors.As(err, &refused) {
		d := t.forbidden(addressed(req), refused)
		t.report(req.Context(), d)
		return t.refusal(req, d)
	}
	t.reportGranted(req.Context(), r)
	return resp, err
}

// refuse reports the decision on a request that does not go out, and answers it.
func (t *Transport) refuse(req *http.Request, d policy.Decision) (*http.Response, error) {
	closeBody(req)
	t.report(req.Context(), d)
	return t.refusal(req, d)
}

// reportGranted reports the decision on a request that goes out; nil is an Allow
// from memory.
func (t *Transport) reportGranted(ctx context.Context, r *ruling) {
	if r == nil {
		t.engine.counts.allowed.Add(1)
		return
	}
	t.report(ctx, r.decision)
}

// addressed is the URL that a request is for.
func addressed(req *http.Request) *url.URL {
	if req.Host == "" || req.URL == nil || req.Host == req.URL.Host {
		return req.URL
	}
	u := *req.URL
	u.Host = req.Host
	return &u
}

// follows reports whether the request follows a redirect: http.Client sets the
// answer that caused it.
func follows(req *http.Request) bool { return req.Response != nil }

// errCancel is why a wait ended when Request.Cancel was closed.
var errCancel = fmt.Errorf("%w: Request.Cancel is closed", context.Canceled)

// waiting is the context of a request while it waits. It also ends with the
// deprecated Request.Cancel, which http.Client sets for its Timeout.
func waiting(req *http.Request) (ctx context.Context, stop func()) {
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

// ended is why ctx ended: its cause, and its error if the cause does not say.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// sleepUntil waits for at and reports whether ctx lasts that long.
func sleepUntil(ctx context.Context, at time.Time) bool {
	if deadline, ok := ctx.Deadline(); ok && !at.Before(deadline) {
		return false
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // the next decision says so
	}
	return true
}

// errNoAnswer is the failure of a base that breaks the contract of
// http.RoundTripper.
var errNoAnswer = errors.New("the base returned neither an answer nor an error")

// send makes the request, in its turn unless that is zero. The turn ends with
// the answer's body, or with the request if there is none to read.
func (t *Transport) send(req *http.Request, turn pace.Turn) (*http.Response, error) {
	held := false
	defer func() {
		if !held {
			turn.Done()
		}
	}()
	sent := req
	header, copied := t.header(req)
	if turn != (pace.Turn{}) {
		sent = timed(req, turn)
	} else if copied {
		sent = new(http.Request)
		*sent = *req
	}
	if copied {
		sent.Header = header
	}
	resp, err := t.engine.network.Page(sent)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoAnswer
	case resp.Request == sent:
		resp.Request = req
	}
	t.engine.storage.witnessPage(req)
	turn.Answer(resp.StatusCode, resp.Header)
	// The body of a 101 is a connection, not an answer.
	if turn == (pace.Turn{}) || resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	held = true
	resp.Body = &pacedBody{resp.Body, turn}
	return resp, nil
}

// closeBody keeps RoundTrip's promise for a request that is not passed on.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// Record returns what is known of the target's authority, for sitemaps and other
// records. It fetches robots.txt first if that is due. Its errors are the errors of
// Check, and a *pace.RefusedError if the turn came too late.
func (t *Transport) Record(ctx context.Context, target *url.URL) (*policy.Record, error) {
	key, err := Authority(target)
	if err != nil {
		return nil, err
	}
	if rec := t.engine.inForce(key); rec != nil {
		return rec, nil
	}
	rec, _, err := t.engine.fetch(ctx, key, false)
	return rec, err
}

// Refresh fetches the target's robots.txt now, due or not, and decides on the
// target by the result. It joins a fetch that is under way.
func (t *Transport) Refresh(ctx context.Context, target *url.URL) (policy.Decision, error) {
	key, err := Authority(target)
	if err != nil {
		return policy.Decision{}, err
	}
	rec, _, err := t.engine.fetch(ctx, key, true)
	if d, ok := t.overridden(target); ok && err == nil {
		return d, nil
	}
	return t.decision(target, key, rec, err)
}

// Invalidate forgets the target's authority, in memory and in the store: its
// rules, and since when it is down. A fetch that is under way starts again. The
// error comes from the store.
func (t *Transport) Invalidate(ctx context.Context, target *url.URL) error {
	key, err := Authority(target)
	if err != nil {
		return err
	}
	if f, ok := t.engine.aloft.Load(key); ok {
		f.(*flight).forgotten.Store(true)
	}
	t.engine.memory.records.Delete(key)
	return t.engine.storage.forget(ctx, key)
}

// prefetches is the number of authorities that Prefetch fetches from at once.
const prefetches = 16

// Prefetch fetches the robots.txt of every target whose record is due, a few
// authorities at a time, each at its own pace. It returns when all are done or
// ctx has ended. The error is ctx's error, or else the first about a target that is
// no http or https URL; the other targets are fetched nevertheless.
func (t *Transport) Prefetch(ctx context.Context, targets iter.Seq[*url.URL]) error {
	var g errgroup.Group
	g.SetLimit(prefetches)
	var bad error
	for target := range targets {
		if ctx.Err() != nil {
			break
		}
		key, err := Authority(target)
		if err != nil {
			if bad == nil {
				bad = err
			}
			continue
		}
		if t.engine.inForce(key) != nil {
			continue
		}
		// Ends with the retrieval, or with ctx.
		g.Go(func() error {
			t.engine.fetch(ctx, key, false) // a failure is in the record, and in ctx
			return nil
		})
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return bad
}

// All yields what the memory holds, by authority, in no order. Records may come
// and go meanwhile; the loop may call the Transport.
func (t *Transport) All() iter.Seq2[string, *policy.Record] { return t.engine.memory.records.All() }

// CloseIdleConnections passes the call on to the base.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.engine.opts.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	t.engine.network.CloseIdle()
}
