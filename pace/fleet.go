package pace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"
	"weak"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/clean"
)

// This file calls the store of a fleet, and hands the state of a host from one process to the next.

const (
	callTime   = time.Second      // a call of the store takes no longer
	countEvery = time.Second      // a busy process registers this often
	countLife  = 30 * time.Second // a process that makes no requests stays registered for this long
	maxMembers = 1_000_000        // a store that counts more processes is wrong
)

// A fleet is what a process knows of the shared store and of itself in it.
type fleet struct {
	name      string          // name of this process, random
	calls     bounded.Breaker // of all calls
	listening bool            // Store.Notify has been called
	callEnded chan struct{}   // closed when the next call for a host has ended; nil if nobody waits for that
	claims    uint64          // number of claims so far
	members   int             // number of processes by the latest count of the store; 0: none yet
	counted   instant         // when this process last registered

	outage    outage // by the calls for all hosts
	news      error  // what OnShared gets of the latest change of outage
	reported  bool   // the latest call of OnShared said that the store is away
	reporting bool   // the goroutine that calls OnShared runs
}

// newFleet returns a fleet of which nothing is known.
func newFleet() fleet {
	return fleet{
		name: rand.Text(), counted: never, outage: outage{lost: never, back: never},
		calls: bounded.Breaker{Failures: 3, First: 2 * time.Second, Most: 30 * time.Second},
	}
}

// An outage is the time in which the store does not answer.
type outage struct {
	away bool    // the last call failed
	lost instant // when a call last failed after one that was answered
	back instant // when a call was last answered after one that failed
}

// record records the result of a call, and reports whether it differs from the one before.
func (o *outage) record(err error, now instant) (changed bool) {
	if o.away == (err != nil) {
		return false
	}
	if o.away = !o.away; o.away {
		o.lost = now
	} else {
		o.back = now
	}
	return true
}

// share returns the number of processes that divide the limits of h among them: 1 if this process
// has the lease, since then no other works there.
func (h *host) share() int {
	if h.divided || h.lease != nil && h.lease.outage.away && h.lease.phase != held {
		return max(h.pacer.fleet.members, 1)
	}
	return 1
}

// call makes a call of the store for h in the background, and then calls done with the answer, if
// there is one within callTime. After three calls that took longer, calls fail at once for some time.
func (p *Pacer) call(h *host, f func(context.Context, Claim) (Lease, error), done func(a Lease, now instant)) {
	l, asked := h.lease, p.now()
	c := Claim{h.authority, p.fleet.name, l.number}
	l.calling, l.message, l.next = true, nil, asked+callEvery
	first := !p.fleet.listening
	p.fleet.listening = true
	p.register(asked)
	start := func() {
		bounded.Start(&p.fleet.calls, callTime, func(ctx context.Context) (Lease, error) { return f(ctx, c) }, func(a Lease, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			now := p.now()
			l.calling = false
			l.outage.record(err, now)
			p.recordOutage(err, now)
			if err == nil {
				l.asked = asked
				done(a, now)
				if l.message != nil {
					p.handleMessage(h, *l.message, now)
				}
			}
			p.tend(h)
			p.reschedule(h)
			if p.fleet.callEnded != nil {
				close(p.fleet.callEnded)
				p.fleet.callEnded = nil
			}
		})
	}
	if !first {
		start()
		return
	}
	go func() { // ends with the call of Notify
		p.listen() // before the store can have a message for this process
		start()
	}()
}

// listen makes the store call notified, until the Pacer is garbage.
func (p *Pacer) listen() {
	pacer, end := weak.Make(p), func(stop func()) {
		if stop != nil {
			go bounded.Call(context.Background(), nil, func(context.Context) (none struct{}, err error) { stop(); return }, nil)
		}
	}
	err := p.fleet.calls.Enter(time.Now())
	if err == nil {
		var stop func()
		stop, err = bounded.InTime(context.Background(), nil, &p.fleet.calls, callTime, func(context.Context) (func(), error) {
			return p.opts.Shared.Notify(p.fleet.name, func(c Claim, a Lease) {
				if p := pacer.Value(); p != nil {
					p.notified(c, a)
				}
			}), nil
		}, end)
		if err == nil {
			runtime.AddCleanup(p, end, stop)
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet.listening = false // the next call tries again
}

// notified acts on a message of the store. If a call is under way, it waits for the answer, which may
// be older.
func (p *Pacer) notified(c Claim, a Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts.byName[c.Key]
	switch {
	case h == nil || h.lease == nil || h.lease.number != c.Number || h.lease.outage.away:
	case h.lease.calling:
		h.lease.message = &a
	default:
		p.handleMessage(h, a, p.now())
		p.tend(h)
		p.reschedule(h)
	}
}

// handleMessage acts on a message about h: this process has the lease now, others want it, or there is
// news of the host.
func (p *Pacer) handleMessage(h *host, a Lease, now instant) {
	switch h.lease.phase {
	case queued:
		p.answered(h, a, false, now)
	case held:
		h.setWanted(h.lease.wanted || a.Wanted, now)
	}
}

// register registers this process from time to time and learns how many there are.
func (p *Pacer) register(now instant) {
	if p.opts.Shared == nil || now < p.fleet.counted+countEvery {
		return
	}
	p.fleet.counted = now
	bounded.Start(&p.fleet.calls, callTime, func(ctx context.Context) (int, error) {
		return p.opts.Shared.Count(ctx, p.fleet.name, countLife)
	}, func(n int, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.fleet.members = min(max(n, 1), maxMembers)
		}
	})
}

// recordOutage records the result of a call. If the store is lost or back, OnShared is called
// on a goroutine of its own, so that no turn waits for it. There is one such goroutine at a
// time. It calls until the latest call is true, so "back" never overtakes "lost". That the
// program has closed the store is no news.
func (p *Pacer) recordOutage(err error, now instant) {
	f := &p.fleet
	if errors.Is(err, fs.ErrClosed) || !f.outage.record(err, now) || p.opts.OnShared == nil {
		return
	}
	f.news = err
	if err != nil && f.members > 1 {
		f.news = fmt.Errorf("each of %d processes keeps its share of the limits: %w", f.members, err)
	}
	if f.reporting {
		return
	}
	f.reporting = true
	go func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for f.reported != f.outage.away {
			f.reported = f.outage.away
			p.onShared(f.news)
		}
		f.reporting = false
	}()
}

// onShared calls Options.OnShared without the lock, which its caller holds.
func (p *Pacer) onShared(err error) {
	p.mu.Unlock()
	defer p.mu.Lock()
	p.opts.OnShared(err)
}

// state returns what the next holder of h must know.
func (h *host) state(now instant) State {
	s := State{
		Delay: h.starts.delay, Took: h.starts.took, Level: h.pause.level,
		Pause: max(h.pause.until-now, 0), Why: h.pause.why, Keep: max(h.lapse()-now, 1),
	}
	if h.starts.last > never {
		s.SinceStart = max(now-h.starts.last, 1)
	}
	if b := h.breaker; b != nil {
		s.Failures, s.Open, s.Rest, s.Cause = b.failures, b.open, b.rest, b.cause
	}
	return s
}

// learn takes over what the store knows of h. Every span is cut to one that the limits permit.
// The last start and the pause can only move on. All else is taken over if nothing has started
// here since it was saved.
func (h *host) learn(a Lease, now instant) {
	span := func(d, limit time.Duration) time.Duration { return min(max(d, 0), limit) }
	s, l := a.State, h.limits
	saved := now - span(a.Age, maxSpan)
	newer := s != State{} && saved >= h.starts.last
	until := saved + span(s.Pause, max(l.Pause, l.RestMax))
	if newer {
		h.starts.delay, h.starts.took = l.Obeyed(s.Delay), span(s.Took, time.Hour)
		h.pause.level = span(s.Level, l.Pause)
		h.line.updateGaps()
	}
	if newer && (h.breaker != nil || s.Failures > 0 || s.Rest > 0) {
		if h.breaker == nil {
			h.breaker = &breaker{opened: never, cause: "a failure of another process"}
		}
		b := h.breaker
		if b.failures == 0 {
			b.since = now
		}
		b.failures, b.open, b.rest = max(s.Failures, 0), s.Open, span(s.Rest, l.RestMax)
		if s.Cause != "" {
			b.cause = clean.Text(s.Cause, 150)
		}
		if s.Why == ReasonBreaker { // until is the end of the latest rest
			b.opened = max(b.opened, min(until-b.rest, now))
		}
	}
	if s.Pause > 0 {
		why := s.Why
		if why != ReasonQuota && why != ReasonBreaker {
			why = ReasonPause
		}
		h.pause.restUntil(until, why)
	}
	last := never
	if s.SinceStart > 0 {
		last = saved - span(s.SinceStart, maxSpan)
	}
	if a.Lost > 0 { // its holder may have started a request at the end of its lease
		last = max(last, now-span(a.Lost, maxSpan))
	}
	if last > h.starts.last {
		h.starts.last, h.starts.lastNumber = last, 0
	}
}
