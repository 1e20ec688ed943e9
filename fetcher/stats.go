package fetcher

import (
	"iter"
	"net/http"
	"sync/atomic"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file has the counters of a Transport.

// counts are the counters behind Stats.
type counts struct {
	allowed, disallowed, deferred              atomic.Int64
	retrievals, requests, renewed, unreachable atomic.Int64
	storeHits, storeFailures                   atomic.Int64
}

// Stats counts what a Transport and its siblings by As have done since New.
// [Transport.Hosts] says which hosts keep requests waiting.
type Stats struct {
	// Decisions of Check and RoundTrip.
	Allowed    int64 `json:"allowed"`
	Disallowed int64 `json:"disallowed"`
	Deferred   int64 `json:"deferred"`

	Retrievals  int64 `json:"retrievals"`  // fetches of robots.txt, each with all its hops
	Requests    int64 `json:"requests"`    // requests made for them, each try by itself
	Renewed     int64 `json:"renewed"`     // fetches answered 304
	Unreachable int64 `json:"unreachable"` // fetches that left robots.txt unreachable (RFC 9309, section 2.3.1.4)

	StoreHits     int64 `json:"store_hits"`     // records taken from the store
	StoreFailures int64 `json:"store_failures"` // calls of the store that failed

	Authorities int   `json:"authorities"` // held in memory now
	Bytes       int64 `json:"bytes"`       // of memory in use for them: at most MaxBytes, but for a moment when one is put in

	Pace pace.Stats `json:"pace"` // what pacing did
}

// Stats returns the counts so far.
func (t *Transport) Stats() Stats {
	c := &t.engine.counts
	return Stats{
		Allowed: c.allowed.Load(), Disallowed: c.disallowed.Load(), Deferred: c.deferred.Load(),
		Retrievals: c.retrievals.Load(), Requests: c.requests.Load(), Renewed: c.renewed.Load(), Unreachable: c.unreachable.Load(),
		StoreHits: c.storeHits.Load(), StoreFailures: c.storeFailures.Load(),
		Authorities: t.engine.memory.records.Len(), Bytes: t.engine.memory.records.Bytes(),
		Pace: t.engine.pacer.Stats(),
	}
}

// Hosts iterates over the hosts that have requests in line or in flight, that pause, or
// that rest because they failed, as this process and its siblings by As see them. See
// [pace.Pacer.Hosts].
func (t *Transport) Hosts() iter.Seq[pace.HostStatus] { return t.engine.pacer.Hosts() }

// countDecision counts a decision.
func (c *counts) countDecision(v policy.Verdict) {
	switch v {
	case policy.Allow:
		c.allowed.Add(1)
	case policy.Defer:
		c.deferred.Add(1)
	default:
		c.disallowed.Add(1)
	}
}

// countFetch counts a fetch, and how it ended.
func (c *counts) countFetch(a policy.Attempt, rec *policy.Record) {
	c.retrievals.Add(1)
	switch access := rec.State(a.Received).Access; {
	case access == policy.Unreachable:
		c.unreachable.Add(1)
	case a.Status == http.StatusNotModified:
		c.renewed.Add(1)
	}
}
