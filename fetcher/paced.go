package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file asks package pace for the turns of requests.

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
// caller need not wait as long; see turnInTime.
func (e *engine) firstTurn(key string) (turn pace.Turn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), turnTime)
	defer cancel()
	return e.pacer.Wait(ctx, key, 0, e.robotsScopes(key)...)
}

// scopes returns the further scopes of a request for a URL.
func (e *engine) scopes(target *url.URL) []pace.Scope {
	if e.opts.Scopes == nil {
		return nil
	}
	return e.opts.Scopes(target)
}

// robotsScopes returns the further scopes of a request for the robots.txt of an authority.
func (e *engine) robotsScopes(key string) []pace.Scope {
	return e.scopes(robotsURL(key))
}

// turnInTime checks that waiting for a flight makes sense. It returns the error of ctx if
// that has ended, and a *pace.RefusedError if the flight cannot have its turn before ctx
// ends. A flight that has its turn already can be joined in any case.
func (e *engine) turnInTime(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	if f, ok := e.inFlight.Load(key); ok && f.(*flight).hasTurn.Load() {
		return nil
	}
	if late := e.pacer.Obstacle(key, 0, e.robotsScopes(key)...); late != nil && !late.RetryAt.Before(deadline) {
		return late
	}
	return nil
}

// returnDelay is how long after RetryAt a caller is expected to come back.
const returnDelay = time.Minute

// pageTurn waits for the turn of a page. If the turn comes too late, late is the decision.
// An error says why the wait was cut short.
func (t *Transport) pageTurn(req *http.Request, key string, rec *policy.Record, r *checkedURL) (turn pace.Turn, late *policy.Decision, err error) {
	ctx, stop := waitContext(req)
	defer stop()
	if turn, err = t.waitForTurn(ctx, req, key, rec, r != nil && r.beganFlight); err == nil {
		return turn, nil, nil
	}
	var refused *pace.RefusedError
	switch {
	case errors.As(err, &refused):
		d := t.lateDecision(targetOf(req), refused)
		return turn, &d, nil
	case ctx.Err() == nil: // Options.Scopes
		return turn, nil, fmt.Errorf("fetcher: %w", err)
	}
	return turn, nil, contextError(ctx)
}

// unpaced reports whether no request waits for a turn.
func (e *engine) unpaced() bool { return e.opts.Pace.Off && e.opts.Scopes == nil }

// waitForTurn waits for a turn. Limits.MaxWait does not apply to a redirect: its client
// would begin again from the first hop, for ever. Nor does it apply to the request
// that fetched robots.txt if the file expires before the turn: the request would
// come back, find the file due and fetch it again, for ever.
func (t *Transport) waitForTurn(ctx context.Context, req *http.Request, key string, rec *policy.Record, fetched bool) (pace.Turn, error) {
	delay, scopes := t.crawlDelay(rec), t.engine.scopes(targetOf(req))
	if isRedirected(req) {
		return t.engine.pacer.Follow(ctx, key, delay, scopes...)
	}
	turn, err := t.engine.pacer.Wait(ctx, key, delay, scopes...)
	if err == nil || !fetched {
		return turn, err
	}
	var refused *pace.RefusedError
	if errors.As(err, &refused) && rec.Due(refused.RetryAt.Add(returnDelay)) {
		return t.engine.pacer.Follow(ctx, key, delay, scopes...)
	}
	return turn, err
}

// sendInTurn is send with a turn that was given, unless that is zero. The turn ends
// with the answer's body, or with the request if there is no body to read. The next
// gap counts from when the request is written, however long the connection took. Where no
// gap is kept, the request goes out as it is: a copy with a trace costs more than the turn.
func (t *Transport) sendInTurn(req *http.Request, rec *policy.Record, turn pace.Turn) (*http.Response, error) {
	if turn == (pace.Turn{}) {
		return t.send(req, req)
	}
	reading := false
	defer func() {
		if !reading {
			turn.Done()
		}
	}()
	p := pacedPage{turn: turn, caller: req, rec: rec}
	if _, ok := req.Context().Deadline(); ok {
		p.began = time.Now()
	}
	sent := req
	if turn.Traced() || req.Body != nil && req.Body != http.NoBody {
		sent = p.traced()
	}
	resp, err := t.send(req, sent)
	if err != nil {
		p.fail(err)
		return nil, err
	}
	turn.Answer(resp.StatusCode, resp.Header)
	// The body of a 101 is a connection, not an answer.
	if resp.Body != nil && resp.Body != http.NoBody && resp.StatusCode != http.StatusSwitchingProtocols {
		reading = true
		resp.Body = &pacedBody{ReadCloser: resp.Body, page: p}
	}
	return resp, nil
}

// crawlDelay returns the Crawl-delay of the group that the crawler obeys.
func (t *Transport) crawlDelay(rec *policy.Record) time.Duration {
	delay, _ := rec.File().Group(t.token).CrawlDelay()
	return delay
}

// withTurn adds to a decision when the request would have its turn, as far as this
// process knows.
func (t *Transport) withTurn(d policy.Decision, target *url.URL, key string, rec *policy.Record) policy.Decision {
	if t.engine.unpaced() || d.Verdict != policy.Allow {
		return d
	}
	delay, scopes := t.crawlDelay(rec), t.engine.scopes(target)
	if o := t.engine.pacer.Obstacle(key, delay, scopes...); o != nil {
		d.Turn, d.Pacing = o.RetryAt, "waits for "+o.Why()
	}
	limits := t.engine.opts.Pace
	for i := range scopes {
		if scopes[i].Key == key {
			limits = &scopes[i].Limits
		}
	}
	if obeyed := limits.Obeyed(delay); obeyed < delay && !limits.Off {
		if d.Pacing != "" {
			d.Pacing += ", "
		}
		d.Pacing += fmt.Sprintf("Crawl-delay %v obeyed as %v", delay, obeyed)
	}
	return d
}
