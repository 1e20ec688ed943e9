package pace

import (
	"context"
	"fmt"
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
	reported reported // authorities whose Crawl-delay has been reported
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
	// RetryAt is the earliest moment at which asking again can succeed, as
	// far as is known. Where only requests in flight are in the way nobody
	// knows, and it is one second from the refusal.
	RetryAt time.Time
	Reason  Reason // what stands in the way
	// Trouble says with ReasonBreaker what failed, how often, and when the next
	// request tries, as [Pacer.Trouble] does.
	Trouble string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("pace: no turn at %.200q in time (%s): retry at %s",
		e.Authority, e.Why(), e.RetryAt.UTC().Format(time.RFC3339))
}

// Why returns Reason, and Trouble behind it if there is any.
func (e *RefusedError) Why() string {
	if e.Trouble == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Trouble
}

// Wait blocks until it is the caller's turn to start a request at authority,
// and returns that turn; the request should start at once. delay is the
// Crawl-delay of the group obeyed, zero for none; Limits.Delay says how much of it
// is obeyed.
//
// The error is a *RefusedError, at once if the turn is known to come too late
// and otherwise as soon as that is known; or ctx.Err() if ctx ended first. In
// both cases the turn goes to the next in line as if the caller had never come.
func (p *Pacer) Wait(ctx context.Context, authority string, delay time.Duration) (Turn, error) {
	return p.wait(ctx, authority, delay, p.limits.MaxWait)
}

// Follow is Wait without Limits.MaxWait, for a request that continues one that
// was let in: the redirect of a page. It waits as long as ctx permits.
func (p *Pacer) Follow(ctx context.Context, authority string, delay time.Duration) (Turn, error) {
	return p.wait(ctx, authority, delay, ages)
}

// wait is Wait with most instead of Limits.MaxWait.
func (p *Pacer) wait(ctx context.Context, authority string, delay, most time.Duration) (Turn, error) {
	if err := ctx.Err(); err != nil || p.limits.Off {
		return Turn{}, err
	}
	obeyed := p.Obeyed(delay)
	p.mu.Lock()
	now := p.now()
	h := p.hostOf(authority, now)
	report := obeyed < delay && p.reported.add(authority)
	if report {
		p.stats.Delays++
	}
	t, w, err := p.enter(ctx, h, obeyed, most, now)
	p.mu.Unlock()

	if report && p.opts.OnDelay != nil {
		p.opts.OnDelay(authority, delay, obeyed)
	}
	if w == nil {
		return t, err
	}
	return p.await(ctx, w, most)
}

// Obeyed returns how much of a Crawl-delay is obeyed under Limits.Delay: all of it,
// at most Limits.DelayCap, or zero.
func (p *Pacer) Obeyed(delay time.Duration) time.Duration {
	switch {
	case p.limits.Off || p.limits.Delay == Ignore:
		return 0
	case p.limits.Delay == Cap:
		delay = min(delay, p.limits.DelayCap)
	}
	return min(max(delay, 0), ages)
}

// enter gives the turn at once if it is free, refuses it if it cannot come in
// time, and puts the caller in line otherwise: one of its results is not zero.
func (p *Pacer) enter(ctx context.Context, h *host, delay, most time.Duration, now instant) (Turn, *waiter, error) {
	if h.line.Len() > 0 {
		// The first may be due already, with its timer about to run.
		p.pump(h)
	}
	at, why := h.arrival(delay, now)
	if why == ReasonNone && p.opts.Shared == nil {
		return p.start(h, delay, now), nil, nil
	}
	limit := now + most
	if deadline, ok := ctx.Deadline(); ok {
		// A turn exactly at the deadline is of no use.
		limit = min(limit, now+min(time.Until(deadline), ages)-1)
	}
	if at > limit {
		return Turn{}, nil, p.refusal(h, at, why, now)
	}
	w := &waiter{host: h, delay: delay, came: now, limit: limit, why: why, ready: make(chan struct{})}
	h.enqueue(w)
	p.stats.Waiting++
	p.pump(h)
	return Turn{}, w, nil
}

// start gives out a turn of h. All turns begin here.
func (p *Pacer) start(h *host, delay time.Duration, now instant) Turn {
	h.turns++
	f := &flight{host: h, nth: h.turns, started: now, before: h.last, beforeDelay: h.delay}
	h.last, h.delay = now, delay
	h.flying++
	h.unanswered++
	if h.breaker != nil && h.breaker.open {
		h.breaker.probe = f
	}
	p.stats.Turns++
	p.stats.InFlight++
	if h.ticket != nil {
		p.board(f)
	}
	return Turn{f}
}

// refusal counts a refusal and returns its error.
func (p *Pacer) refusal(h *host, at instant, why Reason, now instant) error {
	p.stats.Refused++
	b, trouble := h.breaker, ""
	if at <= now {
		at = now + time.Second
		switch {
		case why == ReasonBreaker && b.probe != nil:
			at = now + max(time.Second, now-b.probe.started) // as long again
		case why != ReasonShared && why != ReasonBreaker:
			why = ReasonParallel
		}
	}
	if why == ReasonBreaker && b.failures > 0 {
		trouble = h.trouble(now)
	}
	return &RefusedError{Authority: h.authority, RetryAt: time.Now().Add(at - now).Round(0), Reason: why, Trouble: trouble}
}

// pump gives turns to all waiters that are due, in order, and sets the timer for
// the next. It must be called after every change that could make a waiter due.
// Invariant: the first in line has a timer, or a question to the store under way,
// or waits for a request in flight.
func (p *Pacer) pump(h *host) {
	p.discardUseless(h)
	var now instant
	if h.line.Len() > 0 {
		now = p.now()
	}
	for w := h.first(); w != nil; w = h.first() {
		if why := h.full(); why != ReasonNone {
			w.why = why
			return
		}
		at, why := h.dueAfter(w.gap)
		if at > now {
			w.why = why
			p.arm(h, at-now)
			return
		}
		if p.opts.Shared != nil && !p.admit(h, now) {
			return
		}
		// First start, then leave: the next in line takes its gap from this start.
		w.turn = p.start(h, w.delay, now)
		p.leave(w)
	}
	if h.timer != nil {
		h.timer.Stop()
	}
}

// arm makes pump run for h after d. A timer that fires late or for nothing is
// harmless, since pump looks at the clock itself.
func (p *Pacer) arm(h *host, d time.Duration) {
	if h.timer != nil {
		h.timer.Reset(d)
		return
	}
	h.timer = time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pump(h)
	})
}

// postpone is pump after the next start has moved. It refuses at once all in line whose
// turn can no longer come in time, for the reason that the first waits for.
func (p *Pacer) postpone(h *host) {
	if h.line.Len() == 0 {
		return
	}
	now, at := p.now(), instant(0)
	var why Reason
	slow := h.adaptive()
	for w := h.first(); w != nil; {
		next := waiterAt(w.place.Next())
		mine := at + spread(max(w.gap, slow), h.share())
		if w == h.first() {
			mine, why = h.due()
		}
		if mine <= max(w.limit, now) {
			at = mine
		} else {
			w.why, w.err = why, p.refusal(h, mine, why, now)
			p.leave(w)
		}
		w = next
	}
	p.pump(h)
}

// leave takes w out of line and wakes it.
func (p *Pacer) leave(w *waiter) {
	w.host.remove(w)
	p.stats.Waiting--
	close(w.ready)
}

// await blocks until w has a turn, is refused, or its caller leaves.
func (p *Pacer) await(ctx context.Context, w *waiter, most time.Duration) (Turn, error) {
	// The wait was estimated when the caller arrived, but requests in flight may
	// take longer.
	late := time.NewTimer(most)
	defer late.Stop()
	var left error
	select {
	case <-w.ready:
	case <-late.C:
	case <-ctx.Done():
		left = ctx.Err()
	}

	p.mu.Lock()
	now := p.now()
	p.settle(w, left)
	if w.why != ReasonNone {
		p.stats.Waits++
		p.stats.Waited += now - w.came
	}
	p.mu.Unlock()

	if w.why != ReasonNone && p.opts.OnWait != nil {
		p.opts.OnWait(w.host.authority, now-w.came, w.why)
	}
	return w.turn, w.err
}

// settle decides how w's wait ended. A caller that left at the moment of its turn
// gives the turn back. A caller whose time ran out at that moment keeps it.
func (p *Pacer) settle(w *waiter, left error) {
	h := w.host
	if left == nil {
		p.pump(h) // its turn may be due at this moment
	}
	given := w.turn.flight != nil
	switch {
	case w.err != nil || given && left == nil:
	case left == nil:
		p.leave(w)
		p.pump(h)
		now := p.now()
		at, _ := h.arrival(w.delay, now)
		w.err = p.refusal(h, at, w.why, now)
	default:
		p.stats.Cancelled++
		w.err = left
		if given {
			p.undo(w.turn.flight)
			w.turn = Turn{}
			return
		}
		p.leave(w)
		p.pump(h)
	}
}

// undo takes back a turn whose request was never sent, and the gap behind it
// unless another request has started since. (The first in line took its gap from
// f. It is due no later for that, since f itself had waited as long.)
func (p *Pacer) undo(f *flight) {
	h := f.host
	if h.turns == f.nth {
		h.last, h.delay = f.before, f.beforeDelay
	}
	p.stats.Turns--
	if t := p.end(f); t != nil {
		go p.release(t) // ends with its call
	}
}

// end ends the turn of a flight. It returns the flight's ticket for release unless the
// ticket passes to the next in line.
func (p *Pacer) end(f *flight) *ticket {
	h, t := f.host, f.ticket
	f.ended = true
	h.flying--
	if !f.answered {
		h.unanswered--
	}
	if b := h.breaker; b != nil && b.probe == f {
		b.probe = nil
	}
	p.stats.InFlight--
	if p.opts.Shared != nil {
		h.took = p.now() - f.started
	}
	if t != nil && p.mayPassOn(t) {
		if h.ticket != nil {
			p.discard(h.ticket)
		}
		h.ticket, t = t, nil
	}
	p.pump(h)
	return t
}

// Peek reports when a new request with this Crawl-delay could start at authority,
// after all that already wait, and what it would wait for. It takes no turn. If
// requests in flight are in the way, the moment is the earliest possible.
func (p *Pacer) Peek(authority string, delay time.Duration) (time.Time, Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	h := p.hosts.byName[authority]
	if h == nil {
		return time.Now(), ReasonNone
	}
	at, why := h.arrival(p.Obeyed(delay), now)
	return time.Now().Add(at - now).Round(0), why
}

// Stats counts what a Pacer did since New.
type Stats struct {
	Off         bool          `json:"off"`         // Limits.Off: no pacing at all
	Authorities int           `json:"authorities"` // remembered now
	Waiting     int           `json:"waiting"`     // callers in line now
	InFlight    int           `json:"in_flight"`   // turns not yet ended
	Turns       uint64        `json:"turns"`       // handed out
	Waits       uint64        `json:"waits"`       // callers that had to wait, however it ended
	Waited      time.Duration `json:"waited_ns"`   // by all of them together
	Refused     uint64        `json:"refused"`     // callers refused
	Cancelled   uint64        `json:"cancelled"`   // callers that left the line
	Pauses      uint64        `json:"pauses"`      // answers 429 and 503
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
