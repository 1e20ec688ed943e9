package pace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Pacer hands out turns, in order of arrival at each authority. Most callers
// need Wait alone. A Pacer is safe for use by any number of goroutines.
type Pacer struct {
	limits Limits // filled
	opts   Options
	base   time.Time // zero of the instants below

	mu       sync.Mutex // held for a few steps at a time, never while waiting or in a hook
	hosts    memory
	arrivals uint64 // number of requests that have asked for a turn
	classes  map[className]*class
	scopes   []*host // buffer of hostsOf
	stats    Stats
	fleet    fleet // what is known of Options.Shared
}

// An instant is a moment of monotonic time, counted from Pacer.base.
type instant = time.Duration

func (p *Pacer) now() instant { return time.Since(p.base) }

// A RefusedError says that a turn cannot come in time: not before the deadline
// of the caller's context, or not within Limits.MaxWait. Nothing was consumed.
type RefusedError struct {
	Authority string
	// Scope is the Key of the Scope that is in the way, with ReasonScope.
	Scope string
	// RetryAt is the earliest moment at which a new request can succeed, as
	// far as is known. If only requests in flight are in the way, nobody knows,
	// and RetryAt is one second after the refusal.
	RetryAt time.Time
	Reason  Reason // what is in the way
	// Trouble says with ReasonBreaker what failed, how often, and when the next
	// request tries, in words fit for a log.
	Trouble string
	// Since is with ReasonBreaker when the first of the failures in a row was, as far as this
	// process knows.
	Since time.Time
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("pace: no turn at %.200q in time (%s): retry at %s",
		e.Authority, e.Why(), e.RetryAt.UTC().Format(time.RFC3339))
}

// Why returns Reason, and the Scope or the Trouble behind it if there is any.
func (e *RefusedError) Why() string {
	switch {
	case e.Scope != "":
		return fmt.Sprintf("%s %.200q", e.Reason, e.Scope)
	case e.Trouble != "":
		return string(e.Reason) + ": " + e.Trouble
	}
	return string(e.Reason)
}

// Wait blocks until it is the caller's turn to start a request at authority,
// and returns that turn; the request should start at once. delay is the
// Crawl-delay of the group obeyed, zero for none; Limits.Delay says how much of it
// is obeyed. The request keeps the limits of the scopes as well.
//
// The error is a *RefusedError, at once if the turn is known to come too late
// and otherwise as soon as that is known; or ctx.Err() if ctx ended first. In
// both cases the turn goes to the next in line as if the caller had never come. Any
// other error names what is wrong with a Scope.
func (p *Pacer) Wait(ctx context.Context, authority string, delay time.Duration, scopes ...Scope) (Turn, error) {
	return p.wait(ctx, authority, delay, scopes, false)
}

// Follow is Wait without Limits.MaxWait, for a request that continues one that
// was let in: the redirect of a page. It waits as long as ctx permits.
func (p *Pacer) Follow(ctx context.Context, authority string, delay time.Duration, scopes ...Scope) (Turn, error) {
	return p.wait(ctx, authority, delay, scopes, true)
}

// wait is Follow if follow is true, and Wait otherwise.
func (p *Pacer) wait(ctx context.Context, authority string, delay time.Duration, scopes []Scope, follow bool) (Turn, error) {
	if err := ctx.Err(); err != nil || p.limits.Off && len(scopes) == 0 {
		return Turn{}, err
	}
	p.mu.Lock()
	now := p.now()
	h, others, err := p.hostsOf(authority, scopes, now)
	if err != nil {
		p.mu.Unlock()
		return Turn{}, err
	}
	obeyed := h.limits.Obeyed(delay)
	if obeyed < delay && !h.limits.Off && !h.reported {
		p.reportDelay(h, delay, obeyed)
		now = p.now()
		h, others, _ = p.hostsOf(authority, scopes, now) // the host may have been forgotten
		h.reported = true
	}
	maxWait := h.limits.MaxWait
	for _, s := range others {
		maxWait = min(maxWait, s.limits.MaxWait)
	}
	if follow {
		maxWait = maxSpan
	}
	t, w, err := p.enter(ctx, h, others, obeyed, maxWait, now)
	p.mu.Unlock()
	if w != nil {
		return p.await(ctx, w)
	}
	return t, err
}

// reportDelay calls Options.OnDelay without the lock, which its caller holds.
func (p *Pacer) reportDelay(h *host, asked, obeyed time.Duration) {
	h.reported = true // one call at a time
	p.stats.Delays++
	p.mu.Unlock()
	if p.opts.OnDelay != nil {
		p.opts.OnDelay(h.authority, asked, obeyed)
	}
	p.mu.Lock() // if the hook panics, its caller must not unlock
}

// Obeyed returns how much of a Crawl-delay is obeyed under l.Delay: all of it, at most
// l.DelayCap, or zero.
func (l *Limits) Obeyed(delay time.Duration) time.Duration {
	switch {
	case l.Off || l.Delay == Ignore:
		return 0
	case l.Delay == Cap:
		delay = min(delay, cmp.Or(l.DelayCap, time.Minute))
	}
	return min(max(delay, 0), maxSpan)
}

// enter gives the turn at once if it is free, refuses it if it cannot come in
// time, and puts the caller in line otherwise: one of its results is not zero.
func (p *Pacer) enter(ctx context.Context, h *host, scopes []*host, delay, maxWait time.Duration, now instant) (Turn, *waiter, error) {
	p.arrivals++
	o := h.obstacleToNewcomer(scopes, delay, now)
	if o.in == nil {
		k := missingLease(h, scopes, now)
		if k == nil {
			return p.startTurn(h, scopes, delay, p.arrivals, now), nil, nil
		}
		o = obstacle{k, ReasonFleet, now}
	}
	deadline := now + maxWait
	if d, ok := ctx.Deadline(); ok {
		// A turn exactly at the deadline is of no use.
		deadline = min(deadline, now+min(time.Until(d), maxSpan)-1)
	}
	if o.at > deadline {
		return Turn{}, nil, p.refuse(h, o, now)
	}
	w := &waiter{
		host: h, number: p.arrivals, scopes: slices.Clone(scopes), delay: delay,
		came: now, deadline: deadline, giveUp: now + maxWait, waitsFor: o, wake: make(chan struct{}, 1), timer: time.NewTimer(maxWait),
	}
	p.joinLine(w)
	if p.findRoom(w) {
		w.signal()
	}
	return Turn{}, w, nil
}

// A caller in line starts its own turn: no goroutine starts a turn for another, and no turn is taken
// back. The goroutine of a caller takes a step when it is woken, when its timer fires, and when its
// context ends. In a step it starts, leaves or is refused. Otherwise it waits in the line of the host
// or scope without room, with its timer set if only time is in the way. A change that makes room at a
// host, or makes another waiter the first in line, wakes the first in line and the first guest there.
// A caller that is due stays in line until its step, so that no other overtakes it.

// await blocks until w has a turn, is refused, or its caller leaves.
func (p *Pacer) await(ctx context.Context, w *waiter) (Turn, error) {
	defer w.timer.Stop()
	for {
		select {
		case <-w.wake:
		case <-w.timer.C:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if p.step(w, ctx.Err()) {
			break
		}
		p.mu.Unlock()
	}
	waited := p.now() - w.came
	p.stats.Waits++
	p.stats.Waited += waited
	p.mu.Unlock()
	if p.opts.OnWait != nil {
		p.opts.OnWait(w.host.authority, waited, w.waitsFor.why)
	}
	return w.turn, w.err
}

// step gives w its turn if that is due, and takes w out of line if its caller has left or its
// time is up. done reports whether its wait is over.
func (p *Pacer) step(w *waiter, left error) (done bool) {
	now := p.now()
	switch {
	case w.err != nil: // refused by reschedule
	case left != nil:
		p.stats.Cancelled++
		w.err = left
		p.leaveLine(w)
	case p.findRoom(w):
		// First start, then leave: the next in line takes its gap from this start.
		w.turn = p.startTurn(w.host, w.scopes, w.delay, w.number, p.now())
		p.leaveLine(w)
	case now >= w.giveUp, w == w.host.line.first() && w.waitsFor.at > w.deadline:
		w.waitsFor = w.host.obstacleToFirst(now)
		p.leaveLine(w)
		w.waitsFor.at = w.host.obstacleToNewcomer(w.scopes, w.delay, now).at
		w.err = p.refuse(w.host, w.waitsFor, now)
	default:
		return false
	}
	return true
}

// findRoom reports whether w is the first in line, its authority and scopes have room, and this process
// has their leases. If w is the first and may not start, it joins the line of the first of them without
// room or lease, and the lease is asked for. w may be nil.
func (p *Pacer) findRoom(w *waiter) bool {
	if w == nil || w != w.host.line.first() {
		return false
	}
	now := p.now()
	o, k := w.obstacle(now), w.missingLease(now)
	if o.in == nil {
		return true
	}
	w.waitsFor = o
	w.waitIn(o.in, now)
	// A process that waits at a host stays in the store's queue for it, even if only time is in the
	// way, and so learns of each pause. A scope is asked for only when all have room.
	if k != nil && (k == w.host || o.why == ReasonFleet) {
		p.want(k, w, now)
	}
	again := w.giveUp
	if o.at > now && w == o.in.oldest() { // all others are woken
		again = min(again, o.at)
	}
	w.timer.Reset(again - now)
	return false
}

// wake makes the first in h's line and the first of its guests take a step. It must be called
// after every change that could make one of them due, or make another waiter the first.
func (h *host) wake() {
	if w := h.line.first(); w != nil {
		w.signal()
	}
	if w := h.guests.first(); w != nil {
		w.signal()
	}
}

// refuse counts a refusal at h and returns its error.
func (p *Pacer) refuse(h *host, o obstacle, now instant) error {
	p.stats.Refused++
	if o.at <= now { // no moment is known
		o.at = now + time.Second
		if probe := h.breaker.probing(); o.why == ReasonBreaker && probe > never {
			o.at = now + max(time.Second, now-probe) // as long again
		}
	}
	if o.why == ReasonFleet && o.in != nil && o.in.lease != nil {
		o.in.lease.stayUntil = o.at + idleTime // so that the caller finds its place when it comes back
	}
	return h.refusedError(o, now)
}

// refusedError returns the error of a request at h that has to wait.
func (h *host) refusedError(o obstacle, now instant) *RefusedError {
	e := &RefusedError{Authority: h.authority, RetryAt: time.Now().Add(o.at - now).Round(0), Reason: o.why}
	switch {
	case o.why == ReasonScope:
		e.Scope = o.in.authority
	case o.why == ReasonBreaker && h.breaker.troubled():
		e.Trouble, e.Since = h.trouble(now), time.Now().Add(h.breaker.since-now).Round(0)
	}
	return e
}

// reschedule is wake for a change that moves the next start. It also refuses at once all in
// line whose turn can no longer come in time, with the reason that the first waits for.
func (p *Pacer) reschedule(h *host) {
	h.wake()
	if h.line.len() == 0 {
		return // without a look at the clock
	}
	now := p.now()
	var before obstacle // of the waiter before
	for w := h.line.first(); w != nil; {
		o, next := before, waiterAt(w.inLine.Next())
		if w == h.line.first() {
			o = h.obstacleToFirst(now)
		} else {
			o.at += times(w.gap, h.share())
		}
		if o.at <= max(w.deadline, now) {
			before = o
		} else {
			w.waitsFor, w.err = o, p.refuse(h, o, now)
			p.leaveLine(w)
			w.signal()
		}
		w = next
	}
}

// joinLine puts w at the end of the line of its authority.
func (p *Pacer) joinLine(w *waiter) {
	w.host.line.join(w)
	for _, s := range w.scopes {
		s.guests.pending++
	}
	p.stats.Waiting++
}

// leaveLine takes w out of all lines.
func (p *Pacer) leaveLine(w *waiter) {
	w.leaveClass()
	w.host.line.leave(w)
	for _, s := range w.scopes {
		s.guests.pending--
		p.noteEnd(s)
	}
	p.stats.Waiting--
	w.host.wake()
	p.noteEnd(w.host)
}

// Obstacle returns what a new request with this Crawl-delay would have to wait for, after all
// that already wait: the refusal of a request without time to wait. It returns false if the
// request could start now. Obstacle takes no turn. If requests in flight are in the way,
// RetryAt is the earliest possible moment. Scopes with an error are skipped.
func (p *Pacer) Obstacle(authority string, delay time.Duration, scopes ...Scope) (o RefusedError, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, known := p.hosts.byName[authority]
	if !known {
		h = p.newHost(authority)
	}
	p.scopes = p.scopes[:0]
	for i := range scopes {
		if s := p.hosts.byName[scopes[i].Key]; s != nil && s != h {
			p.scopes = append(p.scopes, s)
		}
	}
	now := p.now()
	next := h.obstacleToNewcomer(p.scopes, h.limits.Obeyed(delay), now)
	if next.in == nil {
		return RefusedError{}, false
	}
	return *h.refusedError(next, now), true
}

// Stats counts what a Pacer did since New.
type Stats struct {
	Off         bool          `json:"off"`         // Limits.Off: no pacing at all
	Authorities int           `json:"authorities"` // remembered now, and scopes
	Waiting     int           `json:"waiting"`     // callers in line now
	InFlight    int           `json:"in_flight"`   // turns not yet ended
	Turns       uint64        `json:"turns"`       // handed out
	Waits       uint64        `json:"waits"`       // callers that had to wait, however the wait ended
	Waited      time.Duration `json:"waited_ns"`   // by all of them together
	Refused     uint64        `json:"refused"`     // callers refused
	Cancelled   uint64        `json:"cancelled"`   // callers that left the line
	Pauses      uint64        `json:"pauses"`      // answers that began a pause, or lengthened one
	Rests       uint64        `json:"rests"`       // rests of hosts that failed too often
	Forgotten   uint64        `json:"forgotten"`   // authorities dropped before their limits had lapsed
	Delays      uint64        `json:"delays"`      // reports of a Crawl-delay that is not obeyed in full
	Unshared    uint64        `json:"unshared"`    // turns handed out while Options.Shared did not answer
	Members     int           `json:"members"`     // processes of the fleet at the last count; 0: not known
}

// Stats returns a consistent snapshot.
func (p *Pacer) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Off = p.limits.Off
	s.Authorities = len(p.hosts.byName)
	s.Forgotten = p.hosts.forgotten
	s.Members = p.fleet.members
	return s
}
