package pace

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/rfc9309/polite/internal/origin"
)

// How a turn with several scopes is given.
//
// A scope has room for a request if its gap has passed, fewer than Parallel requests are in
// flight, and nobody older waits for it. A request starts when its authority and all of its
// scopes have room, which is checked, and used up, in one step under one lock. A request that
// waits uses up nothing.
//
// Every request has a number, by arrival. The first in line at an authority looks at its
// scopes, in the order in which the caller gave them, and waits in the line of the first
// scope without room. Lines are ordered by number. When that scope has room for it, the
// request looks at all of them once more: it starts, or moves to the line of another scope.
// The requests behind it do not wait for its other scopes.
//
// So a request with two busy scopes could lose for ever: whenever one has room, a
// younger request has just taken the other. Therefore a request that has been overtaken once
// in this way holds younger requests back from the scopes before the one that it waits for, as
// soon as it is first in line there. See Scope for the order in which this costs least.
//
// There is no deadlock and no starvation, because only a younger request ever waits for
// an older one that has not started. The oldest of all waits for nothing but gaps and
// requests in flight, and both end. It is first in each line it joins, and after at most
// one loss it passes from scope to scope and starts. Then the next is the oldest.
//
// In a fleet a request also needs the leases of its scopes and of its authority. When all have room,
// it looks for their leases, from the last scope to the first, and then at its authority. It waits in
// the line of the first one whose lease is missing. So it asks for a lease only when it has the leases
// before it. The file lease.go says when a lease is returned.

// A Scope is a further limit that a request keeps, together with all other requests
// that name its Key: all requests to a domain, to an address, or of the whole crawler.
//
// Of its Limits, Gap, Parallel and MaxWait count, and the others may have any valid
// value: Crawl-delays, pauses and the health of a host concern the authority alone, and a
// Scope that is Off limits nothing. A Scope whose Key is the authority of
// the request is no further limit: its Limits replace the Limits of the Pacer for this
// authority, all of them, until a call gives others. All who use one Key should give the
// same Limits; if they differ, the last ones count for all.
//
// List the narrowest Scope first, such as a domain before the whole crawler. If a later request
// overtakes one that waits for a Scope, the scopes listed before that one are reserved for the
// request that waits, so that it does not starve.
type Scope struct {
	// Key names the scope. It must not be empty, and a request names each Key
	// once. Keys and authorities are the same set of names: with the Key
	// "https://example.com" a request counts as one at that authority, too.
	Key string

	// Limits are the limits of all requests in the scope together.
	Limits Limits

	// Divide says how the processes of a fleet keep the limits. If it is false, one process
	// at a time works in the scope, as at a host. If it is true, all work in it at once, and
	// each of n processes keeps an n-th of the limits: n times the Gap, and an n-th of Parallel,
	// at least 1. Set it for a scope that all use all the time, such as the crawler as a whole.
	// All who use one Key should give the same Divide.
	Divide bool
}

// guests is what a host knows of requests of other authorities, for which it is a scope.
type guests struct {
	waiters list.List // the oldest waiter of each class that waits for room here, by number
	count   int       // number of waiters of all these classes
	pending int       // number of requests in the lines of other authorities that need a turn here
	keptFor *waiter   // the waiter for which younger ones are held back; nil if there is none
}

// first returns the oldest guest, or nil.
func (g *guests) first() *waiter { return waiterAt(g.waiters.Front()) }

// Domain returns the registrable domain of a host as the Key of a [Scope]:
// "example.co.uk" for "www.example.co.uk", by the public suffix list. The host may have
// a port, which does not count. An address, and a host that is itself a public suffix,
// is returned in canonical form. Another Key that is the name of a host needs a prefix, such
// as "host ", since a domain may be a host, too.
func Domain(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	name, err := origin.Host(strings.Trim(host, "[]"))
	if err != nil {
		return host
	}
	if _, err := netip.ParseAddr(name); err == nil || name[0] == '[' {
		return name
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return domain
	}
	return name
}

// Address returns the address that a host name resolves to as the Key of a [Scope]. Of
// several it is the lowest IPv4 address, or else the lowest IPv6 address, whatever their
// order. lookup is LookupNetIP of a net.Resolver; nil is that of net.DefaultResolver.
//
// Each call is a look-up, which can take seconds and which Go does not cache. So a crawler
// remembers the answers for some minutes. Thousands of sites can share an address of a
// hosting company, which may or may not be one server.
func Address(ctx context.Context, host string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) (string, error) {
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	addrs, err := lookup(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	if len(addrs) == 0 {
		return "", fmt.Errorf("pace: %.200q has no address", host)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
	}
	return slices.MinFunc(addrs, netip.Addr.Compare).String(), nil // IPv4 is before IPv6
}

// hostsOf returns the host of an authority and the hosts of its scopes, made new if
// need be. The slice is valid until the next call.
func (p *Pacer) hostsOf(authority string, scopes []Scope, now instant) (*host, []*host, error) {
	p.hosts.sweep(now) // before the lookups, since a host without a turn may be dropped
	h := p.hostOf(authority)
	p.scopes = p.scopes[:0]
	for i := range scopes {
		key := scopes[i].Key
		if key == "" {
			return nil, nil, errors.New("pace: the Key of a Scope is empty; want a name")
		}
		s := h
		if key != authority {
			s = p.hostOf(key)
		}
		if err := s.setLimits(&scopes[i].Limits); err != nil {
			return nil, nil, fmt.Errorf("scope %.200q: %w", key, err)
		}
		if s.divided = scopes[i].Divide; s.divided {
			p.register(now)
		}
		for j := range i {
			if scopes[j].Key == key {
				return nil, nil, fmt.Errorf("pace: two scopes have the Key %.200q; want one", key)
			}
		}
		if s != h {
			p.scopes = append(p.scopes, s)
		}
	}
	return h, p.scopes, nil
}

// setLimits gives h the limits l, if they are valid.
func (h *host) setLimits(l *Limits) error {
	filled := l.filled()
	if h.limits.equal(&filled) {
		return nil
	}
	if err := l.check(); err != nil {
		return err
	}
	own := filled // only this copy is on the heap
	h.limits, h.ownGap = &own, own.gapOf(h.authority)
	h.line.updateGaps()
	h.wake()
	return nil
}

// equal reports whether two filled limits are the same.
func (l *Limits) equal(m *Limits) bool {
	return l.Gap == m.Gap && l.FreeLoopback == m.FreeLoopback && l.Delay == m.Delay && l.DelayCap == m.DelayCap &&
		l.Parallel == m.Parallel && l.Pause == m.Pause && l.MaxWait == m.MaxWait &&
		l.Failures == m.Failures && l.Rest == m.Rest && l.RestMax == m.RestMax &&
		l.Off == m.Off && maps.Equal(l.Statuses, m.Statuses)
}

// oldest returns the oldest waiter in the line of h and among its guests, or nil.
func (h *host) oldest() *waiter {
	own, guest := h.line.first(), h.guests.first()
	if own == nil || guest != nil && guest.number < own.number {
		return guest
	}
	return own
}

// keptFrom reports whether the request with this number is held back from h for an older one. If h has
// no gap and more than one free place, only the last place is kept.
func (h *host) keptFrom(number uint64) bool {
	if h.guests.keptFor == nil || h.guests.keptFor.number >= number {
		return false
	}
	return h.ownGap > 0 || h.starts.flying+1 >= h.places()
}

// A class is the requests that wait for scopes and name the same ones in the same order,
// each from another authority. While the oldest has to wait, so have all. So only the oldest
// waits in the line of a scope, and the others wait behind it. With 8,000 hosts of one
// domain in line a turn then takes a tenth of a millisecond; if all moved from line to line,
// it would take 4 milliseconds.
type class struct {
	name     className
	waiters  list.List     // by number
	in       *host         // the scope in whose line the oldest waits; nil between two lines
	inGuests *list.Element // of the oldest, in the guests of in
}

// A className is the scopes of a class. A request with more than four scopes is a class of its
// own, with its authority twice as the name, since no request names a scope twice.
type className [4]*host

// className returns the name of w's class.
func (w *waiter) className() (name className) {
	if copy(name[:], w.scopes) < len(w.scopes) {
		return className{w.host, w.host}
	}
	return name
}

// oldest returns the oldest request of the class.
func (c *class) oldest() *waiter { return waiterAt(c.waiters.Front()) }

// joinClass makes w wait in the line of a scope, or behind an older request of its class.
func (w *waiter) joinClass(in *host) {
	p, name := w.host.pacer, w.className()
	c := p.classes[name]
	if c == nil {
		c = &class{name: name}
		p.classes[name] = c
	}
	behind := c.in != nil && c.oldest().number < w.number
	if !behind {
		c.moveTo(nil)
	}
	w.class, w.inClass = c, insertByNumber(&c.waiters, w)
	if behind {
		c.in.guests.count++
	} else {
		c.moveTo(in)
	}
}

// leaveClass takes w out of its class, if it is in one. The next in the class takes its
// place.
func (w *waiter) leaveClass() {
	c := w.class
	if c == nil {
		return
	}
	in, first := c.in, c.oldest() == w
	if first {
		c.moveTo(nil)
	} else {
		in.guests.count--
	}
	c.waiters.Remove(w.inClass)
	w.class = nil
	switch {
	case c.oldest() == nil:
		delete(w.host.pacer.classes, c.name)
	case first:
		c.moveTo(in)
		in.wake()
	}
}

// moveTo takes the oldest of the class out of the line of its scope, frees the room that is kept
// for it, and puts it in the line of in. Nil is no line.
func (c *class) moveTo(in *host) {
	w := c.oldest()
	if c.in != nil {
		c.in.guests.waiters.Remove(c.inGuests)
		c.in.guests.count -= c.waiters.Len()
		c.in.wake()
		for _, s := range w.scopes {
			if s.guests.keptFor == w {
				s.guests.keptFor = nil
				s.wake()
			}
		}
	}
	c.in = in
	if in != nil {
		c.inGuests = insertByNumber(&in.guests.waiters, w)
		in.guests.count += c.waiters.Len()
		c.keepRoom()
	}
}

// waitIn makes w, the first in line at its authority, wait in the line of in. If in is the
// authority, w leaves the line of a scope.
func (w *waiter) waitIn(in *host, now instant) {
	switch c := w.class; {
	case in == w.host:
		w.leaveClass()
	case c == nil:
		w.joinClass(in)
	case c.oldest() != w:
	case in == c.in:
		c.keepRoom()
	default:
		// The scope that w waited for has room now, and the next has none, since a younger
		// request has started there.
		if o := c.in.obstacleTo(w.number, c.in.ownGap, now); o.in == nil && in.starts.youngest > w.number {
			w.overtaken = true
		}
		c.moveTo(in)
	}
}

// insertByNumber puts w in a line that is ordered by number. It looks for the place from both
// ends, since w is either new or among the oldest.
func insertByNumber(line *list.List, w *waiter) *list.Element {
	front, back := line.Front(), line.Back()
	for ; front != nil; front, back = front.Next(), back.Prev() {
		if waiterAt(back).number < w.number {
			return line.InsertAfter(w, back)
		}
		if waiterAt(front).number > w.number {
			return line.InsertBefore(w, front)
		}
	}
	return line.PushFront(w)
}

// keepRoom holds requests that are younger than the oldest of the class back from the scopes before the
// one that it waits for, if it has been overtaken and is first in line.
func (c *class) keepRoom() {
	w := c.oldest()
	if !w.overtaken || c.in.guests.waiters.Front() != c.inGuests {
		return
	}
	for _, s := range w.scopes {
		switch {
		case s == c.in:
			return
		case s.guests.keptFor == nil || s.guests.keptFor.number > w.number:
			s.guests.keptFor = w
		}
	}
}
