package fetcher

import (
	"context"
	"fmt"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// turnTime bounds how long a fetch of robots.txt waits for the host's turn.
// It is longer than any pause after a 429 or 503.
const turnTime = 20 * time.Minute

// newPacer returns the pacer of this process. It shares its limits with the fleet if
// the store is a pace.Store.
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

// firstTurn waits for the host's turn to request robots.txt. The wait is not part of
// Options.Timeout: a host that wants a minute between requests is not down. A
// caller need not wait as long; see reachable.
func (e *engine) firstTurn(key string) (turn pace.Turn, err error) {
	if e.pacer == nil {
		return turn, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnTime)
	defer cancel()
	return e.pacer.Wait(ctx, key, 0)
}

// reachable returns ctx's error if it has ended, and a *pace.RefusedError if the
// host's turn is known to come only after it ends. A flight that had its turn can
// be joined in any case.
func (e *engine) reachable(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	deadline, ok := ctx.Deadline()
	if e.pacer == nil || !ok {
		return nil
	}
	if f, ok := e.inFlight.Load(key); ok && f.(*flight).underWay.Load() {
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
