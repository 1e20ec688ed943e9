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
	silent     bool          // the last request to end, or to be answered, had no answer

	paused      instant       // when the last pause was set
	until       instant       // end of the pause: no start before this
	untilReason Reason        // why until was set
	breaker     *breaker      // nil until a request fails
	level       time.Duration // length that the next pause starts from; 0 without trouble
	mean        time.Duration // recent answer time
	took        time.Duration // time in flight, the mean of recent requests
	spread      time.Duration // by how much a time in flight differs from took, on average

	usedLately  bool      // used again since the sweep last came by
	pumping     bool      // in Pacer.todo
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
	timer  *time.Timer   // runs pump when the first waiter is due; nil until needed
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
	deadline instant // the last moment at which a turn is of use
	why      Reason  // what it waited for last

	ready chan struct{} // closed once turn or err is set
	turn  Turn
	err   error
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

// whyFull returns why the requests in flight forbid a further one, ReasonNone if they do not.
func (h *host) whyFull() Reason {
	switch {
	case h.breaker.crowded(h.unanswered, h.limits.Failures):
		return ReasonBreaker
	case h.flying+h.asking >= h.places():
		return ReasonParallel
	}
	return ReasonNone
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
func (h *host) dueAfter(gap time.Duration) (instant, Reason) {
	slow := h.adaptive()
	at := h.afterLast(max(gap, slow))
	tries := h.breaker.probeDue()
	switch {
	case tries > never && tries >= max(at, h.until):
		return tries, ReasonBreaker
	case h.until >= at:
		return h.until, h.untilReason
	case slow > gap:
		return at, ReasonAdapt
	case gap > h.ownGap:
		return at, ReasonDelay
	}
	return at, ReasonGap
}

// next returns when the first in line may start, and what it waits for until then. If
// something else than time is in the way, the moment is now.
func (h *host) next(now instant) (instant, Reason) {
	w, blocked := h.first(), ReasonShared
	at, why := h.dueAfter(w.gap)
	if t := h.ticket; t != nil && t.start > at {
		at, why = t.start, t.reason()
		if h.breaker.troubled() {
			why = ReasonBreaker
		}
	}
	if s := w.guestOf(); s != nil {
		blocked = ReasonScope
		if free, _ := s.dueAfter(s.ownGap); free > at {
			at, why = free, ReasonScope
		}
	}
	if at > now {
		return at, why
	}
	return now, cmp.Or(h.whyFull(), blocked)
}

// arrival returns when a newcomer with this Crawl-delay could start at the earliest, after all
// waiters, and what it waits for until then: ReasonNone if it may start now.
//
// Each waiter, and then the newcomer, starts at least its gap and at least the
// adaptive gap after the one before. So the newcomer's turn cannot come before the
// larger of the two sums.
func (h *host) arrival(delay time.Duration, now instant) (instant, Reason) {
	n := h.line.Len()
	if n == 0 {
		return h.roomFor(h.pacer.arrivals+1, h.gap(h.delay, delay), now)
	}
	at, why := h.next(now)
	last := waiterAt(h.line.Back())
	gaps := h.gaps - h.first().gap + h.gap(last.delay, delay)
	return at + times(max(gaps, times(h.adaptive(), n)), h.share()), why
}

// times returns n times d without overflow.
func times(d time.Duration, n int) time.Duration {
	return min(d, maxSpan/time.Duration(n)) * time.Duration(n)
}
