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
	scopes   []*host  // buffer of hostsOf
	free     *flight  // list of flights that have ended, for the next turns
	todo     []*host  // hosts that pumpAll has yet to look at
	reported reported // authorities whose Crawl-delay has been reported
	stats    Stats
	fleet    *fleet // what is known of Options.Shared
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
		p.pumpAll() // other limits may be in force
		p.mu.Unlock()
		return Turn{}, err
	}
	most := h.limits.MaxWait
	for _, s := range others {
		most = min(most, s.limits.MaxWait)
	}
	if follow {
		most = maxSpan
	}
	obeyed := h.limits.Obeyed(delay)
	report := obeyed < delay && !h.limits.Off && p.reported.add(authority)
	if report {
		p.stats.Delays++
	}
	t, w, err := p.enter(ctx, h, others, obeyed, most, now)
	p.mu.Unlock()

	if report && p.opts.OnDelay != nil {
		p.opts.OnDelay(authority, delay, obeyed)
	}
	if w == nil {
		return t, err
	}
	return p.await(ctx, w, most)
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
func (p *Pacer) enter(ctx context.Context, h *host, scopes []*host, delay, most time.Duration, now instant) (Turn, *waiter, error) {
	// The first in a line may be due already, with its timer about to run.
	p.touch(h)
	for _, s := range scopes {
		p.touch(s)
	}
	p.pumpAll()
	p.arrivals++
	at, why, scope := h.obstacle(scopes, delay, now)
	if why == ReasonNone && (p.opts.Shared == nil || h.limits.Off && len(scopes) == 0) {
		return p.startTurn(h, scopes, delay, p.arrivals, now), nil, nil
	}
	deadline := now + most
	if d, ok := ctx.Deadline(); ok {
		// A turn exactly at the deadline is of no use.
		deadline = min(deadline, now+min(time.Until(d), maxSpan)-1)
	}
	if at > deadline {
		return Turn{}, nil, p.refuse(h, scope, at, why, now)
	}
	w := &waiter{
		host: h, number: p.arrivals, scopes: slices.Clone(scopes),
		delay: delay, came: now, deadline: deadline, why: why, ready: make(chan struct{}),
	}
	p.joinLine(w)
	p.pump(h)
	return Turn{}, w, nil
}

// startTurn gives out a turn of h. All turns begin here.
func (p *Pacer) startTurn(h *host, scopes []*host, delay time.Duration, number uint64, now instant) Turn {
	f := p.free
	if f == nil {
		f = &flight{pacer: p}
	}
	p.free = f.free
	traced := p.opts.Shared != nil || delay > 0 || h.silent || h.spaced()
	seats := append(f.seats[:0], h.takeSeat(number, now))
	for _, s := range scopes {
		traced = traced || s.spaced()
		seats = append(seats, s.takeSeat(number, now))
	}
	f.flightState = flightState{number: number, host: h, seats: seats, started: now}
	h.delay = delay
	h.unanswered++
	if h.breaker != nil && h.breaker.open {
		h.breaker.probe = f
	}
	p.stats.Turns++
	p.stats.InFlight++
	if h.ticket != nil {
		p.giveTicket(f)
	}
	return Turn{f, number, h.limits, traced}
}

// refuse counts a refusal at h and returns its error. scope is as in refusedError.
func (p *Pacer) refuse(h, scope *host, at instant, why Reason, now instant) error {
	p.stats.Refused++
	if at <= now { // no moment is known
		at = now + time.Second
		switch {
		case why == ReasonBreaker && h.breaker != nil && h.breaker.probe != nil:
			at = now + max(time.Second, now-h.breaker.probe.started) // as long again
		case why != ReasonShared && why != ReasonBreaker && why != ReasonScope:
			why = ReasonParallel
		}
	}
	return h.refusedError(scope, at, why, now)
}

// refusedError returns the error of a request at h that waits until at. If why is ReasonScope, scope
// is the scope in the way, nil for the one that the first in line waits for.
func (h *host) refusedError(scope *host, at instant, why Reason, now instant) *RefusedError {
	e := &RefusedError{Authority: h.authority, RetryAt: time.Now().Add(at - now).Round(0), Reason: why}
	switch {
	case why == ReasonScope && scope != nil:
		e.Scope = scope.authority
	case why == ReasonScope:
		e.Scope = h.obstacleKey()
	case why == ReasonBreaker && h.breaker.troubled():
		e.Trouble = h.trouble(now)
	}
	return e
}

// pump gives turns to all waiters that are due, in order, and sets the timer for
// the next. It must be called after every change that could make a waiter due.
// Invariant: the first in line has a timer or a question to the store under way, or waits for
// a request in flight, or waits in the line of a scope, or waits for an older request that
// stands there.
func (p *Pacer) pump(h *host) {
	p.touch(h)
	p.pumpAll()
}

// touch makes the next pumpAll look at h, unless there is nothing to look at.
func (p *Pacer) touch(h *host) {
	if !h.pumping && (h.line.Len() > 0 || h.guests.Len() > 0 || h.ticket != nil || h.timer != nil) {
		h.pumping = true
		p.todo = append(p.todo, h)
	}
}

// pumpAll is pump for all hosts that touch was called for. A request that starts or leaves a
// line may make room at other hosts, which touch then adds.
func (p *Pacer) pumpAll() {
	for i := 0; i < len(p.todo); i++ { // pumpOne may append
		h := p.todo[i]
		h.pumping = false
		p.pumpOne(h)
	}
	p.todo = p.todo[:0]
}

// pumpOne is pump for h alone.
func (p *Pacer) pumpOne(h *host) {
	p.discardUseless(h)
	var now instant
	if h.oldest() != nil {
		now = p.now()
	}
	if w := h.first(); w != nil && w.storeDecides() && w != h.oldest() {
		p.tryStart(w, now) // the guests before it do not keep it from asking again
	}
	for w := h.oldest(); w != nil; w = h.oldest() {
		// Go on after a start, and after a guest that now waits elsewhere.
		if in := p.tryStart(w, now); in == h || in != nil && w.host == h {
			return
		}
	}
	if h.timer != nil { // nobody waits
		h.timer.Stop()
	}
}

// tryStart starts w, which is first in a line, if all that it needs have room, and the fleet
// admits it. Otherwise tryStart returns where w waits now, with a timer if only time is in
// the way.
func (p *Pacer) tryStart(w *waiter, now instant) (in *host) {
	p.discardUseless(w.host)
	in, at, why := w.blocker(now)
	switch {
	case in != nil:
		w.why = why
		if at > now {
			p.setTimer(in, at-now)
		}
	case p.opts.Shared != nil && (!w.host.limits.Off || len(w.scopes) > 0):
		if !p.admit(w.host, now) {
			in = cmp.Or(w.host.ticket.inTheWay, w.host)
		}
	}
	if in != nil {
		w.waitIn(in, now)
		return in
	}
	// First start, then leave: the next in line takes its gap from this start.
	w.turn = p.startTurn(w.host, w.scopes, w.delay, w.number, now)
	p.leaveLine(w)
	return nil
}

// setTimer makes pump run for h after d. A timer that fires late or for nothing is
// harmless, since pump looks at the clock itself.
func (p *Pacer) setTimer(h *host, d time.Duration) {
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

// reschedule is pump for a change that moves the next start. It also refuses at once all in
// line whose turn can no longer come in time, with the reason that the first waits for.
func (p *Pacer) reschedule(h *host) {
	var at instant
	var why Reason
	slow := h.adaptive()
	for w := h.first(); w != nil; {
		next := waiterAt(w.inLine.Next())
		mine := at + times(max(w.gap, slow), h.share())
		if w == h.first() {
			mine, why = h.next(never) // a moment that is over, too
		}
		if mine <= w.deadline || mine <= p.now() {
			at = mine
		} else {
			w.why, w.err = why, p.refuse(h, nil, mine, why, p.now())
			p.leaveLine(w)
		}
		w = next
	}
	p.pump(h)
}

// joinLine puts w at the end of the line of its authority.
func (p *Pacer) joinLine(w *waiter) {
	w.inLine = w.host.line.PushBack(w)
	w.host.updateGap(w)
	for _, s := range w.scopes {
		s.pending++
	}
	p.stats.Waiting++
}

// leaveLine takes w out of all lines and wakes it.
func (p *Pacer) leaveLine(w *waiter) {
	w.leaveClass()
	h, next := w.host, waiterAt(w.inLine.Next())
	h.line.Remove(w.inLine)
	h.gaps -= w.gap
	if next != nil {
		h.updateGap(next)
	}
	p.touch(h)
	for _, s := range w.scopes {
		s.pending--
		p.touch(s)
	}
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
	p.settleWait(w, left)
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

// settleWait decides how w's wait ended. A caller that left at the moment of its turn
// gives the turn back. A caller whose time ran out at that moment keeps it.
func (p *Pacer) settleWait(w *waiter, left error) {
	h, scope := w.host, w.guestOf()
	if left == nil { // its turn may be due at this moment
		p.touch(h)
		if scope != nil {
			p.touch(scope)
		}
		p.pumpAll()
	}
	given := w.turn.flight != nil
	switch {
	case w.err != nil || given && left == nil:
	case left == nil:
		p.leaveLine(w)
		p.pump(h)
		now := p.now()
		at, _ := h.arrival(w.delay, now)
		w.err = p.refuse(h, scope, at, w.why, now)
	default:
		p.stats.Cancelled++
		w.err = left
		if given {
			p.undoTurn(w.turn.flight)
			w.turn = Turn{}
			return
		}
		p.leaveLine(w)
		p.pump(h)
	}
}

// undoTurn takes back a turn whose request was never sent, and the gap behind it
// unless another request has started since. The gap of the first in line may still count
// the Crawl-delay of f. That makes nobody later, since f has waited that long itself.
func (p *Pacer) undoTurn(f *flight) {
	for _, s := range f.seats {
		if s.host.lastNumber == f.number {
			s.host.last, s.host.delay = s.last, s.delay
		}
	}
	p.stats.Turns--
	if t := p.endTurn(f); t != nil {
		go p.releaseTicket(t) // ends with its call
	}
}

// endTurn ends the turn of a flight. It returns the flight's ticket for release unless the
// ticket passes to the next in line.
func (p *Pacer) endTurn(f *flight) *ticket {
	h, t := f.host, f.ticket
	for _, s := range f.seats {
		s.host.flying--
		p.touch(s.host)
	}
	if !f.answered {
		h.unanswered--
	}
	if b := h.breaker; b != nil && b.probe == f {
		b.probe = nil
	}
	p.stats.InFlight--
	if t != nil && p.mayPassOn(t) {
		if h.ticket != nil {
			p.discardTicket(h.ticket)
		}
		h.ticket, t = t, nil
	}
	f.number, f.free, p.free = 0, p.free, f
	p.pumpAll()
	return t
}

// Obstacle returns what a new request with this Crawl-delay would have to wait for, after all
// that already wait: the error with which one without time to wait would be refused. It is
// nil if the request could start now. Obstacle takes no turn. If requests in flight are in
// the way, RetryAt is the earliest possible moment. Scopes with an error are not looked at.
func (p *Pacer) Obstacle(authority string, delay time.Duration, scopes ...Scope) *RefusedError {
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
	at, why, scope := h.obstacle(p.scopes, h.limits.Obeyed(delay), now)
	if why == ReasonNone {
		return nil
	}
	return h.refusedError(scope, at, why, now)
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
