package pace

import (
	"math"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	// maxHosts bounds the authorities remembered at rest.
	maxHosts = 1 << 18

	// honourKeep is how long a start is remembered in mode Honour, for a
	// Crawl-delay that only the next request knows.
	honourKeep = time.Hour
)

// never is a moment before all others.
const never instant = math.MinInt64 / 2

// memory holds the hosts that still matter. There is no sweeper: each use looks at
// the next host, and at two more for each host added since the last use, and drops
// the hosts whose limits have lapsed. So lapsed hosts cannot pile up. If there are too many hosts,
// one that was used since the last look is kept.
type memory struct {
	byName    map[string]*host
	all       []*host // the hosts of byName, in no order
	hand      int     // index in all of the next host to look at
	added     int     // number of hosts added since the last sweep
	forgotten uint64  // hosts dropped before their limits had lapsed
}

// keep returns how long a start can matter to callers that come later.
func (l *Limits) keep() time.Duration {
	switch l.Delay {
	case Cap:
		return max(l.Gap, l.DelayCap)
	case Honour:
		return max(l.Gap, honourKeep)
	}
	return l.Gap
}

// hostOf returns the host of an authority or a scope, made new if need be.
func (p *Pacer) hostOf(authority string) *host {
	m := &p.hosts
	h := m.byName[authority]
	if h != nil {
		h.usedLately = true
	} else {
		m.added++
		h = p.newHost(strings.Clone(authority)) // it may be part of a long URL, which a copy does not keep alive
		m.byName[h.authority] = h
		m.all = append(m.all, h)
	}
	return h
}

// newHost returns a host of which nothing is known.
func (p *Pacer) newHost(authority string) *host {
	return &host{pacer: p, authority: authority, limits: &p.limits, ownGap: p.limits.gapOf(authority), starts: starts{last: never}, pause: pause{set: never, until: never}}
}

// gapOf returns the gap at an authority: 0 if FreeLoopback applies.
func (l *Limits) gapOf(authority string) time.Duration {
	if l.FreeLoopback && isLoopback(authority) {
		return 0
	}
	return l.Gap
}

// isLoopback reports whether an authority, "scheme://host:port", is on this machine.
func isLoopback(authority string) bool {
	u, err := url.Parse(authority)
	if err != nil {
		return false
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, _ := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || addr.IsLoopback()
}

// sweep looks at the next hosts.
func (m *memory) sweep(now instant) {
	n := 1 + 2*m.added
	m.added = 0
	for range min(n, len(m.all)) {
		if m.hand >= len(m.all) {
			m.hand = 0
		}
		h := m.all[m.hand]
		lapsed := h.lapsed(now)
		if h.busy() || h.lease != nil || !lapsed && (h.usedLately || len(m.all) <= maxHosts) {
			h.usedLately = false
			m.hand++
			continue
		}
		if !lapsed {
			m.forgotten++
		}
		last := len(m.all) - 1
		m.all[m.hand], m.all[last] = m.all[last], nil
		m.all = m.all[:last]
		delete(m.byName, h.authority)
	}
}

// busy reports whether a request is in flight at h, or needs a turn there and waits in any line.
func (h *host) busy() bool { return h.starts.flying > 0 || h.guests.pending > 0 || h.line.len() > 0 }

// lapsed reports whether forgetting h changes nothing for later callers.
func (h *host) lapsed(now instant) bool { return now >= h.lapse() }

// lapse returns when forgetting h will change nothing for later callers, if nobody uses it.
// After a pause its level is remembered for as long as the level itself, and what is known of a
// host in trouble for RestMax.
func (h *host) lapse() instant {
	at := max(h.starts.last+max(h.limits.keep(), h.starts.delay), h.pause.until+h.pause.level)
	if b := h.breaker; b != nil && (b.troubled() || b.rest > 0) {
		at = max(at, max(h.starts.last, h.pause.until)+h.limits.RestMax)
	}
	return at
}
