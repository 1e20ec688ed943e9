package pace

import (
	"iter"
	"time"
)

// A HostStatus says what the next request at an authority waits for.
type HostStatus struct {
	// Authority is the authority, as the callers write it, or the Key of a Scope.
	Authority string `json:"authority"`
	// Waiting is the number of callers in line. The sum over all authorities is
	// Stats.Waiting.
	Waiting int `json:"waiting"`
	// Guests is the number of callers that wait for this scope. Each is in the line of
	// its authority, too.
	Guests int `json:"guests,omitempty"`
	// InFlight is the number of turns that have not ended.
	InFlight int `json:"in_flight"`
	// Since is when the first in line, or the first guest, came. It is zero if nobody
	// waits.
	Since time.Time `json:"since,omitzero"`
	// Next is when the next request can start. If requests in flight are in the way,
	// it is the earliest possible moment.
	Next time.Time `json:"next"`
	// Reason is what the next request waits for, ReasonNone if it may start now.
	Reason Reason `json:"reason,omitempty"`
	// Scope is the Key of the Scope that the first in line waits for, with ReasonScope.
	Scope string `json:"scope,omitempty"`
	// Trouble says what failed at a host that rests or is being probed, how often, and when
	// the next request tries, in words fit for a log.
	Trouble string `json:"trouble,omitempty"`
}

// hostsAtOnce is the number of hosts that are looked at under one lock, for about ten microseconds.
const hostsAtOnce = 256

// Hosts iterates over the authorities and scopes that have callers in line or requests
// in flight, that pause, or whose breaker is open, in no order. Each status is true for a
// moment during the iteration. The loop may call the Pacer, because no lock is held
// between two statuses. With 262,144 authorities the iteration takes about 20
// milliseconds, and no turn waits for it longer than about a quarter of a millisecond.
func (p *Pacer) Hosts() iter.Seq[HostStatus] {
	return func(yield func(HostStatus) bool) {
		var found []HostStatus
		for all := p.allHosts(); len(all) > 0; {
			n := min(hostsAtOnce, len(all))
			found = p.appendStatuses(found[:0], all[:n])
			all = all[n:]
			for _, s := range found {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Host returns the status of one authority or scope. It returns false for those that Hosts leaves
// out.
func (p *Pacer) Host(authority string) (s HostStatus, listed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, now := p.hosts.byName[authority], p.now()
	if h == nil || !h.listed(now) {
		return HostStatus{}, false
	}
	return h.status(now, time.Now()), true
}

// allHosts returns a copy of the list of hosts. A host that is forgotten later keeps
// nobody waiting.
func (p *Pacer) allHosts() []*host {
	p.mu.Lock()
	n := len(p.hosts.all)
	p.mu.Unlock()
	all := make([]*host, 0, n+n/64) // without the lock
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(all, p.hosts.all...)
}

// appendStatuses appends the status of each host that has one to show.
func (p *Pacer) appendStatuses(found []HostStatus, hosts []*host) []HostStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, wall := p.now(), time.Now()
	for _, h := range hosts {
		if h.listed(now) {
			found = append(found, h.status(now, wall))
		}
	}
	return found
}

// listed reports whether h has a status to show.
func (h *host) listed(now instant) bool {
	return h.busy() || h.pause.until > now || h.breaker != nil && h.breaker.open && !h.lapsed(now)
}

// status returns the status of h. now and wall are the same moment, by the two clocks.
func (h *host) status(now instant, wall time.Time) HostStatus {
	s := HostStatus{Authority: h.authority, Waiting: h.line.len(), Guests: h.guests.count, InFlight: h.starts.flying}
	w, o := h.oldest(), obstacle{}
	switch {
	case w == nil:
		o = h.obstacleToNewcomer(nil, 0, now)
	case w.host != h:
		o = h.obstacleTo(w.number, h.ownGap, now)
	default:
		o = h.obstacleToFirst(now)
	}
	if w != nil {
		s.Since = wall.Add(w.came - now).Round(0)
	}
	s.Next, s.Reason = wall.Add(o.at-now).Round(0), o.why
	if o.why == ReasonScope {
		s.Scope = o.in.authority
	}
	if h.breaker != nil && (h.breaker.open || s.Reason == ReasonBreaker) {
		s.Trouble = h.trouble(now)
	}
	return s
}
