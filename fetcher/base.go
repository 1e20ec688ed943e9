package fetcher

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
)

// This file has the bases of a Transport and of its siblings, and keeps the connections of a
// host from one turn to the next.

// A route is a base and the address rule on it. Siblings by As share it, and Over makes another.
type route struct {
	base         http.RoundTripper
	network      *egress.Network // nil if err is not
	err          error           // why New would refuse the base
	idleReported atomic.Bool     // by reportIdle
}

// newRoute returns the route of a base. isDefault says that the program chose none, and owned
// that nobody else uses it.
func (e *engine) newRoute(base http.RoundTripper, isDefault, owned bool) *route {
	return &route{base: base, network: egress.New(base, egress.Options{
		Rule: addressRule(e.watch.log, e.opts.Egress), Pages: e.opts.PageEgress, Resolve: isDefault, Owned: owned,
	})}
}

// Over returns a Transport that makes its requests through another base: another proxy or
// another local address, for instance. It shares all the rest: cache, pace, fetches under way,
// hooks and counts. A fetch of robots.txt goes through the base of the Transport whose caller
// began it, and all who wait for it get the result. See Options.Base for what a base must
// do. Nil is the base of New. Over a base that New refuses, every call that may send a request
// fails with the error of New, and nothing is sent.
//
// A base has its own idle connections: keep it, and the Transport, for further requests.
func (t *Transport) Over(base http.RoundTripper) *Transport {
	r := t.engine.route
	if err := retrieve.CheckBase(base); err != nil {
		r = &route{base: base, err: err}
	} else if base != nil {
		r = t.engine.newRoute(base, false, false)
	}
	return &Transport{engine: t.engine, route: r, token: t.token}
}

// returnTime bounds how long CloseIdleConnections waits for the store of a fleet.
const returnTime = 2 * time.Second

// CloseIdleConnections passes the call on to the base. In a fleet it also returns the hosts that
// have no requests, as [pace.Pacer.ReturnIdle] does, which takes two seconds at most. So call it,
// or the method of this name of http.Client, at the end of a process.
func (t *Transport) CloseIdleConnections() {
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	t.engine.pacer.ReturnIdle(ctx)
	if t.route.err != nil {
		return
	}
	if c, ok := t.route.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	t.route.network.CloseIdle()
}

const (
	// idleConns is the number of idle connections that a base of our own keeps. A broad crawl
	// of 1,000 new hosts a second would leave 5,500 of them at the default pace. This bound
	// keeps the last 2,048, each for two seconds: four gaps. They are half of the 4,096 files
	// that many systems let a process open; the other half is for requests in flight.
	idleConns = 2048
	// idleSpare is how long after its next turn an idle connection is kept: a request that
	// comes a little late still finds it, and many servers keep it no longer.
	idleSpare = 5 * time.Second
)

// ownBase returns the base of a Transport whose Options.Base is nil: a clone of
// http.DefaultTransport whose idle connections last to the next turn of their host. A host
// that rests for longer keeps no connection.
func ownBase(limits *pace.Limits) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	if t.MaxIdleConns > 0 {
		t.MaxIdleConns = max(t.MaxIdleConns, idleConns)
	}
	t.MaxIdleConnsPerHost = max(t.MaxIdleConnsPerHost, limits.Parallel)
	if !limits.Off {
		t.IdleConnTimeout = limits.Gap + idleSpare
	}
	return t
}

// reportIdle reports once that more hosts wait or are in flight than the base keeps idle
// connections. Then net/http closes the connection of a host before its next turn, and each
// page needs a new one.
func (e *engine) reportIdle(r *route) {
	t, ok := r.base.(*http.Transport)
	if !ok || t.MaxIdleConns == 0 || t.DisableKeepAlives || r.idleReported.Load() {
		return
	}
	if s := e.pacer.Stats(); s.Waiting+s.InFlight <= t.MaxIdleConns {
		return // of which there are no fewer than hosts
	}
	hosts := 0
	for range e.pacer.Hosts() {
		hosts++
	}
	if hosts > t.MaxIdleConns && !r.idleReported.Swap(true) {
		e.watch.log.Warn("the base keeps fewer idle connections than there are hosts in flight: each page may need a new one", "max_idle_conns", t.MaxIdleConns, "hosts", hosts)
	}
}
