package pace

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// This file decides when this process calls the store for a host: a machine with one timer and at
// most one call at a time. The file fleet.go makes the calls.
//
// A request without a lease waits in line like a request without a place, and the line wakes when
// the lease arrives. So this machine knows nothing of requests: tend looks at the host and chooses
// the next call.
//
//	returned  this process is not in the store's queue. If a request waits for the
//	          lease, the next call is Lease.
//	queued    Lease is called three times in a life, and when the lease of the holder
//	          ends. An answer grants the lease, or a message. If no request needs the lease any more, Return leaves the queue.
//	held      requests may start until the end of the lease. Keep is called three
//	          times in a life, and Return when givesBack says so.
//
// All calls are made in the background. While the store does not answer, a holder goes on to
// the end of its lease. A process in the queue starts nothing before that moment if an earlier
// answer has named it. After that each process keeps its share of the limits, and goes on calling.

const (
	leaseLife = 5 * time.Second
	callEvery = leaseLife / 3

	// minCallEvery is the shortest time to the next call for a lease that is about to end.
	minCallEvery = 100 * time.Millisecond

	// leaseMargin is how long before the end of its lease, by its own clock, a holder starts
	// its last request.
	leaseMargin = 500 * time.Millisecond

	// A holder that has no requests keeps the lease for idleTime, or for idleGrace if another
	// process wants it: a page follows its robots.txt, and the next page the one before.
	idleTime  = 2 * time.Second
	idleGrace = 50 * time.Millisecond

	// unusedPause is how long, at least, a process that has used a lease for nothing leaves it to
	// the others. Two processes that list scopes in different orders could hand it to and fro.
	unusedPause = 10 * time.Millisecond

	minQuantum  = time.Second
	maxQuantum  = 30 * time.Second
	maxPatience = 10 * time.Second
)

// A phase is a state of a lease.
type phase uint8

const (
	returned phase = iota
	queued
	held
)

// A lease is what this process has of the lease of one host.
type lease struct {
	phase   phase
	timer   *time.Timer // calls tend
	next    instant     // when the store is called again
	number  uint64      // of the claim
	asked   instant     // when the latest call that was answered began
	calling bool        // a call is under way
	message *Lease      // the latest one of the store since the call began; nil if there is none
	tell    bool        // the next Keep has news for the processes in the queue
	outage  outage      // of the store, by the calls for this host
	used    instant     // when a request last started or ended here, or the lease came
	behind  []*host     // the hosts whose leases the request has that asked for this one
	leaving bool        // ReturnIdle was called, and no request has come since

	// If queued:
	turn        instant // when the turn of this process is expected
	othersUntil instant // until when another process may work on the host, by the latest answer
	stayUntil   instant // this process stays in the queue, since a refused caller may come back

	// If held:
	until    instant       // no start from this moment on
	wanted   bool          // another process is in the queue
	began    instant       // when the lease came
	first    instant       // when the quantum began, with the first start; never before that
	patience time.Duration // how long the lease may be held with nothing to start
}

// leased reports whether h needs a lease at all.
func (h *host) leased() bool {
	return h.pacer.opts.Shared != nil && !h.limits.Off && !h.divided
}

// mayStart reports whether a request may start at h as far as the fleet is concerned.
func (h *host) mayStart(now instant) bool {
	l := h.lease
	switch {
	case !h.leased():
		return true
	case l == nil:
		return false
	case l.phase == held:
		return now < l.until && !h.drains(now)
	}
	return l.outage.away && now >= l.othersUntil
}

// missingLease returns the host whose lease a request at h with these scopes has to ask for next, nil
// if it has all leases. All processes ask for leases in this order, from the last scope to the first
// and then for the authority, and nobody asks for one without those before it. So nobody
// waits in a circle. If processes list scopes in different orders, patience breaks the circle.
func missingLease(h *host, scopes []*host, now instant) *host {
	if s := missingScopeLease(scopes, now); s != nil {
		return s
	}
	if !h.mayStart(now) {
		return h
	}
	return nil
}

// missingScopeLease is missingLease for the scopes alone.
func missingScopeLease(scopes []*host, now instant) *host {
	for _, s := range slices.Backward(scopes) {
		if !s.mayStart(now) {
			return s
		}
	}
	return nil
}

// turn returns when this process expects the lease of h. While the store is away, it returns when
// this process may work without the lease.
func (h *host) turn(now instant) instant {
	l := h.lease
	switch {
	case l == nil || l.phase != queued:
		return now
	case l.outage.away:
		return l.othersUntil
	}
	return l.turn
}

// want asks for the lease of h, for w, unless that is under way.
func (p *Pacer) want(h *host, w *waiter, now instant) {
	l := h.lease
	if l == nil {
		l = &lease{next: now, used: now, began: never, first: never, othersUntil: never, outage: outage{lost: never, back: never}}
		l.timer = time.AfterFunc(maxSpan, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.tend(h)
			h.wake() // a request may start again if the requests in flight have not ended in a quantum
		})
		h.lease = l
	}
	l.leaving = false
	if l.phase == returned {
		l.behind = w.scopes[slices.Index(w.scopes, h)+1:] // all for the authority
	}
	p.tend(h)
}

// quantum is how long a holder whose lease is wanted starts requests: so long that handing the
// lease over costs a twentieth.
func (h *host) quantum() time.Duration {
	return min(max(minQuantum, times(h.starts.took, 20)), maxQuantum)
}

// drains reports whether the quantum is over, so that h has to start nothing more and waits for
// the end of the requests in flight. If they take longer than a further quantum, it starts
// requests for another one, and so on.
func (h *host) drains(now instant) bool {
	l := h.lease
	if !l.wanted || l.first == never || l.outage.away {
		return false
	}
	return (now-l.first)/h.quantum()%2 == 1
}

// hasHadItsQuantum reports whether a holder without requests in flight can start nothing more in
// its quantum. It does not wait for the end then, so that the gap hides the time of the hand-over.
func (h *host) hasHadItsQuantum(now instant) bool {
	gap := h.ownGap
	if w := h.line.first(); w != nil {
		gap = w.gap
	}
	return h.lease.first > never && max(now, h.dueAfter(gap).at) >= h.lease.first+h.quantum()
}

// setWanted notes whether another process is in the queue. A holder that has had its quantum by then
// drains at once.
func (h *host) setWanted(wanted bool, now instant) {
	l := h.lease
	if wanted && !l.wanted && l.first > never {
		l.first = max(l.first, now-h.quantum())
	}
	l.wanted = wanted
}

// needsLease reports whether this process stays in the queue for h. Requests that were in flight when
// a lease was lost count, too: their answers may begin a pause.
func (h *host) needsLease(now instant) bool {
	l := h.lease
	if l.outage.away {
		return h.busy() || now < l.used+idleTime
	}
	if h.starts.flying > 0 || h.guests.first() != nil || now < l.stayUntil && !l.leaving {
		return true
	}
	w := h.line.first()
	return w != nil && missingScopeLease(w.scopes, now) == nil
}

// givesBack reports whether a holder returns the lease now, and otherwise when to look again.
//
// It never returns the lease while requests are in flight. A holder without requests returns it
// after some time. If the lease is wanted, it is returned
//
//   - without requests: almost at once;
//   - at the end of the quantum, or before it if nothing more can start in it;
//   - if the leases before it are lost: nothing could start;
//   - if nothing has started, though the host has room, for the time of patience: the requests
//     wait for something else. Each time patience doubles, until a request has started.
func (h *host) givesBack(now instant) (yes bool, again instant) {
	l, q, idle := h.lease, h.quantum(), !h.busy()
	var at instant
	switch {
	case l.outage.away, !idle && !l.wanted:
		return false, l.next
	case idle && l.leaving:
		return true, now
	case h.starts.flying == 0 && l.wanted && (h.hasHadItsQuantum(now) || missingScopeLease(l.behind, now) != nil):
		return true, now
	case idle && l.wanted:
		at = l.used + idleGrace
	case idle:
		at = l.used + idleTime
	case l.first > never: // look again at each end of a quantum
		return false, l.first + ((now-l.first)/q+1)*q
	default:
		at = max(l.began, h.dueAfter(h.ownGap).at) + l.patience
	}
	return now >= at, at
}

// tend makes the next call of the store for h if it is due, and otherwise sets the timer. It
// must be called after every change that could make a call due sooner.
func (p *Pacer) tend(h *host) {
	l, now := h.lease, p.now()
	if l == nil || l.calling {
		return // tend is called again when the call has ended
	}
	if l.phase == held && now >= l.until {
		l.phase, l.next = queued, now
	}
	at := l.next
	switch {
	case l.phase == held:
		yes, again := h.givesBack(now)
		switch {
		case l.tell && !l.outage.away || !yes && now >= l.next:
			p.keep(h)
			return
		case yes:
			p.giveBack(h)
			return
		}
		at = min(at, again, l.until)
	case h.needsLease(now):
		if now >= l.next {
			p.ask(h)
			return
		}
	case l.phase == queued && !l.outage.away:
		p.giveBack(h)
		return
	case l.phase == returned && now < l.next: // keeps the pause
	default:
		l.timer.Stop()
		h.lease = nil
		return
	}
	l.timer.Reset(max(at-now, time.Millisecond))
}

// noteStart notes that a request starts at h.
func (p *Pacer) noteStart(h *host, now instant) {
	l := h.lease
	l.used = now
	if l.phase == held && l.first == never {
		l.first, l.patience = now, 0
		if l.wanted {
			p.tend(h)
		}
	}
}

// noteEnd notes that a request has ended at h, or has left its line.
func (p *Pacer) noteEnd(h *host) {
	if l := h.lease; l != nil {
		l.used = p.now()
		if l.wanted && h.starts.flying == 0 {
			p.tend(h)
		}
	}
}

// tellFleet saves a pause at h that has just begun, so that no process forgets it.
func (p *Pacer) tellFleet(h *host) {
	if h.lease != nil {
		h.lease.tell = true
		p.tend(h)
	}
}

// ReturnIdle returns the leases of all hosts without requests, and leaves the queues for them. It
// waits until the store has answered, or ctx ends. Call it at the end of a process: without it, the
// other processes wait for up to five seconds, until the leases have run out. Without
// Options.Shared it does nothing.
func (p *Pacer) ReturnIdle(ctx context.Context) {
	var hosts []*host
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts.all {
		if h.lease != nil {
			hosts = append(hosts, h)
		}
	}
	for {
		hosts = slices.DeleteFunc(hosts, func(h *host) bool {
			if l := h.lease; l != nil && !h.busy() {
				l.leaving = true
				p.tend(h)
			}
			return h.lease == nil || h.busy() || h.lease.outage.away
		})
		if len(hosts) == 0 {
			return
		}
		if p.fleet.callEnded == nil {
			p.fleet.callEnded = make(chan struct{})
		}
		ended := p.fleet.callEnded
		p.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return
		}
	}
}

// ask calls Store.Lease for h.
func (p *Pacer) ask(h *host) {
	l := h.lease
	if l.phase == returned {
		p.fleet.claims++
		l.phase, l.number = queued, p.fleet.claims
	}
	away := l.outage.away
	p.call(h, func(ctx context.Context, c Claim) (Lease, error) {
		return p.opts.Shared.Lease(ctx, c, leaseLife)
	}, func(a Lease, now instant) { p.answered(h, a, away, now) })
}

// answered takes over what the store says of h while this process is in the queue. away says that
// the store did not answer the call before.
func (p *Pacer) answered(h *host, a Lease, away bool, now instant) {
	l := h.lease
	unknown := l.outage.lost > l.began || now < p.fleet.outage.back+leaseLife
	h.learn(a, now)
	l.wanted, l.turn = a.Wanted, h.expect(a, now)
	if !a.Granted {
		l.othersUntil = now + min(max(a.Free, 0), leaseLife)
		l.next = min(l.next, max(l.othersUntil, now+minCallEvery))
		return
	}
	if unknown { // others may have started requests until now
		h.starts.last, h.starts.lastNumber = now, 0
	}
	if away { // others go on until they ask, and a store that has lost its memory does not know the holder
		h.starts.last = max(now+callEvery, l.othersUntil)
	}
	l.othersUntil = never
	l.phase, l.until, l.began, l.first, l.used = held, l.asked+leaseLife-leaseMargin, now, never, now
	if l.patience == 0 {
		l.patience = h.quantum() + rand.N(h.quantum())
	}
}

// keep calls Store.Keep for h.
func (p *Pacer) keep(h *host) {
	l, s, tell, saved := h.lease, h.state(p.now()), h.lease.tell, h.pause.until
	p.call(h, func(ctx context.Context, c Claim) (Lease, error) {
		return p.opts.Shared.Keep(ctx, c, leaseLife, s, tell)
	}, func(a Lease, now instant) {
		if !a.Granted { // the next call waits, in case the store keeps no lease
			l.phase, l.next = queued, max(now, l.began+callEvery)
			return
		}
		l.until, l.tell = l.asked+leaseLife-leaseMargin, l.tell && h.pause.until > saved
		h.setWanted(a.Wanted, now)
	})
}

// giveBack calls Store.Return for h. Until that ends nobody asks.
func (p *Pacer) giveBack(h *host) {
	l, s := h.lease, State{}
	again := time.Duration(0) // how long a request that waits does not ask
	if l.phase == held {
		s = h.state(p.now())
		if l.first == never {
			l.patience = min(2*l.patience, max(maxPatience, h.quantum()))
			again = unusedPause + rand.N(unusedPause)
		}
	}
	l.phase = returned
	p.call(h, func(ctx context.Context, c Claim) (Lease, error) {
		return Lease{}, p.opts.Shared.Return(ctx, c, s)
	}, func(Lease, instant) {})
	l.next = p.now() + again
}

// expect returns when this process has its turn, by the answer to Lease: the holder may return
// the lease at any moment, and each process between takes a quantum, or one start if the gap
// is longer.
func (h *host) expect(a Lease, now instant) instant {
	between := min(max(a.Ahead-1, 0), 1_000_000)
	if between == 0 {
		return now
	}
	return max(now, h.pause.until) + times(max(h.quantum(), h.gap(h.starts.delay, 0)), between)
}
