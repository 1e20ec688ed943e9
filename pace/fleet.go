package pace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
)

// This file shares the limits with the other processes of a fleet, through a Store. See the
// comment of Store for what a ticket is there.

const (
	callTime  = time.Second          // a call of the store takes no longer
	maxAskGap = 5 * time.Second      // a ticket in the queue asks at least this often
	minAskGap = 2 * time.Millisecond // and it asks at most this often
	placeLife = 5 * time.Second      // a place stays taken for this long after its process has died

	ticketLife    = 7 * time.Second        // no ticket lives longer without a call of the store
	giveBackEvery = 500 * time.Millisecond // a process tries this often to give a ticket back

	countEvery = time.Second      // a busy process registers this often
	countLife  = 30 * time.Second // a process that makes no requests stays registered for this long

	// lateness is how late a start that the store granted may still be used. The
	// store waits twice as long for the report that the request was sent.
	lateness = 500 * time.Millisecond
)

// A ticket is what the first waiter of a line needs in a fleet: a place in the
// store's queue, and then a place among the requests in flight. Its states:
//
//	asking   a question to the store is under way (cancel is set)
//	queued   no start is granted; the next question is due at next
//	granted  the request may start at start, unless that is long ago
//	flying   a flight has the ticket, which is renewed until the flight ends
//	passed   the flight has ended, and the ticket is for the next in line
//	ended    the ticket is released: the store forgets it
//
// A flying ticket may ask for its next start. Then it is also asking, queued or granted, and
// stays so when it is passed. admit takes a ticket from state to state until its request
// starts. Pacer.mu guards the fields.
type ticket struct {
	host   *host
	scopes []*host // of the request
	name   string
	stop   func() // ends Store.Watch; nil until that has returned

	cancel   context.CancelFunc // ends the question under way; nil if there is none
	heard    bool               // the store has sent a message since the question
	granted  bool               // the store has granted start
	unshared bool               // this process has granted start by itself, since the store did not answer
	known    bool               // the store has answered, and decides about all scopes
	inTheWay *host              // the scope in the way, by the last answer; nil if none is
	start    instant            // no start before this
	next     instant            // nothing to do before this

	gap   time.Duration // gap asked for
	after time.Duration // by the store's clock: the next start asked for is not before this; 0 if none is
	began instant       // when this process got the place
	sent  instant       // when the latest request was sent; never if none was
	renew *time.Timer   // calls holdTicket three times in a life; nil until a flight has the ticket
	ended bool

	released chan struct{} // closed after the call that ends the ticket; nil until it is discarded
}

// admit returns what w, the first in its line, waits for in the fleet: nothing if it may start
// now. Otherwise admit asks the store, unless a question is under way or not yet due.
func (p *Pacer) admit(w *waiter, now instant) obstacle {
	h, t := w.host, w.host.ticket
	if t == nil {
		p.fleet.tickets++
		h.ticket = &ticket{host: h, scopes: w.scopes, name: p.fleet.name + "." + strconv.FormatUint(p.fleet.tickets, 36), sent: never}
		p.ask(h.ticket, true)
		return obstacle{h, w.waitsFor.why, now}
	}
	o := obstacle{cmp.Or(t.inTheWay, h), w.waitsFor.why, now}
	switch {
	case t.renew != nil && t.after == 0: // passed, with no start to ask for
		return obstacle{}
	case t.cancel != nil:
	case now < t.next:
		if t.start-now > p.fleet.usual { // a shorter time is the usual time of a call, and no wait
			o.why = t.obstacle().why
		}
		o.at = t.next
	case (t.granted || t.unshared) && now-t.start <= lateness:
		return obstacle{}
	default:
		p.ask(t, false)
	}
	return o
}

// obstacle returns what a ticket without a start waits for.
func (t *ticket) obstacle() obstacle {
	if t.inTheWay != nil {
		return obstacle{t.inTheWay, ReasonScope, t.start}
	}
	return obstacle{t.host, ReasonShared, t.start}
}

// keys returns the Keys of the scopes of a ticket.
func (t *ticket) keys() (keys []string) {
	for _, s := range t.scopes {
		keys = append(keys, s.authority)
	}
	return keys
}

// ask asks the store for a start. If first is true, it asks for the messages for t before that.
func (p *Pacer) ask(t *ticket, first bool) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel, t.heard, t.granted, t.unshared = cancel, false, false, false
	t.gap = max(t.host.ownGap, t.host.first().delay, t.host.adaptive())
	r := Reservation{
		Ticket: t.name, Gap: t.gap, Keep: t.host.limits.keep(), Life: placeLife,
		Ahead: min(2*p.fleet.usual, callTime), Parallel: t.host.limits.Parallel, After: t.after,
	}
	for _, s := range t.scopes {
		if !t.known {
			s.asking++
		}
		r.Waited = p.now() - t.host.first().came
		r.Scopes = append(r.Scopes, ScopeReservation{s.authority, max(s.ownGap, s.adaptive()), s.limits.keep(), s.limits.Parallel})
	}
	go func() { // ends with the call
		defer cancel()
		asked := p.now()
		if first {
			p.watch(t, asked)
		}
		g, ok := callStore(ctx, t.host, t.scopes, &p.fleet.reserves, func(ctx context.Context) (Grant, error) {
			return p.opts.Shared.Reserve(ctx, t.host.authority, r)
		})
		p.mu.Lock()
		defer p.mu.Unlock()
		p.finishAsk(t, g, ok, asked)
	}()
}

// finishAsk updates a ticket when its question has ended. If ok is false the store did not
// answer. Then this process grants the first start of the ticket by itself, and a ticket in
// flight gets no further start.
func (p *Pacer) finishAsk(t *ticket, g Grant, ok bool, asked instant) {
	t.cancel = nil
	now, first := p.now(), !t.known
	switch {
	case t.ended:
	case ok:
		p.fleet.measureCall(asked, now, g.Clock)
		p.register(now)
		t.known, t.inTheWay = true, nil
		if i := slices.IndexFunc(t.scopes, func(s *host) bool { return s.authority == g.Scope }); i >= 0 && !g.Granted {
			t.inTheWay = t.scopes[i]
		}
		p.applyGrant(t, g, true)
		if !t.granted {
			t.next = max(t.next, now+minAskGap)
		}
	case t.granted: // by a message
	case t.renew != nil:
		t.after = 0
	default:
		t.unshared, t.known, t.inTheWay, t.start, t.next = true, false, nil, now, now
	}
	p.reschedule(t.host)
	p.findRoom(t.host.first()) // it is in line at a scope in the way before others have room there
	for _, s := range t.scopes {
		if first {
			s.asking--
			s.wake()
		}
	}
}

// applyGrant updates a ticket by an answer of the store, or by a message if answer is false. A
// message may overtake an answer that was written before it, so the earlier moment counts.
func (p *Pacer) applyGrant(t *ticket, g Grant, answer bool) {
	if t.granted || g.Granted && g.Start < t.after {
		return // the ticket has a start already, or used this one
	}
	now := p.now()
	if g.Granted {
		g.Probe = 0 // the probe is this very request, and not in its way
	}
	if g.Scope == "" || answer {
		t.host.adoptCondition(g.Condition)
	}
	start := min(g.Start-p.fleet.clock.ahead(), now+maxSpan)
	if t.heard && !g.Granted {
		start = min(start, t.start)
	}
	t.heard, t.unshared, t.start = true, false, start
	t.granted, t.next = g.Granted && now-start <= lateness && start-now <= maxAskGap, start
	if !t.granted {
		t.next = min(start, now+maxAskGap)
	}
}

// watch makes the store send the messages for a ticket to applyGrant, until the ticket has
// ended. A store that panics or blocks sends none, nor does a store whose stop blocks, since that
// watch would not end. Then the ticket asks, which only takes longer.
func (p *Pacer) watch(t *ticket, asked instant) {
	if p.fleet.stops.Enter(time.Now()) != nil {
		return
	}
	wake := func(g Grant) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !t.ended {
			p.fleet.clock.narrow(asked, p.now(), g.Clock)
			p.applyGrant(t, g, false)
			p.reschedule(t.host)
		}
	}
	callInTime(context.Background(), &p.fleet.watches, func(context.Context) (none struct{}, err error) {
		stop := p.opts.Shared.Watch(t.name, wake)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case stop == nil:
		case t.ended: // the store was late
			go p.endWatch(stop) // ends with its call
		default:
			t.stop = stop
		}
		return
	})
}

// endWatch calls the stop of a Store.Watch.
func (p *Pacer) endWatch(stop func()) {
	bounded.InTime(context.Background(), nil, &p.fleet.stops, callTime, func(context.Context) (none struct{}, err error) { stop(); return }, nil)
}

// giveTicket gives the ticket of a line to a flight that starts.
func (p *Pacer) giveTicket(f *flight) {
	t := f.host.ticket
	t.sent, t.after = f.started, 0
	if t.unshared {
		p.stats.Unshared++
		p.discardTicket(t)
		return
	}
	f.host.ticket, f.ticket = nil, t
	if t.renew == nil {
		t.began = f.started
		t.renew = time.AfterFunc(placeLife/3, func() { p.holdTicket(t, placeLife) })
	}
}

// planBooking sets a timer for bookNext, unless the flight with this number has ended. To book the
// next start saves time only if places are the limit and not the gap, and if the end of the flight
// can be foretold: with the store 20 milliseconds away a fleet gets 95 % of what its limits
// permit, and 87 % without a booking.
func (p *Pacer) planBooking(f *flight, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.number != number || len(f.ticket.scopes) > 0 {
		return
	}
	h, n, gap, usual := f.host, f.host.limits.Parallel, f.ticket.gap, p.fleet.usual
	end := f.started + h.took
	wait := end - usual*3/2 - p.now() // a call takes usual, and half as much is to spare
	if wait > 0 && gap > 0 && n > 1 && h.took+usual > times(gap, n) && h.spread < usual {
		time.AfterFunc(wait, func() { p.bookNext(f, number, end) })
	}
}

// bookNext asks the store, before a flight with this number has ended, for the start of the next
// request in its place. That start is not before end, when the flight is expected to end. So the
// next request can start at once, without a call of the store in between. From then on Hold
// speaks of the start that was booked.
func (p *Pacer) bookNext(f *flight, number uint64, end instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := f.ticket
	if f.number != number || t.after != 0 || t.cancel != nil || f.host.line.Len() == 0 || end > t.began+2*p.fleet.quantum() {
		return
	}
	t.after = max(end+p.fleet.clock.ahead(), 1)
	p.ask(t, false)
}

// discardTicket ends the ticket of a line.
func (p *Pacer) discardTicket(t *ticket) {
	t.host.ticket, t.released = nil, make(chan struct{})
	go func() { // ends with its call
		p.releaseTicket(t)
		close(t.released)
	}()
}

// discardUseless ends the ticket of h's line if it is of no use to the first waiter.
func (p *Pacer) discardUseless(h *host) {
	t, w := h.ticket, h.first()
	switch {
	case t == nil:
	case w == nil, !slices.Equal(t.scopes, w.scopes),
		t.renew == nil && w.delay > t.gap, // it asks for too short a gap
		t.renew != nil && !p.mayPassOn(t): // it was passed, and must go back
		p.discardTicket(t)
	}
}

// mayPassOn reports whether the first in line may start with t, the ticket of a flight
// that has ended, which saves the way to the store and back. No question is needed while
// this process has the only place, since nobody else can start, and without a gap, since
// any moment is right. Otherwise t must have asked for its next start. quantum bounds
// the time, so that other processes get their turn. With scopes the store alone knows.
func (p *Pacer) mayPassOn(t *ticket) bool {
	w, n := t.host.first(), t.host.limits.Parallel
	if w == nil || n == 0 || w.delay > t.gap || len(t.scopes)+len(w.scopes) > 0 || t.host.outage.away || t.host.breaker.troubled() {
		return false
	}
	at := t.host.dueAfter(w.gap).at
	until := t.began + p.fleet.quantum()
	if n > 1 && max(w.gap, t.gap, t.host.adaptive()) > 0 {
		if t.after == 0 {
			return false
		}
		at = max(at, t.start)
		until += p.fleet.quantum() // with a gap, each start that is late delays all later ones
	}
	return max(at, p.now()) < until
}

// reportSent reports to the store when the request of a flight was sent, and does not wait for
// the call. If the authority has only one place, and each scope one place or no gap, the release
// of the ticket reports it early enough. The next start is booked after the report, since before
// that the store would count it from a second after this one.
func (p *Pacer) reportSent(f *flight) {
	matters := func(s *host) bool { return s.limits.Parallel != 1 && s.ownGap+s.adaptive() > 0 }
	if t := f.ticket; t != nil && (f.host.limits.Parallel != 1 || slices.ContainsFunc(t.scopes, matters)) {
		number := f.number
		go func() { // ends with the call
			if p.holdTicket(t, placeLife) {
				p.planBooking(f, number)
			}
		}()
	}
}

// releaseTicket ends a ticket at the store.
func (p *Pacer) releaseTicket(t *ticket) {
	p.mu.Lock()
	t.ended = true
	if t.renew != nil {
		t.renew.Stop()
	}
	if t.cancel != nil {
		t.cancel()
		// The question may reach the store after the call below.
		time.AfterFunc(giveBackEvery, func() { p.giveBack(t, p.now()+ticketLife) })
	}
	if t.stop != nil {
		go p.endWatch(t.stop) // ends with its call
	}
	p.mu.Unlock()
	p.giveBack(t, p.now()+ticketLife)
}

// giveBack calls the store to end a ticket, again and again until the store answers or the
// ticket has ended by itself. Until then the ticket delays the other processes.
func (p *Pacer) giveBack(t *ticket, until instant) {
	if !p.holdTicket(t, 0) && p.now() < until {
		time.AfterFunc(giveBackEvery, func() { p.giveBack(t, until) })
	}
}

// holdTicket keeps a ticket in flight for life from now, sets the timer for the next time, and
// learns the condition of the host. A life of 0 ends the ticket. The call does not use the
// context of the caller, because the place must become free even if the caller has left. ok
// reports whether the store answered.
func (p *Pacer) holdTicket(t *ticket, life time.Duration) (ok bool) {
	p.mu.Lock()
	var sent time.Duration
	if t.sent > never && t.after == 0 { // the latest start has been used
		sent = max(t.sent+p.fleet.clock.ahead(), 1)
	}
	p.mu.Unlock()
	c, ok := callStore(context.Background(), t.host, t.scopes, &p.fleet.holds, func(ctx context.Context) (Condition, error) {
		return p.opts.Shared.Hold(ctx, t.host.authority, Holding{t.name, life, sent, t.keys()})
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if life > 0 && !t.ended {
		t.renew.Reset(life / 3)
	}
	if ok {
		t.host.adoptCondition(c)
		p.reschedule(t.host)
	}
	return ok
}

// reportAnswer reports the answer to a flight to the store, if it says anything of the host. rest is
// what remains of the pause or the rest that the answer asks for, and level is host.level before it.
func (f *flight) reportAnswer(rest, level time.Duration) {
	h := f.host
	r := Report{Health: f.health, Wait: rest, Why: h.untilReason, Level: -1}
	if f.ticket != nil && h.breaker.troubled() {
		r.Answered = f.ticket.name
	}
	if r.Health == Overloaded || r.Health == Healthy && r.Answered == "" {
		r.Health = Neutral // a success counts at the end
	}
	if rest > 0 || h.level != level {
		r.Level = h.level
	}
	if r.Health == Failing || r.Answered != "" || r.Level >= 0 {
		f.report(r)
	}
}

// report sends a report of a flight to the store, in a fleet, after the reports before it. It does
// not wait for that.
func (f *flight) report(r Report) {
	h, p := f.host, f.host.pacer
	if p.opts.Shared == nil {
		return
	}
	r.Started = max(f.started+p.fleet.clock.ahead(), 0)
	r.Failures, r.Rest, r.RestMax = h.limits.Failures, h.limits.Rest, h.limits.RestMax
	if r.Health == Failing {
		r.Cause = h.breaker.cause
	}
	before, done := f.reported, make(chan struct{})
	f.reported = done
	go func() { // ends with the call, and the calls before it
		defer close(done)
		if before != nil {
			<-before
		}
		c, ok := callStore(context.Background(), h, nil, &p.fleet.reports, func(ctx context.Context) (Condition, error) {
			return p.opts.Shared.Report(ctx, h.authority, r)
		})
		if ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			h.adoptCondition(c)
			p.reschedule(h)
		}
	}()
}

// callInTime makes one call of the store within callTime. After three calls of its kind took
// longer, it fails at once for some time. A call that was cancelled before is not made: it would
// come after the one that gives its ticket back.
func callInTime[T any](ctx context.Context, kind *bounded.Breaker, f func(context.Context) (T, error)) (v T, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	if err := kind.Enter(time.Now()); err != nil {
		return v, err
	}
	return bounded.InTime(ctx, nil, kind, callTime, f, nil)
}

// callStore makes one call of the store about h and scopes, and reports whether the store
// answered. OnShared gets each change of that. A call that is cancelled, or a store that was
// closed, is no change. That the store keeps no scopes is reported once.
func callStore[T any](ctx context.Context, h *host, scopes []*host, kind *bounded.Breaker, f func(context.Context) (T, error)) (v T, ok bool) {
	p := h.pacer
	v, err := callInTime(ctx, kind, f)
	if ctx.Err() != nil || errors.Is(err, fs.ErrClosed) {
		return v, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h.outage.record(err, p.now())
	for _, s := range scopes {
		if s.outage.record(err, p.now()) {
			s.wake()
		}
	}
	news := err
	if share := h.share(); share > 1 {
		news = fmt.Errorf("each of %d processes keeps its share of the limits: %w", share, err)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		p.reportOutage(err, news)
	} else if !p.fleet.scopeless {
		p.fleet.scopeless = true
		if p.opts.OnShared != nil {
			go p.opts.OnShared(news)
		}
	}
	return v, err == nil
}

// reportOutage records the result of a call. If the store is lost or back, OnShared is called with
// news on a goroutine of its own, so that no turn waits for it. There is one such goroutine at a
// time. It calls until the latest call is true, so "back" never overtakes "lost".
func (p *Pacer) reportOutage(err, news error) {
	f := p.fleet
	if f.outage.record(err, p.now()) {
		f.news = news
	}
	if p.opts.OnShared == nil || f.reporting || f.reported == f.outage.away {
		return
	}
	f.reporting, f.reported = true, f.outage.away
	go func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		defer func() { f.reporting = false }()
		p.onShared(news)
		for f.reported != f.outage.away {
			f.reported = f.outage.away
			p.onShared(f.news)
		}
	}()
}

// onShared calls Options.OnShared without the lock, which its caller holds.
func (p *Pacer) onShared(err error) {
	p.mu.Unlock()
	defer p.mu.Lock()
	p.opts.OnShared(err)
}

// A fleet is what a process knows of the shared store and of itself in it.
type fleet struct {
	name      string        // name of this process, random
	tickets   uint64        // number of tickets drawn
	outage    outage        // by the calls for all hosts
	news      error         // what OnShared gets of the latest change of outage
	reported  bool          // the latest call of OnShared said that the store is away
	reporting bool          // the goroutine that calls OnShared runs
	scopeless bool          // the store keeps no scopes, or not some that were asked for
	members   int           // number of processes when the store last said it; 0: never
	counted   instant       // when this process last registered
	usual     time.Duration // the time that a call usually takes; few take longer
	clock     clock         // the store's clock

	reserves, holds, reports, watches, stops, counts bounded.Breaker // for each kind of call
}

// newFleet returns a fleet of which nothing is known.
func newFleet() *fleet {
	f := &fleet{name: rand.Text(), counted: -countEvery}
	for _, kind := range []*bounded.Breaker{&f.reserves, &f.holds, &f.reports, &f.watches, &f.stops, &f.counts} {
		kind.Failures, kind.First, kind.Most = 3, 30*time.Second, 15*time.Minute
	}
	return f
}

// An outage is the time in which the store does not answer.
type outage struct {
	away bool    // the last call failed
	lost instant // when a call last failed after one that was answered
}

// record records the result of a call, and reports whether it differs from the one before.
func (o *outage) record(err error, now instant) (changed bool) {
	changed = o.away != (err != nil)
	o.away = err != nil
	if changed && o.away {
		o.lost = now
	}
	return changed
}

// share returns the number of processes that divide the limits of h among them. It is 1 while
// the store answers for h, since the store counts for all, and otherwise the number of all
// processes. A part of a store can be down, such as a master of a cluster.
func (h *host) share() int {
	if !h.outage.away {
		return 1
	}
	return max(h.pacer.fleet.members, 1)
}

// afterLast returns when a start may follow the last one in a gap. While the store is away, n
// processes divide the limits, so that each keeps n times the gap. Others may have started until
// the store was lost.
func (h *host) afterLast(gap time.Duration) instant {
	n, most := h.share(), h.limits.Parallel
	if n == 1 {
		return h.last + gap
	}
	wait := times(gap, n)
	if most > 0 && most < n {
		// Less than one request in flight: this gap keeps to it on average.
		wait = max(wait, times(h.took, n)/time.Duration(most))
	}
	// If no call at all is answered, the store was lost with the first that failed, for any host.
	return max(h.last, min(h.outage.lost, h.pacer.fleet.outage.lost)) + wait
}

// measureFlight updates took and spread by the time that a request was in flight.
func (h *host) measureFlight(took time.Duration) {
	if h.took == 0 {
		h.took = took
	}
	off := took - h.took
	h.took += off / 4
	h.spread += (max(off, -off) - h.spread) / 4
}

// quantum is how long a process may pass a place on from request to request. To hand
// it to another process takes two calls of the store.
func (f *fleet) quantum() time.Duration {
	return min(max(250*time.Millisecond, 40*f.usual), 2*time.Second)
}

// measureCall updates the usual time of a call and the estimate of the store's clock. The
// usual time rises at once and falls by an eighth of the difference.
func (f *fleet) measureCall(asked, heard instant, store time.Duration) {
	f.clock.narrow(asked, heard, store)
	took := heard - asked
	f.usual = max(took, f.usual-(f.usual-took)/8)
}

// register registers this process from time to time and learns how many there are.
func (p *Pacer) register(now instant) {
	if now-p.fleet.counted < countEvery {
		return
	}
	p.fleet.counted = now
	go func() { // ends with the call
		n, err := callInTime(context.Background(), &p.fleet.counts, func(ctx context.Context) (int, error) {
			return p.opts.Shared.Count(ctx, p.fleet.name, countLife)
		})
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.fleet.members = max(n, 1)
		}
	}()
}

// A clock estimates the difference between the store's clock and ours, as NTP does:
// it is at least low and at most high, since each answer was written between the
// question and its arrival. The middle is wrong by half of the difference between
// the times there and back. So a start can be granted before it is due, and used on
// time.
type clock struct {
	low, high time.Duration
	at        instant // of the last answer
}

// narrow narrows the estimate by an answer with the store's time. An answer that
// contradicts the estimate comes from another server or a clock that was set: the
// estimate starts again. Since the answer before it, the clocks may have drifted apart by one
// part in ten thousand.
func (c *clock) narrow(asked, heard instant, store time.Duration) {
	drift := (heard - c.at) / 10_000
	low, high := store-heard, store-asked
	*c = clock{max(low, c.low-drift), min(high, c.high+drift), heard}
	if c.low > c.high {
		*c = clock{low, high, heard}
	}
}

// ahead returns by how much the store's clock is ahead of ours.
func (c *clock) ahead() time.Duration { return c.low + (c.high-c.low)/2 }
