package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// turnTime bounds how long a retrieval of robots.txt waits for the host's turn.
// It is longer than any pause after a 429 or 503.
const turnTime = 20 * time.Minute

// newPacer makes the pacer of this process, or its part in that of the fleet if
// the store can keep the lines.
func (e *engine) newPacer(l pace.Limits) (*pace.Pacer, error) {
	o := &pace.Options{
		OnWait: func(authority string, wait time.Duration, why pace.Reason) {
			e.watch.waited(authority, wait, string(why))
		},
		OnDelay: e.watch.delay,
	}
	if s, ok := e.opts.Store.(pace.Store); ok {
		o.Shared, o.OnShared = s, e.watch.fleet
	}
	return pace.New(l, o)
}

// firstTurn waits for the turn to ask for robots.txt. The wait is not part of the
// retrieval's budget: a host that wants a minute between requests is not down.
// Callers leave when they like; see reachable.
//
// After a long wait another process of the fleet may have asked: what that one
// has learnt since old is known, and the turn is not needed.
func (e *engine) firstTurn(f *flight, old *policy.Record) (turn pace.Turn, known *policy.Record, err error) {
	if e.pacer == nil {
		return turn, nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnTime)
	defer cancel()
	began := time.Now()
	turn, err = e.pacer.Wait(ctx, f.key, 0)
	if err == nil && e.storage.fleet != nil && time.Since(began) >= leaseTTL {
		if rec := e.storage.load(f, old); !rec.Due(time.Now()) && another(old, rec) {
			turn.Done()
			return turn, rec, nil
		}
	}
	return turn, nil, err
}

// reachable is ctx's error, or a *pace.RefusedError if the host's turn is known
// to come only after ctx has ended. A retrieval that has its turn can be joined.
func (e *engine) reachable(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	deadline, ok := ctx.Deadline()
	if e.pacer == nil || !ok {
		return nil
	}
	if f, ok := e.aloft.Load(key); ok && f.(*flight).asking.Load() {
		return nil
	}
	if at, why := e.pacer.Peek(key, 0); !at.Before(deadline) {
		return &pace.RefusedError{Authority: key, RetryAt: at, Reason: why}
	}
	return nil
}

// crawlDelay is the Crawl-delay of the group that the crawler obeys.
func (t *Transport) crawlDelay(rec *policy.Record) time.Duration {
	delay, _ := rec.Group(t.token).CrawlDelay()
	return delay
}

// withTurn adds to a decision when the request would have its turn, as far as this
// process knows.
func (t *Transport) withTurn(d policy.Decision, key string, rec *policy.Record) policy.Decision {
	if t.engine.pacer == nil || d.Verdict != policy.Allow {
		return d
	}
	delay := t.crawlDelay(rec)
	at, why := t.engine.pacer.Peek(key, delay)
	if why != pace.ReasonNone {
		d.Turn, d.Pacing = at, "waits for "+string(why)
	}
	if obeyed := t.engine.pacer.Obeyed(delay); obeyed < delay {
		if d.Pacing != "" {
			d.Pacing += ", "
		}
		d.Pacing += fmt.Sprintf("Crawl-delay %v obeyed as %v", delay, obeyed)
	}
	return d
}

// lateness is how much later than RetryAt a caller is expected to come back.
const lateness = time.Minute

// pacedTrip makes a page request when it is its turn. A turn that comes too late
// is refused with Defer and RetryAt. With Audit the worse of that and the decision
// on the URL is reported, and the request goes out.
func (t *Transport) pacedTrip(req *http.Request, key string, rec *policy.Record, r *ruling) (*http.Response, error) {
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
		r = &ruling{decision: t.tooLate(addressed(req), refused)}
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
