package pace

import (
	"container/list"
	"time"
)

// A line is the waiters of one authority, in order of arrival.
type line struct {
	waiters list.List
	gaps    time.Duration // sum of the gaps of the waiters, so that no caller walks the line
}

// A waiter is one caller in line.
type waiter struct {
	host      *host
	number    uint64        // by arrival
	scopes    []*host       // without host
	class     *class        // nil unless it waits for a scope
	inClass   *list.Element // in class.waiters
	overtaken bool          // a younger request has taken the place that it waited for

	inLine   *list.Element // in host.line
	delay    time.Duration // Crawl-delay, as obeyed
	gap      time.Duration // from the start before to its own
	came     instant
	deadline instant  // the last moment at which a turn is of use
	giveUp   instant  // when MaxWait is over
	waitsFor obstacle // by its last look

	wake  chan struct{} // has room for one signal
	timer *time.Timer   // for the next step, at giveUp at the latest
	turn  Turn
	err   error
}

// waiterAt returns the waiter of an element, nil for no element.
func waiterAt(e *list.Element) *waiter {
	if e == nil {
		return nil
	}
	return e.Value.(*waiter)
}

// first returns the first waiter in line, or nil.
func (l *line) first() *waiter { return waiterAt(l.waiters.Front()) }

// last returns the last waiter in line, or nil.
func (l *line) last() *waiter { return waiterAt(l.waiters.Back()) }

// len returns the number of waiters in line.
func (l *line) len() int { return l.waiters.Len() }

// join puts w at the end of the line.
func (l *line) join(w *waiter) {
	w.inLine = l.waiters.PushBack(w)
	l.updateGap(w)
}

// leave takes w out of the line.
func (l *line) leave(w *waiter) {
	next := waiterAt(w.inLine.Next())
	l.waiters.Remove(w.inLine)
	l.gaps -= w.gap
	if next != nil {
		l.updateGap(next)
	}
}

// updateGap sets w's gap after the waiter before it has changed, and keeps the sum.
func (l *line) updateGap(w *waiter) {
	before := w.host.starts.delay
	if prev := waiterAt(w.inLine.Prev()); prev != nil {
		before = prev.delay
	}
	l.gaps -= w.gap
	w.gap = w.host.gap(before, w.delay)
	l.gaps += w.gap
}

// updateGaps sets the gaps of all in line after a limit has changed.
func (l *line) updateGaps() {
	for e := l.waiters.Front(); e != nil; e = e.Next() {
		l.updateGap(waiterAt(e))
	}
}

// obstacle returns what w, the first in line at its authority, waits for: room at the authority, or in
// the first of its scopes without room, or the first missing lease.
func (w *waiter) obstacle(now instant) obstacle {
	o := w.host.obstacleTo(w.number, w.gap, now)
	for _, s := range w.scopes {
		if o.in != nil {
			break
		}
		if other := s.obstacleTo(w.number, s.ownGap, now); other.in != nil {
			o = obstacle{s, ReasonScope, other.at}
		}
	}
	if k := w.missingLease(now); k != nil && (o.in == nil || k.turn(now) > max(o.at, now)) {
		o = obstacle{k, ReasonFleet, max(k.turn(now), now)}
	}
	return o
}

// missingLease returns the host whose lease w has to ask for next, nil if it has all leases.
func (w *waiter) missingLease(now instant) *host { return missingLease(w.host, w.scopes, now) }

// signal makes w take a step soon.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it has yet to take the step of the last signal
	}
}
