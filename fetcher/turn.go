package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file takes turns from package pace, for RoundTrip and for callers that make their own requests.

// scopes are the scopes of one URL, which one call of Options.Scopes finds.
type scopes struct {
	found bool
	list  []pace.Scope
}

// of returns the scopes of u. find is Options.Scopes, which may be nil.
func (s *scopes) of(u *url.URL, find func(*url.URL) []pace.Scope) []pace.Scope {
	if !s.found && find != nil {
		s.list = find(u)
	}
	s.found = true
	return s.list
}

// newPacer returns the pacer of this process. It shares the hosts with the fleet if the store
// has a method that returns the pace.Store for that.
func (e *engine) newPacer() (*pace.Pacer, error) {
	o := &pace.Options{OnWait: e.watch.waited, OnDelay: e.watch.delay}
	if s, ok := e.opts.Store.(interface{ Pace() pace.Store }); ok {
		o.Shared, o.OnShared = s.Pace(), e.watch.fleet
	}
	return pace.New(e.opts.Pace, o)
}

// firstTurn waits for the host's turn to request robots.txt, as long as Limits.MaxWait
// permits. The wait is not part of Options.Timeout: a host that wants a minute between
// requests is not down. A caller may give up earlier; see turnInTime.
func (e *engine) firstTurn(f *flight) (turn pace.Turn, err error) {
	f.hasTurn.Store(false)
	turn, err = e.pacer.Wait(context.Background(), f.key, 0, f.scopes.of(&f.url, e.opts.Scopes)...)
	f.hasTurn.Store(err == nil)
	return turn, err
}

// redirectTurn waits for the turn of a redirect of robots.txt, or of a further try, as long as
// ctx permits. The host of u is in canonical form.
func (e *engine) redirectTurn(ctx context.Context, u *url.URL) (pace.Turn, error) {
	return e.pacer.Follow(ctx, u.Scheme+"://"+u.Host, 0, new(scopes).of(u, e.opts.Scopes)...)
}

// turnInTime checks that waiting for the flight of an authority makes sense, which is mine unless
// there is one. It returns a *waitError if ctx has ended, and a *pace.RefusedError if the flight
// cannot have its turn before ctx ends. A flight that has its turn already can be joined in any
// case.
func (e *engine) turnInTime(ctx context.Context, mine *flight) error {
	key := mine.key
	if ctx.Err() != nil {
		return &waitError{"robots.txt of " + key, contextError(ctx)}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	if f := e.flightOf(key); f != nil && f.hasTurn.Load() {
		return nil
	}
	late, waits := e.pacer.Obstacle(key, 0, mine.scopes.of(&mine.url, e.opts.Scopes)...)
	if !waits || late.RetryAt.Before(deadline) {
		return nil
	}
	refused := late // on the heap only here
	return &refused
}

// returnDelay is how long after RetryAt a caller is expected to come back.
const returnDelay = time.Minute

// takeTurn waits for the turn of a page whose decision is d. If the turn comes too late, d is
// the decision that says so, except in an audit of a URL that was refused before. The error
// says why the wait was cut short.
//
// The package comment says when Limits.MaxWait does not apply, and why.
func (t *Transport) takeTurn(ctx context.Context, v *visit, d *policy.Decision) (turn pace.Turn, err error) {
	if !t.engine.needsTurn(v) {
		return turn, nil
	}
	delay, scopes := t.crawlDelay(v), v.scopes.of(v.target, t.engine.opts.Scopes)
	for follow := v.redirected; ; follow = true {
		if follow {
			turn, err = t.engine.pacer.Follow(ctx, v.key, delay, scopes...)
		} else {
			turn, err = t.engine.pacer.Wait(ctx, v.key, delay, scopes...)
		}
		if err == nil {
			return turn, nil
		}
		var refused *pace.RefusedError
		if follow || !v.beganFlight || !errors.As(err, &refused) || !v.rec.Due(refused.RetryAt.Add(returnDelay)) {
			break
		}
	}
	late, err := t.decisionFor(ctx, v.target, fmt.Errorf("fetcher: %w", err))
	left := err != nil && ctx.Err() != nil
	if left {
		late, err = t.leave(ctx, v, delay)
	} else if err == nil {
		err = t.chainTooLong(ctx, v, delay, &late)
	}
	if d.Allowed() {
		*d = late
	}
	if left || late.Verdict == policy.Defer && err != nil { // nobody else reports the decision of a call that returns an error
		t.engine.watch.decided(ctx, d, nil)
	}
	return turn, err
}

// chainTooLong returns an error if a redirect within an authority was deferred by late because the
// time from one request to the next there is longer than the caller's deadline. The caller
// would begin again with the request that was redirected, and would never get further.
func (t *Transport) chainTooLong(ctx context.Context, v *visit, delay time.Duration, late *policy.Decision) error {
	deadline, ok := ctx.Deadline()
	if !ok || v.from != v.key || t.engine.opts.Audit || late.RetryAt.Before(deadline) {
		return nil
	}
	limits := t.engine.limitsOf(v)
	if max(limits.Gap, limits.Obeyed(delay)) < time.Until(deadline) {
		return nil
	}
	return &waitError{"the turn of a redirect at " + v.key, fmt.Errorf("%s: %w", late.Pacing, context.DeadlineExceeded)}
}

// limitsOf returns the limits of the authority of v: a scope may replace them.
func (e *engine) limitsOf(v *visit) *pace.Limits {
	scopes := v.scopes.of(v.target, e.opts.Scopes)
	for i := range scopes {
		if scopes[i].Key == v.key {
			return &scopes[i].Limits
		}
	}
	return e.opts.Pace
}

// leave returns the decision and the error for a caller whose context has ended in its wait for a
// turn. They name what a request would still wait for, if anything.
func (t *Transport) leave(ctx context.Context, v *visit, delay time.Duration) (policy.Decision, error) {
	d := t.houseDecision(policy.Defer, v.target)
	d.RetryAt, d.Pacing = time.Now().Round(0), "no turn in time"
	left := &waitError{"a turn at " + v.key, contextError(ctx)}
	if o, waits := t.engine.pacer.Obstacle(v.key, delay, v.scopes.of(v.target, t.engine.opts.Scopes)...); waits {
		d.RetryAt, d.DownSince, d.Pacing = o.RetryAt, o.Since, "no turn in time because of "+obstacleInWords(&o)
		left.thing += " (because of " + obstacleInWords(&o) + ")"
	}
	return d, left
}

// needsTurn reports whether the request of a visit waits for a turn.
func (e *engine) needsTurn(v *visit) bool {
	return !e.opts.Pace.Off || e.opts.Scopes != nil && len(v.scopes.of(v.target, e.opts.Scopes)) > 0
}

// crawlDelay returns the Crawl-delay of the group that the crawler obeys, 0 if there is none. A
// request for robots.txt itself has none, whoever makes it.
func (t *Transport) crawlDelay(v *visit) time.Duration {
	delay, _ := v.rec.File().Group(t.token).CrawlDelay()
	if delay > 0 && isRobotsTxt(v.target) {
		return 0
	}
	return delay
}

// withTurn adds to a decision when the request would have its turn, as far as this
// process knows.
func (t *Transport) withTurn(d policy.Decision, v *visit) policy.Decision {
	if d.Verdict != policy.Allow {
		return d
	}
	if !t.engine.needsTurn(v) {
		return d
	}
	delay := d.CrawlDelay
	if o, waits := t.engine.pacer.Obstacle(v.key, delay, v.scopes.of(v.target, t.engine.opts.Scopes)...); waits {
		d.Turn, d.Pacing = o.RetryAt, "waits for "+obstacleInWords(&o)
	}
	limits := t.engine.limitsOf(v)
	if obeyed := limits.Obeyed(delay); obeyed < delay && !limits.Off {
		if d.Pacing != "" {
			d.Pacing += ", "
		}
		d.Pacing += fmt.Sprintf("Crawl-delay %v obeyed as %v", delay, obeyed)
	}
	return d
}

// An Admission is the right to one request that the caller makes by other means: a
// browser, a download tool, an HTTP stack of its own. Report the head of the answer
// with Answer and end the admission with Done or Fail, once the answer is read or has
// failed, or with Redirect. Its methods may be called from any goroutine. Once it has ended, and
// on a nil Admission, Answer, Fail and Done do nothing.
type Admission struct {
	transport *Transport
	authority string
	turn      pace.Turn
	timeout   *time.Timer // ends the turn if the caller does not
}

// Admit decides on a URL as RoundTrip does and waits for its turn, and leaves the
// request to the caller: the rules, the limits and the fleet are the same. The errors
// are the errors of [Transport.Check]. The Admission is nil if there is an error, and if
// the decision does not allow the URL. Under Options.Audit only an error makes it nil.
//
// The gap to the next request counts from the return of Admit. The turn is held until the
// Admission ends, or for Options.Timeout at most. The caller sends the agent as User-Agent,
// calls Admit for each resource of a page before it requests it, as each may be at another
// authority, and calls [Admission.Redirect] for each redirect. So its client must not follow
// redirects by itself: the CheckRedirect of an http.Client returns http.ErrUseLastResponse.
// Options.PageEgress covers robots.txt alone here, since the caller makes the connection.
func (t *Transport) Admit(ctx context.Context, target *url.URL) (*Admission, policy.Decision, error) {
	v, err := t.visit(target, time.Now())
	if err != nil {
		return nil, policy.Decision{}, err
	}
	return t.admission(ctx, &v)
}

// admission is Admit for a visit.
func (t *Transport) admission(ctx context.Context, v *visit) (*Admission, policy.Decision, error) {
	if ctx.Err() != nil { // RoundTrip leaves that to the base
		return nil, policy.Decision{}, contextError(ctx)
	}
	turn, d, err := t.admit(ctx, v)
	if err != nil {
		return nil, d, err
	}
	var a *Admission
	if t.mayGoOut(d.Verdict) {
		a = &Admission{transport: t, authority: v.key, turn: turn, timeout: time.AfterFunc(t.engine.opts.Timeout, turn.Done)}
	}
	t.engine.watch.decided(ctx, &d, nil)
	turn.Sent() // nobody else can say when
	return a, d, nil
}

// Redirect ends the admission and is Admit for the absolute URL that the answer redirects to.
// Like a redirect that http.Client follows, it waits for its turn as long as ctx permits, and
// Limits.MaxWait does not apply: Admit might be refused, and the caller would begin again with the
// URL that redirects. Report the answer with Answer before. On a nil Admission, Redirect returns
// an error.
//
// If the URL is at the same authority, and the time from one request to the next there is longer
// than ctx permits, the result is no Defer but an error: no later call could do better.
func (a *Admission) Redirect(ctx context.Context, to *url.URL) (*Admission, policy.Decision, error) {
	if a == nil {
		return nil, policy.Decision{}, errors.New("fetcher: Redirect of a nil Admission; want one of Admit")
	}
	a.Done() // the next turn may need the place of this one
	v, err := a.transport.visit(to, time.Now())
	if err != nil {
		return nil, policy.Decision{}, err
	}
	v.redirected, v.from = true, a.authority
	return a.transport.admission(ctx, &v)
}

// Answer reports the head of the answer as soon as it has arrived. The names of the fields
// may be in any letter case. Only the first Answer counts.
func (a *Admission) Answer(status int, h http.Header) {
	if a != nil {
		a.turn.Answer(status, field.Canonical(h))
	}
}

// Fail ends the admission and reports, as [pace.Turn.Fail] does, that the request got no answer, or
// no complete one, for a reason that lies with the host or with the way to it. A
// [policy.Failure] of class Sign, Egress or Other is no failure of the host. If the caller itself
// gave up, call Done alone. A nil error is Done.
func (a *Admission) Fail(err error) {
	if a != nil && err != nil {
		retrieve.FailTurn(a.turn, err)
	}
	a.Done()
}

// Done ends the admission: the request is no longer in flight.
func (a *Admission) Done() {
	if a != nil {
		a.timeout.Stop()
		a.turn.Done()
	}
}
