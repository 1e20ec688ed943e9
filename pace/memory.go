package pace

import (
	"hash/maphash"
	"math"
	"strings"
	"time"
)

const (
	// maxHosts bounds the authorities remembered at rest.
	maxHosts = 1 << 18

	// honourHold is how long a start is remembered in mode Honour, for a
	// Crawl-delay that only the next request knows.
	honourHold = time.Hour

	// maxTold bounds the authorities whose Crawl-delay has been reported.
	maxTold = 1 << 16
)

// memory holds the hosts that still matter, in order of use. There is no
// sweeper: each use looks at the two hosts used longest ago, and drops those
// whose limits have lapsed. One host is added for two looked at, so what has
// lapsed cannot pile up.
type memory struct {
	limits         Limits
	hold           time.Duration // how long a start matters to a caller yet unknown
	byName         map[string]*host
	oldest, newest *host
	forgotten      uint64
}

func newMemory(l Limits) memory {
	hold := l.Gap
	switch l.Delay {
	case Cap:
		hold = max(hold, l.DelayCap)
	case Honour:
		hold = max(hold, honourHold)
	}
	return memory{limits: l, hold: hold, byName: make(map[string]*host)}
}

func (m *memory) find(authority string) *host { return m.byName[authority] }

// touch returns the host of an authority, made new if need be, as the one used
// last.
func (m *memory) touch(authority string, now instant) *host {
	// Sweep before the lookup, since a host without a turn may be dropped.
	m.sweep(now)
	h := m.byName[authority]
	if h == nil {
		// The name may be part of a long URL, which a copy does not keep alive.
		const never = math.MinInt64 / 2
		h = &host{authority: strings.Clone(authority), last: never, paused: never, until: never}
		m.byName[h.authority] = h
	} else {
		m.unlink(h)
	}
	m.append(h)
	return h
}

// sweep looks at the two hosts used longest ago. A host that still matters goes to
// the back, so that it does not hide others that have lapsed.
func (m *memory) sweep(now instant) {
	for range 2 {
		h := m.oldest
		if h == nil {
			return
		}
		m.unlink(h)
		switch {
		case h.busy():
			m.append(h)
		case h.lapsed(m.limits, m.hold, now):
			delete(m.byName, h.authority)
		case len(m.byName) > maxHosts:
			delete(m.byName, h.authority)
			m.forgotten++
		default:
			m.append(h)
		}
	}
}

// busy reports whether h has a request in flight or in line. Then it is never dropped.
func (h *host) busy() bool { return h.flying > 0 || h.line.first != nil }

// lapsed reports whether forgetting h changes nothing for later callers.
// A pause's level is remembered as long again as the pause.
func (h *host) lapsed(l Limits, hold time.Duration, now instant) bool {
	rest := max(hold, h.delay, h.adaptive(l))
	return now >= h.last+rest && now >= h.until+h.level
}

func (m *memory) append(h *host) {
	h.older, h.newer = m.newest, nil
	if m.newest == nil {
		m.oldest = h
	} else {
		m.newest.newer = h
	}
	m.newest = h
}

func (m *memory) unlink(h *host) {
	if h.older == nil {
		m.oldest = h.newer
	} else {
		h.older.newer = h.newer
	}
	if h.newer == nil {
		m.newest = h.older
	} else {
		h.newer.older = h.older
	}
	h.older, h.newer = nil, nil
}

// told remembers which authorities have been reported, by their hash: eight bytes
// each, however long the name. When full it starts again, so an authority may be
// reported again but none is passed over (but for a collision of 64 bits).
type told struct {
	seed maphash.Seed
	seen map[uint64]struct{}
}

func newTold() told {
	return told{seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})}
}

// first reports whether authority is new to it.
func (t *told) first(authority string) bool {
	sum := maphash.String(t.seed, authority)
	if _, ok := t.seen[sum]; ok {
		return false
	}
	if len(t.seen) >= maxTold {
		clear(t.seen)
	}
	t.seen[sum] = struct{}{}
	return true
}
