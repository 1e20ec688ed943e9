package fetcher

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file has the state that all Transports of one New share.

// engine is what the Transports of one New share, whatever their token.
type engine struct {
	agent    string
	opts     Options // with the defaults filled in
	memory   *memory
	storage  *storage
	network  *egress.Network
	pacer    *pace.Pacer
	watch    *observer
	counts   counts
	flights  singleflight.Group
	inFlight sync.Map // of *flight by authority: the flights that have not ended
	fastPath bool     // RoundTrip may allow a request without making a Decision
	paced    bool     // requests wait for turns
}

// newEngine returns an engine with the defaults of the options filled in.
func newEngine(agent string, o Options) (*engine, error) {
	e := &engine{
		agent: agent, opts: o, watch: newObserver(o.Trace, o.Logger),
		fastPath: o.Override == nil && !o.PageEgress && (o.Trace == nil || o.Trace.Decided == nil),
	}
	if o.Scopes == nil {
		e.opts.Scopes = func(*url.URL) []pace.Scope { return nil }
	}
	e.opts.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	e.opts.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	e.opts.Attempts = cmp.Or(o.Attempts, defaultAttempts)
	e.opts.Schemes = slices.Clone(o.Schemes)
	e.opts.Profile = cmp.Or(o.Profile, policy.RFC9309()).Clone()
	if o.Base == nil {
		e.opts.Base = http.DefaultTransport
	}
	if n := len(e.opts.Profile.Name); o.Store != nil && n > maxName {
		return nil, fmt.Errorf("fetcher: the name of the profile is %d bytes long; want at most %d, because it is part of each key in the Store", n, maxName)
	}
	e.memory = newMemory(e.opts.MaxBytes)
	fleet, _ := o.Store.(cache.Leaser)
	e.storage = &storage{
		store: o.Store, fleet: fleet, profile: e.opts.Profile, memory: e.memory, watch: e.watch, counts: &e.counts, fetchTime: e.opts.Timeout,
		reads: newBreaker(), writes: newBreaker(), leases: newBreaker(), releases: newBreaker(),
	}
	e.network = egress.New(e.opts.Base, egress.Options{
		Rule: addressRule(e.watch.log, o.Egress), Pages: o.PageEgress, Resolve: o.Base == nil, MaxHeader: maxHeader,
	})
	limits := *cmp.Or(o.Pace, pace.Default())
	e.opts.Pace, e.paced = &limits, !limits.Off || o.Scopes != nil
	var err error
	if e.pacer, err = e.newPacer(limits); err != nil {
		return nil, err
	}
	return e, nil
}
