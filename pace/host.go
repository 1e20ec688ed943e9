package pace

import "time"

// A host is what is remembered of one authority. Pacer.mu guards it.
type host struct {
	authority    string
	older, newer *host // neighbours in memory's order of use

	latest uint64        // the last turn, by its nth
	last   instant       // start of the last request
	delay  time.Duration // Crawl-delay that request came with
	flying int           // requests in flight

	paused instant       // when the last pause was set
	until  instant       // end of the pause: no start before this
	level  time.Duration // length that the next pause starts from; 0 without trouble
	mean   time.Duration // recent answer time
	took   time.Duration // time in flight of the request that ended last
	spare  *lease        // place in the fleet, free for the next in line; nil: none

	line  line
	timer *time.Timer // runs pump when the first in line is due; nil until needed
}

// A line is the queue of one authority in order of arrival. The sum of its
// gaps is kept so that a newcomer's turn is foreseen without walking it.
type line struct {
	first, last *waiter
	length      int
	sum         time.Duration
}

// A waiter is one caller in line.
type waiter struct {
	host       *host
	prev, next *waiter
	delay      time.Duration // Crawl-delay, as obeyed
	gap        time.Duration // from the start before to its own, answer time left aside
	came       instant
	limit      instant // the last moment at which a turn is of use
	why        Reason
	asking     bool       // first in line, and its goroutine asks the store
	news       chan Grant // what the store sends without being asked; the zero Grant: ask now
	cancel     func()     // ends the question under way; nil before the first
	shared     instant    // no turn before this, as the store answered

	ready chan struct{} // closed once turn, err or asking is set
	turn  Turn
	err   error
}

func (w *waiter) granted() bool { return w.turn.flight != nil }

// deliver passes on what the store says to the goroutine that asks. It does not block:
// older news that nobody has read yet is dropped.
func (w *waiter) deliver(g Grant) {
	for {
		select {
		case w.news <- g:
			return
		default:
		}
		select {
		case <-w.news:
		default:
		}
	}
}

// limits are the Limits in force.
type limits struct {
	Limits
	share int     // number of processes that divide the limits among them
	from  instant // when they began to; the starts of others until then are not known
}

// full reports whether requests in flight forbid a further one.
func (h *host) full(l limits) bool {
	return l.Parallel > 0 && h.flying >= max(l.Parallel/l.share, 1)
}

// spread is a gap of the fleet as each process must keep it.
func (l limits) spread(gap time.Duration) time.Duration {
	share := time.Duration(l.share)
	return min(gap, ages/share) * share
}

// thin is the gap that keeps the requests in flight to the limit on average where
// a process's share of Parallel is less than one.
func (l limits) thin(took time.Duration) time.Duration {
	if l.Parallel == 0 || l.Parallel >= l.share {
		return 0
	}
	return l.spread(took) / time.Duration(l.Parallel)
}

// gap is the time between a start whose Crawl-delay was before and one with
// delay. The longer one counts: robots.txt is fetched without a Crawl-delay, and
// the first page after it must keep the delay all the same.
func (l Limits) gap(before, delay time.Duration) time.Duration {
	return max(l.Gap, before, delay)
}

// adaptive is the gap that Limits.Adapt asks for.
func (h *host) adaptive(l Limits) time.Duration {
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

// dueAfter is when a start that must keep gap from the last one may happen, and
// what it waits for until then. Requests in flight are not looked at.
func (h *host) dueAfter(gap time.Duration, l limits) (instant, Reason) {
	slow := h.adaptive(l.Limits)
	last := h.last
	if l.share > 1 {
		last = max(last, l.from)
	}
	at := last + max(l.spread(max(gap, slow)), l.thin(h.took))
	switch {
	case h.until >= at:
		return h.until, ReasonPause
	case slow > gap:
		return at, ReasonAdapt
	case gap > l.Gap:
		return at, ReasonDelay
	}
	return at, ReasonGap
}

// due is when the first in line may start.
func (h *host) due(l limits) (instant, Reason) {
	w := h.line.first
	at, why := h.dueAfter(w.gap, l)
	if w.asking && w.shared > at {
		return w.shared, ReasonShared
	}
	return at, why
}

// arrival is when a newcomer with this Crawl-delay could start at the
// earliest, after all who are in line, and what holds it until then:
// ReasonNone if it may start now.
//
// Each waiter, and then the newcomer, starts at least its gap and at least the
// adaptive gap after the one before. So the newcomer's turn cannot come before the
// larger of the two sums.
func (h *host) arrival(delay time.Duration, l limits, now instant) (instant, Reason) {
	if h.line.first == nil {
		at, why := h.dueAfter(l.gap(h.delay, delay), l)
		return h.held(max(at, now), why, l, now)
	}
	at, why := h.due(l)
	at, why = h.held(max(at, now), why, l, now)
	if why == ReasonNone {
		why = ReasonShared // only a waiter that asks the store stays in line when due
	}
	own := l.gap(h.line.last.delay, delay)
	gaps := h.line.sum - h.line.first.gap + own
	slow := min(h.adaptive(l.Limits), ages/time.Duration(h.line.length)) * time.Duration(h.line.length)
	return at + l.spread(max(gaps, slow)), why
}

// held returns the reason ReasonParallel if the start is due and only requests in
// flight are in the way.
func (h *host) held(at instant, why Reason, l limits, now instant) (instant, Reason) {
	switch {
	case at > now:
		return at, why
	case h.full(l):
		return at, ReasonParallel
	}
	return at, ReasonNone
}

func (h *host) enqueue(w *waiter, l Limits) {
	w.prev = h.line.last
	if w.prev == nil {
		h.line.first = w
	} else {
		w.prev.next = w
	}
	h.line.last = w
	h.line.length++
	h.regap(w, l)
}

// remove takes w out of line, wherever it stands.
func (h *host) remove(w *waiter, l Limits) {
	if w.prev == nil {
		h.line.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		h.line.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	next := w.next
	w.prev, w.next = nil, nil
	h.line.length--
	h.line.sum -= w.gap
	h.regap(next, l)
}

// regap updates w's gap after the waiter before it has changed, and keeps
// the sum. w may be nil.
func (h *host) regap(w *waiter, l Limits) {
	if w == nil {
		return
	}
	before := h.delay
	if w.prev != nil {
		before = w.prev.delay
	}
	h.line.sum -= w.gap
	w.gap = l.gap(before, w.delay)
	h.line.sum += w.gap
}
