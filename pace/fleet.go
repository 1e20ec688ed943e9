package pace

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"
)

// A fleetStore keeps the lines of many processes; *redis.Store of cache/redis is
// one. Spans are counted on its own clock, so the processes' clocks need not
// agree. It fails at once while its server is down.
type fleetStore interface {
	// Reserve asks for the turn of a ticket. A wait of 0 is the turn: the
	// request may start now and counts as in flight for life. Otherwise
	// the ticket stands in line and must be asked for again after wait, or
	// after askAgain if that is sooner, or it loses its place. A ticket
	// that has the turn already and asks again starts again: the gap
	// behind it counts from now.
	//
	// gap is kept to the starts before and after; keep is how long a start
	// matters to callers whose gap is not known yet. level is the one last
	// given to Pause.
	Reserve(ctx context.Context, authority, ticket string, gap, keep, life time.Duration, parallel int) (wait, level time.Duration, err error)
	// Hold keeps a ticket in flight for life from now; 0 ends it, and its
	// place in line. With restart the gap behind it counts from now.
	Hold(ctx context.Context, authority, ticket string, life time.Duration, restart bool) error
	// Pause lets nobody start for wait, which never ends a pause sooner. A
	// level given with a wait can only raise the one known, and one given
	// without can only lower it.
	Pause(ctx context.Context, authority string, wait, level time.Duration) error
}

const (
	askTime  = time.Second      // one exchange with the store, at most
	askAgain = 5 * time.Second  // the longest a ticket in line goes unasked
	life     = 30 * time.Second // a request in flight outlives its process by this

	// freshness is how much later than the quickest answer of the store an
	// answer may come and still be a start. A process that did not run
	// meanwhile would start well behind the moment from which the store
	// counts the next one's gap, and the two would come closer than that.
	freshness = 2 * time.Millisecond
	restarts  = 3 // tries at a fresh start; the last is taken as it is
)

// fleet is what a process knows of the shared store and of itself in it.
type fleet struct {
	name     string        // of this process, random
	tickets  uint64        // drawn so far
	away     bool          // the last exchange failed
	quickest time.Duration // exchange seen
}

func newFleet() fleet { return fleet{name: rand.Text(), quickest: ages} }

// A lease is a turn's place among the requests in flight of the fleet.
type lease struct {
	ticket string
	asked  instant // the start that the store counts from is no earlier
	renew  *time.Timer
	moved  chan struct{} // closed when the store knows of a later start; nil: there is none
}

// ask asks the fleet for the turn of w, which stays first in its line so that
// no other of this process asks meanwhile. It returns when w has a turn or an
// error, when late fires, or, with gone true, when ctx ends.
func (p *Pacer) ask(ctx context.Context, w *waiter, late <-chan time.Time) (gone bool) {
	ticket := p.ticket()
	defer func() {
		if !w.granted() {
			p.hold(w.host.authority, ticket, 0, false)
		}
	}()
	for {
		r := p.reserve(ctx, w, ticket)
		if ctx.Err() != nil {
			return true
		}
		wait := p.heard(w, ticket, r)
		if w.granted() || w.err != nil {
			return false
		}
		select {
		case <-time.After(min(wait, askAgain)):
		case <-late:
			return false
		case <-ctx.Done():
			return true
		}
	}
}

// ticket draws a name that no other request of the fleet has.
func (p *Pacer) ticket() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet.tickets++
	return p.fleet.name + "." + strconv.FormatUint(p.fleet.tickets, 36)
}

// A reply is what the store says to a request for a turn. Without a store that
// answers, the process decides alone: shared is false and wait 0.
type reply struct {
	wait, level time.Duration
	asked       instant // the turn began no earlier
	shared      bool
}

// reserve makes one request for a turn, and makes it anew while its answer
// comes too late to be a start.
func (p *Pacer) reserve(ctx context.Context, w *waiter, ticket string) (r reply) {
	p.mu.Lock()
	gap := max(p.limits.Gap, w.delay, w.host.adaptive(p.limits))
	p.mu.Unlock()
	for range restarts {
		r.shared = p.exchange(ctx, func(ctx context.Context) (err error) {
			r.asked = p.now()
			r.wait, r.level, err = p.opts.Shared.Reserve(ctx, w.host.authority, ticket, gap, p.hosts.hold, life, p.limits.Parallel)
			return err
		})
		if !r.shared {
			return reply{}
		}
		if r.wait > 0 || p.quick(r.asked) {
			break
		}
	}
	return r
}

// quick learns from an exchange that has just ended how quick the store can be,
// and reports whether this one was quick enough to be a start.
func (p *Pacer) quick(asked instant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.fleet.quickest = min(p.fleet.quickest, now-asked)
	return p.fleet.fresh(asked, now)
}

// fresh reports whether what the store was asked for at asked still counts as a
// start now.
func (f *fleet) fresh(asked, now instant) bool { return now-asked <= f.quickest+freshness }

// heard makes of a reply w's turn, or its refusal if that cannot come in time,
// or else the time after which to ask again. This process's own limits hold as
// well: a pause may have begun since w was due. (settle sees to the next.)
func (p *Pacer) heard(w *waiter, ticket string, r reply) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, now := w.host, p.now()
	w.shared = now + min(max(r.wait, 0), ages)
	at, why := h.due(p.limits)
	switch {
	case at <= now:
		p.grant(w, now)
		if r.shared {
			h.level = min(max(r.level, 0), p.limits.Pause)
			t, l := w.turn, &lease{ticket: ticket, asked: r.asked}
			t.flight.lease = l
			// The lock, which we hold, keeps it from running at once.
			l.renew = time.AfterFunc(life/3, func() { p.renew(h.authority, t, l) })
		} else {
			p.stats.Unshared++
		}
	case at > w.limit:
		p.refuse(w, at, why, now)
	default:
		w.why = why
		p.refuseLate(h, now)
	}
	return at - now
}

// renew keeps a long request counted. It runs three times in the life of a
// lease, on a timer that the turn's Done stops.
func (p *Pacer) renew(authority string, t Turn, l *lease) {
	p.hold(authority, l.ticket, life, false)
	if f := t.open(); f != nil {
		l.renew.Reset(life / 3)
		p.mu.Unlock()
	}
}

// restart tells the store of a start that came later than the turn, without
// waiting for it.
func (p *Pacer) restart(authority string, l *lease) {
	moved := make(chan struct{})
	before := l.moved
	l.moved = moved
	go func() { // ends with its exchange and the one before, askTime at most each
		defer close(moved)
		if before != nil {
			<-before
		}
		p.hold(authority, l.ticket, life, true)
	}()
}

// release ends a lease, but not before the store knows when its request started.
func (p *Pacer) release(authority string, l *lease) {
	l.renew.Stop()
	if l.moved != nil {
		<-l.moved
	}
	p.hold(authority, l.ticket, 0, false)
}

// hold keeps a ticket in flight, starts it again, or ends it. It has a context
// of its own: the place must be freed though the caller is gone.
func (p *Pacer) hold(authority, ticket string, life time.Duration, restart bool) {
	p.exchange(context.Background(), func(ctx context.Context) error {
		return p.opts.Shared.Hold(ctx, authority, ticket, life, restart)
	})
}

// pauseFleet tells the fleet of a pause, or of a level that fell.
func (p *Pacer) pauseFleet(authority string, wait, level time.Duration) {
	if p.opts.Shared == nil {
		return
	}
	p.exchange(context.Background(), func(ctx context.Context) error {
		return p.opts.Shared.Pause(ctx, authority, wait, level)
	})
}

// exchange speaks with the store once and reports whether it answered. OnShared
// hears of each change. A caller that leaves in the middle says nothing of the
// store.
func (p *Pacer) exchange(ctx context.Context, speak func(context.Context) error) bool {
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := speak(limited)
	if ctx.Err() != nil {
		return false
	}
	p.mu.Lock()
	changed := p.fleet.away != (err != nil)
	p.fleet.away = err != nil
	p.mu.Unlock()
	if changed && p.opts.OnShared != nil {
		p.opts.OnShared(err)
	}
	return err == nil
}
