package pace

import (
	"cmp"
	"math"
	"time"
)

// A host is what is remembered of one authority, or of one scope. It consists of parts, each of
// which can keep requests waiting. Pacer.mu guards it.
type host struct {
	pacer     *Pacer
	authority string
	limits    *Limits       // filled
	ownGap    time.Duration // Limits.Gap, or 0 if FreeLoopback applies

	starts  starts
	pause   pause
	breaker *breaker // nil until a request fails
	lease   *lease   // nil without a store, and while this process does not use the host
	line    line     // waiters of this authority
	guests  guests   // waiters of other authorities, for which the host is a scope

	divided    bool // Scope.Divide
	reported   bool // OnDelay has been called
	usedLately bool // used again since the sweep last came by
}

// starts is what is known of the requests that have started at a host.
type starts struct {
	last       instant       // start of the last request
	lastNumber uint64        // number of the last request
	delay      time.Duration // Crawl-delay of the last request
	youngest   uint64        // number of the youngest request that has started
	flying     int           // requests in flight
	unanswered int           // requests in flight without an answer
	took       time.Duration // time in flight, the mean of recent requests
}

// measure updates took by the time that a request was in flight.
func (s *starts) measure(took time.Duration) {
	if s.took == 0 {
		s.took = took
	}
	s.took += (took - s.took) / 4
}

// An obstacle is what a request waits for.
type obstacle struct {
	in  *host   // the authority or the scope that has no room; nil if there is room
	why Reason  // ReasonNone if there is room
	at  instant // when there is room, as far as is known; not after now if something else than time is in the way
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

// afterLast returns when a start may follow the last one in a gap. If n processes divide the
// limits, each keeps n times the gap.
func (h *host) afterLast(gap time.Duration) instant {
	n, parallel := h.share(), h.limits.Parallel
	if n == 1 {
		return h.starts.last + gap
	}
	wait := times(gap, n)
	if parallel > 0 && parallel < n {
		// Less than one request in flight: this gap keeps to it on average.
		wait = max(wait, times(h.starts.took, n)/time.Duration(parallel))
	}
	if h.divided {
		return h.starts.last + wait
	}
	// Others may have started until the store was lost.
	return max(h.starts.last, h.lease.othersUntil, min(h.lease.outage.lost, h.pacer.fleet.outage.lost)) + wait
}

// dueAfter returns when a start with this gap to the last one may happen, as far as this
// process knows, and what it waits for until then. It does not look at requests in flight.
func (h *host) dueAfter(gap time.Duration) obstacle {
	at := h.afterLast(gap)
	tries := h.breaker.probeDue()
	switch {
	case tries > never && tries >= max(at, h.pause.until):
		return obstacle{h, ReasonBreaker, tries}
	case h.pause.until >= at:
		return obstacle{h, h.pause.why, h.pause.until}
	case gap > h.ownGap:
		return obstacle{h, ReasonCrawlDelay, at}
	}
	return obstacle{h, ReasonGap, at}
}

// obstacleTo returns what the request with this number that keeps this gap waits for at h, apart
// from a lease.
func (h *host) obstacleTo(number uint64, gap time.Duration, now instant) obstacle {
	o := h.dueAfter(gap)
	if o.at > now {
		return o
	}
	older := h.oldest()
	switch {
	case h.breaker.atLimit(h.starts.unanswered, h.limits.Failures):
		return obstacle{h, ReasonBreaker, now}
	case h.starts.flying >= h.places():
		return obstacle{h, ReasonParallel, now}
	case older != nil && older.number < number || h.keptFrom(number):
		return obstacle{h, ReasonScope, now}
	}
	return obstacle{at: now}
}

// obstacleToFirst returns what the first in line waits for, and when it can start, as far as is known.
func (h *host) obstacleToFirst(now instant) obstacle {
	w := h.line.first()
	o := w.obstacle(now)
	for _, s := range w.scopes {
		if at := s.dueAfter(s.ownGap).at; at > max(o.at, now) {
			o = obstacle{s, ReasonScope, at}
		}
	}
	if o.in == nil { // w has not looked again yet
		o = obstacle{w.waitsFor.in, cmp.Or(w.waitsFor.why, ReasonFleet), now}
	}
	return o
}

// obstacleToNewcomer returns what a newcomer at h with this Crawl-delay and these scopes has to wait for.
//
// At h each waiter, and then the newcomer, starts at least its gap after the one before. So the
// newcomer's turn cannot come before the sum. In a scope it comes after all who wait there.
func (h *host) obstacleToNewcomer(scopes []*host, delay time.Duration, now instant) obstacle {
	var o obstacle
	number := h.pacer.arrivals + 1
	if last := h.line.last(); last == nil {
		o = h.obstacleTo(number, h.gap(h.starts.delay, delay), now)
	} else {
		o = h.obstacleToFirst(now)
		gaps := h.line.gaps - h.line.first().gap + h.gap(last.delay, delay)
		o.at += times(gaps, h.share())
	}
	for _, s := range scopes {
		other := s.obstacleTo(number, s.ownGap, now)
		if n := s.guests.count + s.line.len(); n > 0 {
			other = obstacle{s, ReasonScope, other.at + times(s.ownGap, n*s.share())}
		}
		if other.in != nil && (o.in == nil || other.at > o.at) {
			o = obstacle{s, ReasonScope, other.at}
		}
	}
	if k := missingLease(h, scopes, now); k != nil && k.turn(now) > max(o.at, now) {
		o = obstacle{k, ReasonFleet, k.turn(now)}
	}
	return o
}

// times returns n times d without overflow.
func times(d time.Duration, n int) time.Duration {
	return min(d, maxSpan/time.Duration(n)) * time.Duration(n)
}
