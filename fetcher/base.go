package fetcher

import (
	"net/http"
	"time"

	"github.com/rfc9309/polite/pace"
)

// This file keeps the connections of a host from one turn to the next.

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
func (e *engine) reportIdle() {
	t, ok := e.opts.Base.(*http.Transport)
	if !ok || t.MaxIdleConns == 0 || t.DisableKeepAlives || e.idleReported.Load() {
		return
	}
	if s := e.pacer.Stats(); s.Waiting+s.InFlight <= t.MaxIdleConns {
		return // of which there are no fewer than hosts
	}
	hosts := 0
	for range e.pacer.Hosts() {
		hosts++
	}
	if hosts > t.MaxIdleConns && !e.idleReported.Swap(true) {
		e.watch.log.Warn("the base keeps fewer idle connections than there are hosts in flight: each page may need a new one", "max_idle_conns", t.MaxIdleConns, "hosts", hosts)
	}
}
