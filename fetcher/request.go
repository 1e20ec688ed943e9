package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

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
	var r *checked // nil on the warm path, which allocates nothing
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
func (t *Transport) await(req *http.Request, target *url.URL, key string, known *policy.Record) (*checked, error) {
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
func (t *Transport) request(req *http.Request, r *checked, turn pace.Turn) (*http.Response, error) {
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
func (t *Transport) reportGranted(ctx context.Context, r *checked) {
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
	sent := t.outgoing(req, turn)
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

// outgoing returns the request that the base gets: req itself, or a copy if it lacks
// a User-Agent or has a turn.
func (t *Transport) outgoing(req *http.Request, turn pace.Turn) *http.Request {
	header, copied := t.header(req)
	sent := req
	switch {
	case turn != (pace.Turn{}):
		sent = timed(req, turn)
	case copied:
		sent = new(http.Request)
		*sent = *req
	default:
		return req
	}
	sent.Header = header
	return sent
}

// closeBody keeps RoundTrip's promise for a request that is not passed on.
func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// lateness is how much later than RetryAt a caller is expected to come back.
const lateness = time.Minute

// pacedTrip makes a page request when it is its turn. A turn that comes too late
// is refused with Defer and RetryAt. With Audit the worse of that and the decision
// on the URL is reported, and the request goes out.
func (t *Transport) pacedTrip(req *http.Request, key string, rec *policy.Record, r *checked) (*http.Response, error) {
	ctx, stop := waiting(req)
	turn, err := t.pageTurn(ctx, key, rec, follows(req), r != nil && r.fetched)
	stop()
	var refused *pace.RefusedError
	switch {
	case err == nil:
		return t.request(req, r, turn)
	case !errors.As(err, &refused):
		closeBody(req)
		return nil, ended(ctx)
	case !t.engine.opts.Audit:
		return t.refuse(req, t.tooLate(addressed(req), refused))
	case r == nil || r.decision.Allowed():
		r = &checked{decision: t.tooLate(addressed(req), refused)}
	}
	return t.request(req, r, pace.Turn{})
}

// pageTurn waits for the turn of a page. Limits.MaxWait does not apply to a
// redirect: its client would begin again from the first hop, for ever. Nor does it
// apply to the request that fetched robots.txt if the file expires before the turn:
// the request would come back, find the file due and fetch it again, for ever.
func (t *Transport) pageTurn(ctx context.Context, key string, rec *policy.Record, redirected, fetched bool) (pace.Turn, error) {
	delay := t.crawlDelay(rec)
	if redirected {
		return t.engine.pacer.Follow(ctx, key, delay)
	}
	turn, err := t.engine.pacer.Wait(ctx, key, delay)
	var refused *pace.RefusedError
	if fetched && errors.As(err, &refused) && rec.Due(refused.RetryAt.Add(lateness)) {
		return t.engine.pacer.Follow(ctx, key, delay)
	}
	return turn, err
}

// timed returns a copy of the request that reports to its turn when it is
// written: the next gap counts from then, however long the connection took.
func timed(req *http.Request, turn pace.Turn) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { turn.Sent() },
	}))
}

// pacedBody ends the turn when the body has been read to its end or is closed.
type pacedBody struct {
	io.ReadCloser
	turn pace.Turn
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.turn.Done()
	}
	return n, err
}

func (b *pacedBody) Close() error {
	defer b.turn.Done()
	return b.ReadCloser.Close()
}
