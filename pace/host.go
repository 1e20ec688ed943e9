package pace

import (
	"cmp"
	"container/list"
	"math"
	"time"
)

// A host is what is remembered of one authority, or of one scope. Pacer.mu guards it.
type host struct {
	pacer     *Pacer
	authority string
	limits    *Limits       // filled
	ownGap    time.Duration // Limits.Gap, or 0 if FreeLoopback applies

	last       instant       // start of the last request
	lastNumber uint64        // number of the last request
	delay      time.Duration // Crawl-delay of the last request
	flying     int           // requests in flight
	unanswered int           // requests in flight without an answer

	paused      instant       // when the last pause was set
	until       instant       // end of the pause: no start before this
	untilReason Reason        // why until was set
	breaker     *breaker      // nil until a request fails
	level       time.Duration // length that the next pause starts from; 0 without trouble
	mean        time.Duration // recent answer time
	took        time.Duration // time in flight, the mean of recent requests
	spread      time.Duration // by how much a time in flight differs from took, on average

	usedLately  bool      // used again since the sweep last came by
	pending     int       // number of waiters of other authorities that need a turn here, guests or not
	guests      list.List // waiters of other authorities that wait for room here, by number; of each class the first
	guestCount  int       // number of waiters in guests, with all of their classes
	roomKeptFor *waiter   // room is kept for it, from younger ones; nil if for none
	youngest    uint64    // number of the youngest request that has started
	asking      int       // number of tickets that await their first answer of the store, and count as in flight here

	line   list.List     // the waiters of this authority, in order of arrival
	gaps   time.Duration // sum of the gaps of the waiters, so that nobody need walk the line
	outage outage        // of the store, by the calls for this host
	ticket *ticket       // of the first waiter; nil until it needs one
}

// A waiter is one caller in line.
type waiter struct {
	host      *host
	number    uint64        // by arrival
	scopes    []*host       // beside host
	class     *class        // nil unless it waits for a scope
	inClass   *list.Element // in class.waiters
	overtaken bool          // a younger request has started where it waits, and took what it waited for

	inLine   *list.Element // in host.line
	delay    time.Duration // Crawl-delay, as obeyed
	gap      time.Duration // from the start before to its own, without Limits.Adapt
	came     instant
	deadline instant  // the last moment at which a turn is of use
	late     instant  // when MaxWait is over
	waitsFor obstacle // by its last look

	wake  chan struct{} // has room for one signal
	timer *time.Timer   // for the next step, at late at the latest
	turn  Turn
	err   error

	discarded *ticket // ended because w has left its line; nil if there was none
}

// An obstacle is what a request waits for.
type obstacle struct {
	in  *host   // the authority or the scope that has no room; nil if there is room
	why Reason  // ReasonNone if there is room, or for a call of the store that takes no longer than usual
	at  instant // when there is room, as far as is known; not after now if something else than time is in the way
}

// first returns the first waiter in line, or nil.
func (h *host) first() *waiter { return waiterAt(h.line.Front()) }

// waiterAt returns the waiter of an element, nil for no element.
func waiterAt(e *list.Element) *waiter {
	if e == nil {
		return nil
	}
	return e.Value.(*waiter)
}

// updateGap sets w's gap after the waiter before it has changed, and keeps the sum.
func (h *host) updateGap(w *waiter) {
	before := h.delay
	if prev := waiterAt(w.inLine.Prev()); prev != nil {
		before = prev.delay
	}
	h.gaps -= w.gap
	w.gap = h.gap(before, w.delay)
	h.gaps += w.gap
}

// gap is the time between a start whose Crawl-delay was before and one with
// delay. The longer one counts: robots.txt is fetched without a Crawl-delay, and
// the first page after it must keep the delay all the same.
func (h *host) gap(before, delay time.Duration) time.Duration {
	return max(h.ownGap, before, delay)
}

// places returns the number of requests that this process may have in flight.
func (h *host) places() int {
	if h.limits.Parallel == 0 {
		return math.MaxInt
	}
	return max(h.limits.Parallel/h.share(), 1)
}

// spaced reports whether the limits can ask for a gap.
func (h *host) spaced() bool { return h.ownGap > 0 || h.limits.Adapt > 0 }

// adaptive returns the gap that Limits.Adapt asks for.
func (h *host) adaptive() time.Duration {
	l := h.limits
	if l.Adapt == 0 {
		return 0
	}
	// The product is compared before it is converted: a float beyond
	// int64 converts to anything.
	d := l.Adapt * float64(h.mean)
	if d >= float64(l.AdaptMax) {
		return l.AdaptMax
	}
	return time.Duration(d)
}

// dueAfter returns when a start with this gap to the last one may happen, as far as this
// process knows, and what it waits for until then. It does not look at requests in flight.
func (h *host) dueAfter(gap time.Duration) obstacle {
	slow := h.adaptive()
	at := h.afterLast(max(gap, slow))
	tries := h.breaker.probeDue()
	switch {
	case tries > never && tries >= max(at, h.until):
		return obstacle{h, ReasonBreaker, tries}
	case h.until >= at:
		return obstacle{h, h.untilReason, h.until}
	case slow > gap:
		return obstacle{h, ReasonAdapt, at}
	case gap > h.ownGap:
		return obstacle{h, ReasonDelay, at}
	}
	return obstacle{h, ReasonGap, at}
}

// obstacleToFirst returns what the first in line waits for, and when it can start, as far as is known.
func (h *host) obstacleToFirst(now instant) obstacle {
	w, t := h.first(), h.ticket
	o := w.obstacle(now)
	if t != nil && t.start > max(o.at, now) {
		o = t.obstacle()
		if h.breaker.troubled() {
			o.why = ReasonBreaker
		}
	}
	for _, s := range w.scopes {
		if at := s.dueAfter(s.ownGap).at; at > max(o.at, now) {
			o = obstacle{s, ReasonScope, at}
		}
	}
	switch {
	case o.in != nil:
		return o
	case t != nil:
		return obstacle{cmp.Or(t.inTheWay, h), t.obstacle().why, now}
	}
	return obstacle{w.waitsFor.in, cmp.Or(w.waitsFor.why, ReasonShared), now} // w has not looked again yet
}

// times returns n times d without overflow.
func times(d time.Duration, n int) time.Duration {
	return min(d, maxSpan/time.Duration(n)) * time.Duration(n)
}
