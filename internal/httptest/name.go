package httptest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// In a test the default resolver does not use a name server, so that a name fails at once if it is not in the hosts file. A test
// that needs a resolver gives [Web.LookupNetIP] to its client.
//
// The first lookup of a process makes channels that package net keeps. It is made here, because a channel of one synctest
// bubble ends the program when the next bubble uses it.
func init() {
	if !testing.Testing() {
		return
	}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("httptest: no name server")
	}}
	net.DefaultResolver.LookupNetIP(context.Background(), "ip4", "localhost")
}

// A Name is one answer of the domain name system, see [Web.Names].
type Name struct {
	addrs     []netip.Addr
	err       string // error of the resolver, or "" if addrs is the answer
	temporary bool   // the failure is temporary (SERVFAIL), unlike NXDOMAIN
	silent    bool   // the resolver never answers
}

// Addrs answers with these addresses, in this order. It panics if a literal is not an address.
func Addrs(addrs ...string) Name {
	n := Name{}
	for _, a := range addrs {
		n.addrs = append(n.addrs, netip.MustParseAddr(a))
	}
	return n
}

// NoSuchHost answers that the name does not exist: a *net.DNSError whose IsNotFound is set.
func NoSuchHost() Name { return Name{err: "no such host"} }

// ServFail fails temporarily: a *net.DNSError whose IsTemporary is set.
func ServFail() Name { return Name{err: "server misbehaving", temporary: true} }

// NoAnswer never answers: the lookup waits until its context ends, or gives up after 10 s with a *net.DNSError
// whose IsTimeout is set.
func NoAnswer() Name { return Name{silent: true} }

// resolverTimeout is how long a lookup waits for a silent name server: two tries of 5 s, as in resolv.conf(5).
const resolverTimeout = 10 * time.Second

// A Lookup is one question to the resolver of the web. A literal address is not a question.
type Lookup struct {
	Time  time.Time
	Host  string
	Addrs []netip.Addr
	Err   error
	Via   string // origin of the proxy that made the lookup, or "" for the client
}

// A host is a name in the web, with its addresses and the answers of the resolver.
type host struct {
	name   string
	home   []netip.Addr // addresses at which its servers listen
	script script[Name] // answers of the resolver; if empty, the answer is home
}

// Names scripts what the resolver answers for a host: the answers are used in order and the last one repeats.
// It does not move the servers of the host; see [Site.At] for that. Without a script, a host that has a site
// resolves to the address of the site and any other does not exist.
func (w *Web) Names(name string, answers ...Name) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hostLocked(canonicalHost(name)).script.set(answers)
}

// LookupNetIP resolves host with the resolver of the web. It has the signature and the errors of
// [net.Resolver.LookupNetIP]; network is "ip", "ip4" or "ip6".
func (w *Web) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	return w.lookup(ctx, "", network, name)
}

func (w *Web) lookup(ctx context.Context, via, network, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		addrs := ofFamily(network, []netip.Addr{a})
		if len(addrs) == 0 {
			return nil, &net.AddrError{Err: "no suitable address found", Addr: name}
		}
		return addrs, nil
	}
	addrs, err := w.resolve(ctx, canonicalHost(name))
	if addrs = ofFamily(network, addrs); err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, Lookup{Time: time.Now(), Host: name, Addrs: addrs, Err: err, Via: via})
	return slices.Clone(addrs), err
}

func (w *Web) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	answer := w.answerFor(name)
	switch {
	case answer.silent:
		return nil, w.noAnswer(ctx, name)
	case ctx.Err() != nil:
		return nil, &net.DNSError{Err: ctx.Err().Error(), UnwrapErr: ctx.Err(), Name: name}
	case answer.err != "":
		return nil, &net.DNSError{Err: answer.err, Name: name, Server: "192.0.2.53:53", IsTemporary: answer.temporary, IsNotFound: !answer.temporary}
	}
	return answer.addrs, nil
}

// noAnswer waits like a resolver whose name server is silent.
func (w *Web) noAnswer(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, resolverTimeout)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-w.ctx.Done():
	}
	timeout := ctx.Err() != context.Canceled
	return &net.DNSError{Err: "i/o timeout", UnwrapErr: ctx.Err(), Name: name, IsTimeout: timeout, IsTemporary: timeout}
}

// answerFor returns the next answer of the script of a name.
func (w *Web) answerFor(name string) Name {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.findLocked(name)
	if h == nil {
		return NoSuchHost()
	}
	if answer, ok := h.script.next(); ok {
		return answer
	}
	if len(h.home) == 0 {
		return NoSuchHost()
	}
	return Name{addrs: h.home}
}

// findLocked returns the host with this name, or the closest wildcard above it.
func (w *Web) findLocked(name string) *host {
	if h := w.hosts[name]; h != nil {
		return h
	}
	for rest := name; ; {
		_, above, ok := strings.Cut(rest, ".")
		if !ok {
			return nil
		}
		if h := w.hosts["*."+above]; h != nil {
			return h
		}
		rest = above
	}
}

// hostLocked returns the host of a name and makes it if there is none.
func (w *Web) hostLocked(name string) *host {
	h := w.hosts[name]
	if h == nil {
		h = &host{name: name}
		w.hosts[name] = h
	}
	return h
}

// ofFamily keeps the addresses that network ("ip4", "tcp6", ...) permits.
func ofFamily(network string, addrs []netip.Addr) []netip.Addr {
	var kept []netip.Addr
	for _, a := range addrs {
		four := a.Unmap().Is4()
		if four && strings.HasSuffix(network, "6") || !four && strings.HasSuffix(network, "4") {
			continue
		}
		kept = append(kept, a)
	}
	return kept
}

// A list is a script: its elements are used in order and the last one repeats.
type script[E any] struct {
	elems []E
	used  int
}

func (l *script[E]) set(elems []E) { l.elems, l.used = slices.Clone(elems), 0 }

// next returns the next element. ok is false for an empty script.
func (l *script[E]) next() (e E, ok bool) {
	if len(l.elems) == 0 {
		return e, false
	}
	e = l.elems[min(l.used, len(l.elems)-1)]
	l.used++
	return e, true
}
