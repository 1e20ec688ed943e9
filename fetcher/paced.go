package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/rfc9309/polite/cache"
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
	if _, fleet := e.opts.Store.(cache.Leaser); err == nil && fleet && time.Since(began) >= leaseTTL {
		if rec := e.load(f, old); !rec.Due(time.Now()) && another(old, rec) {
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
	f := rec.File()
	if f == nil {
		return 0
	}
	delay, _ := f.CrawlDelay(t.token)
	return delay
}

// withTurn adds to a decision when the request would have its turn, as far as this
// process knows.
func (t *Transport) withTurn(d policy.Decision, key string, rec *policy.Record) policy.Decision {
	if t.pacer == nil || d.Verdict != policy.Allow {
		return d
	}
	delay := t.crawlDelay(rec)
	at, why := t.pacer.Peek(key, delay)
	if why != pace.ReasonNone {
		d.Turn, d.Pacing = at, "waits for "+string(why)
	}
	if obeyed := t.pacer.Obeyed(delay); obeyed < delay {
		if d.Pacing != "" {
			d.Pacing += ", "
		}
		d.Pacing += fmt.Sprintf("Crawl-delay %v obeyed as %v", delay, obeyed)
	}
	return d
}

// pacedTrip makes a page request when it is its turn. A turn that comes too late
// is refused with Defer and RetryAt, and that decision replaces d. (With Audit the
// worse of the two is reported.) A redirect waits without Limits.MaxWait: if it
// were refused, its client would begin again from the first hop, for ever.
func (t *Transport) pacedTrip(req *http.Request, key string, d *policy.Decision) (*http.Response, error) {
	ctx, stop := waiting(req)
	wait := t.pacer.Wait
	if follows(req) {
		wait = t.pacer.Follow
	}
	rec, _ := t.memory.Get(key)
	turn, err := wait(ctx, key, t.crawlDelay(rec))
	stop()
	var refused *pace.RefusedError
	switch {
	case errors.As(err, &refused) && t.opts.Audit:
		if late := t.tooLate(addressed(req), refused); d == nil || d.Allowed() {
			d = &late
		}
		t.report(req.Context(), *d)
		return t.send(req, pace.Turn{})
	case errors.As(err, &refused):
		closeBody(req)
		late := t.tooLate(addressed(req), refused)
		t.report(req.Context(), late)
		return t.refusal(req, late)
	case err != nil:
		closeBody(req)
		return nil, ended(ctx)
	}
	t.reportGranted(req.Context(), d)
	return t.send(req, turn)
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
