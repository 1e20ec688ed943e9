package fetcher

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/rfc9309/polite/internal/records"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file has the Transport, what all Transports of one New share, and the methods for
// operators.

// Transport decides whether a crawler may fetch a URL, and as an
// http.RoundTripper fetches only what it may. It is safe for concurrent use and
// needs no closing. It has no goroutine between fetches of robots.txt.
//
// [Transport.RoundTrip] is what most callers want; [Transport.Check] decides
// without making the request.
type Transport struct {
	engine   *engine
	route    *route      // to the web
	token    string      // product tokens, separated by a comma and a space
	reported atomic.Bool // a request under another agent has been reported
}

// Token returns the product tokens that groups are looked up by, separated by a
// comma and a space.
func (t *Transport) Token() string { return t.token }

// As returns a Transport for the product token of another crawler, or for
// several as in Options.Token, on the same cache, pace and options. The agent
// stays the same and need not contain the token.
func (t *Transport) As(token string) (*Transport, error) {
	tokens, err := parseTokens(token)
	if err != nil {
		return nil, err
	}
	t.engine.records.Register(tokens)
	return &Transport{engine: t.engine, route: t.route, token: tokens}, nil
}

// Record returns what is known of the target's authority, for sitemaps and other
// records. It fetches robots.txt first if that is due. Its errors are the errors of
// Check, and a *pace.RefusedError if the turn came too late.
func (t *Transport) Record(ctx context.Context, target *url.URL) (*policy.Record, error) {
	v, err := t.visit(target, time.Now())
	if err == nil && v.rec == nil {
		err = t.joinFlight(ctx, &v, false)
	}
	return v.rec, err
}

// Refresh fetches the target's robots.txt now, due or not, and decides on the
// target by the result. It joins a fetch that is under way.
func (t *Transport) Refresh(ctx context.Context, target *url.URL) (policy.Decision, error) {
	v, err := t.visit(target, time.Now())
	if err != nil {
		return policy.Decision{}, err
	}
	if err := t.joinFlight(ctx, &v, true); err != nil {
		return t.decisionFor(ctx, target, err)
	}
	if d, ok := t.overridden(target); ok {
		return d, nil
	}
	return t.decideBy(&v), nil
}

// Invalidate forgets the target's authority, in memory and in the store: its
// rules, and since when it is down. A fetch that is under way starts again. The
// error comes from the store.
func (t *Transport) Invalidate(ctx context.Context, target *url.URL) error {
	key, err := t.engine.authority(target)
	if err != nil {
		return err
	}
	drop := func() {
		if f := t.engine.flightOf(key); f != nil {
			f.entry.Invalidate()
		}
		t.engine.records.Evict(key)
	}
	drop()
	defer drop() // a flight that began meanwhile may have read the store too early
	return t.engine.records.Forget(ctx, key)
}

// Cached returns the record of the target's authority in memory, due or not, without any I/O. It
// is nil if there is none.
func (t *Transport) Cached(target *url.URL) *policy.Record {
	rec, _, _ := t.engine.cached(target)
	return rec
}

// Records yields what the memory holds, by authority, in no order. Records may come
// and go meanwhile; the loop may call the Transport.
func (t *Transport) Records() iter.Seq2[string, *policy.Record] { return t.engine.records.All() }

// Stats counts what a Transport and its siblings by As and Over have done since New.
// [Transport.Hosts] says which hosts keep requests waiting.
type Stats struct {
	// Decisions of Check, RoundTrip and Admit.
	Allowed    int64 `json:"allowed"`
	Disallowed int64 `json:"disallowed"`
	Deferred   int64 `json:"deferred"`

	Retrievals  int64 `json:"retrievals"`  // fetches of robots.txt, each with all its hops; a fetch that gave two authorities a file counts for both
	Requests    int64 `json:"requests"`    // requests made for them, each try by itself
	Renewed     int64 `json:"renewed"`     // fetches answered 304
	Unreachable int64 `json:"unreachable"` // fetches that left robots.txt unreachable (RFC 9309, section 2.3.1.4)
	Waits       int64 `json:"waits"`       // waits for an unreachable robots.txt, by Options.Patience

	StoreHits     int64 `json:"store_hits"`     // records taken from the store
	StoreFailures int64 `json:"store_failures"` // calls of the store that failed

	Authorities int   `json:"authorities"` // held in memory now
	Bytes       int64 `json:"bytes"`       // of memory in use for authorities: at most MaxBytes, or a little more while one is added

	Pace pace.Stats `json:"pace"` // what pacing did
}

// Stats returns the counts so far.
func (t *Transport) Stats() Stats {
	c := &t.engine.watch.counts
	return Stats{
		Allowed: c.allowed.Load(), Disallowed: c.disallowed.Load(), Deferred: c.deferred.Load(),
		Retrievals: c.retrievals.Load(), Requests: c.requests.Load(), Renewed: c.renewed.Load(), Unreachable: c.unreachable.Load(), Waits: c.waits.Load(),
		StoreHits: t.engine.records.Hits(), StoreFailures: c.storeFailures.Load(),
		Authorities: t.engine.records.Len(), Bytes: t.engine.records.Bytes(),
		Pace: t.engine.pacer.Stats(),
	}
}

// Hosts iterates over the hosts that have requests in line or in flight, that pause, or
// that rest because they failed, as this process and its siblings by As and Over see them. See
// [pace.Pacer.Hosts].
func (t *Transport) Hosts() iter.Seq[pace.HostStatus] { return t.engine.pacer.Hosts() }

// Host returns the status of one authority or scope. It returns false for those that Hosts leaves out.
func (t *Transport) Host(authority string) (s pace.HostStatus, listed bool) {
	return t.engine.pacer.Host(authority)
}

// engine is what the Transports of one New share, whatever their token. It owns the records,
// the pacer and the flights.
type engine struct {
	agent     string
	agentLine []string // the User-Agent of pages that have none; never changed
	opts      Options  // with the defaults filled in
	records   *records.Cache
	retrieve  *retrieve.Settings
	route     *route // of the base of New
	pacer     *pace.Pacer
	watch     *observer
	unclosed  unclosedBodies

	pageTimedOut *waitError // the error of Options.PageTimeout

	waiting   waitingRoom
	flights   singleflight.Group
	flightsMu sync.Mutex
	inFlight  map[string]*flight // the flights that have not ended, by authority; guarded by flightsMu
	fastPath  bool               // nobody sees why RoundTrip allows a request
}

// newEngine returns an engine with the defaults of the options filled in.
func newEngine(agent string, o Options) (*engine, error) {
	e := &engine{
		agent: agent, agentLine: []string{agent}, opts: o,
		watch:    newObserver(o.Trace, o.Logger),
		inFlight: map[string]*flight{},
		fastPath: o.Override == nil && !o.PageEgress && (o.Trace == nil || o.Trace.Decided == nil),
	}
	e.opts.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	e.opts.Attempts = cmp.Or(o.Attempts, 2)
	e.opts.Schemes = slices.Clone(o.Schemes)
	e.opts.Profile = cmp.Or(o.Profile, policy.RFC9309()).Clone()
	limits := *cmp.Or(o.Pace, pace.Default()) // a copy, like the Profile
	e.opts.Pace = &limits
	e.opts.Timeout = cmp.Or(o.Timeout, max(30*time.Second, time.Duration(e.opts.Profile.Hops+1)*limits.Gap))
	owned := o.Base == nil && len(o.Schemes) == 0 // a clone would lack what serves the schemes
	switch {
	case owned:
		e.opts.Base = ownBase(e.opts.Pace)
	case o.Base == nil:
		e.opts.Base = http.DefaultTransport
	}
	e.unclosed.idle = e.opts.Timeout
	e.pageTimedOut = &waitError{fmt.Sprintf("a page for longer than Options.PageTimeout (%v)", o.PageTimeout), context.DeadlineExceeded}
	e.records = records.New(records.Settings{
		MaxBytes: e.opts.MaxBytes, Store: o.Store, Profile: e.opts.Profile, FetchTime: e.opts.Timeout,
		Changed: e.waiting.wake, Failed: e.watch.store, Log: e.watch.log,
	})
	e.retrieve = &retrieve.Settings{
		Profile: e.opts.Profile, Timeout: e.opts.Timeout, Attempts: e.opts.Attempts, PageEgress: o.PageEgress,
		Header: http.Header{"User-Agent": {agent}, "Accept": {"text/plain,*/*;q=0.5"}, "Accept-Encoding": {"gzip"}},
		Turn:   e.redirectTurn, Redirect: o.Redirect, Tried: e.watch.try, Log: e.watch.log,
	}
	if o.Sign != nil {
		e.retrieve.Sign = e.signed
	}
	e.route = e.newRoute(e.opts.Base, o.Base == nil, owned)
	var err error
	e.pacer, err = e.newPacer()
	return e, err
}
