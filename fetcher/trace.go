package fetcher

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file reports what happens, to hooks and to a log, and calls code that may panic or block.

// Trace has hooks that a Transport calls. A nil hook costs nothing. A panic in a
// hook is caught and logged.
//
// Decided runs on the goroutine of the caller. Every other hook runs on a goroutine of
// its own, while the request or the fetch that caused it waits. No lock is held, and a
// hook may call the Transport. But a hook that a fetch calls, such as Try, must not
// wait for a fetch of the same authority: it would wait for ever.
//
// An authority has one fetch at a time: all requests for a robots.txt between two
// calls of Fetched belong to the later call. Authorities are written as
// [Authority] writes them.
type Trace struct {
	// Decided gets every decision of Check, RoundTrip and Admit, one for each call.
	// For a request that may go out it is called after the wait for its turn. If the context
	// ends that wait, the decision is a Defer, though the call returns an error.
	Decided func(ctx context.Context, d policy.Decision)

	// Agent gets the first User-Agent of a page request that does not contain the
	// product token, once for each Transport (RFC 9309, section 2.2.1).
	Agent func(sent string)

	// Try gets every request for a robots.txt: each hop, and each try of a hop. It also gets
	// the two further requests of Profile.ProbeMissing.
	Try func(Try)

	// Fetched gets every fetch and the record learnt from it, which is already in
	// force. The attempt, its headers and its body must not be changed, and the body
	// must not be kept: copy it. A file that a redirect led to is reported twice if it is
	// also kept for its own authority: once for each. With the text and the times Learn and Decide give the
	// same decisions again.
	Fetched func(policy.Attempt, *policy.Record)

	// Store gets every failure of the store: op is "get", "put", "delete",
	// "lease" or "load", the last for a value that is not what was put there.
	// The failure changes no decision.
	Store func(op, authority string, err error)

	// Fleet gets the error when the store stops keeping the pace of the fleet,
	// so that each process keeps its own, and nil when it does so again.
	Fleet func(err error)

	// Waited gets every wait for a turn when it is over. The reason is the text of a
	// [pace.Reason], fit for a metric's label: what the request waited for last.
	// Decision.Pacing also names the scope. It gets every wait by Options.Patience, too, with the
	// reason "unreachable".
	Waited func(authority string, wait time.Duration, reason string)

	// Unclosed gets the URL of a page whose answer has a body that is open since then, and that
	// nobody has read for Options.Timeout: the first one of each authority. The program has
	// forgotten to close it. The body keeps its connection, but no longer its turn.
	Unclosed func(url string, since time.Time)

	// Delay is called once for each authority whose Crawl-delay is not obeyed in
	// full.
	Delay func(authority string, asked, obeyed time.Duration)
}

// A Try is one request for a robots.txt: one try of one hop.
type Try struct {
	Robots string // the robots.txt that is fetched, as in the Attempt of Fetched
	URL    string // the URL requested: Robots itself, where a redirect led, or a URL of Profile.ProbeMissing
	Number int    // 1 for the first try of a hop
	Status int    // 0 without an answer
	Start  time.Time
	Took   time.Duration // until the body was read
	Err    error         // a *policy.Failure, nil for an answer
}

// maxLog bounds text of a server in the log, in bytes.
const maxLog = 300

// observer counts what happens, writes the log and calls the hooks. Each of its methods is
// named after the hook that it calls.
type observer struct {
	trace  Trace
	log    *slog.Logger
	counts counts

	storeFailures rareWarning
}

// counts are the counters behind Stats.
type counts struct {
	allowed, disallowed, deferred                     atomic.Int64
	retrievals, requests, renewed, unreachable, waits atomic.Int64
	storeFailures                                     atomic.Int64
}

// newObserver returns an observer; both arguments may be nil.
func newObserver(t *Trace, l *slog.Logger) *observer {
	o := &observer{log: l}
	if t != nil {
		o.trace = *t
	}
	if l == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	return o
}

// runHook runs a hook on a goroutine of its own, and waits for it. A panic or Goexit is
// caught and logged.
func (o *observer) runHook(hook string, f func()) {
	if err := callBounded(context.Background(), o.log, func() error { f(); return nil }); err != nil {
		o.log.Warn("a hook did not return", "hook", hook, "error", clean.Text(err.Error(), maxLog))
	}
}

// decided counts a decision, and calls the hook on the goroutine of the caller. A panic is caught.
// If the hook ends the goroutine, decided calls cleanUp, which may be nil.
func (o *observer) decided(ctx context.Context, d *policy.Decision, cleanUp func()) {
	switch d.Verdict {
	case policy.Allow:
		o.counts.allowed.Add(1)
	case policy.Defer:
		o.counts.deferred.Add(1)
	default:
		o.counts.disallowed.Add(1)
	}
	if o.trace.Decided == nil {
		return
	}
	returned := false
	defer func() {
		if x := recover(); x != nil {
			o.log.Warn("a hook did not return", "hook", "Decided", "error", clean.Text(fmt.Sprint(x), maxLog))
		} else if !returned && cleanUp != nil {
			cleanUp()
		}
	}()
	o.trace.Decided(ctx, *d)
	returned = true
}

func (o *observer) agent(sent, token string) {
	o.log.Warn("the User-Agent sent does not contain the product token", "sent", clean.Text(sent, maxLog), "token", token)
	if o.trace.Agent != nil {
		o.runHook("Agent", func() { o.trace.Agent(sent) })
	}
}

func (o *observer) try(t retrieve.Try) {
	o.counts.requests.Add(1)
	if o.trace.Try != nil {
		o.runHook("Try", func() { o.trace.Try(Try(t)) })
	}
}

func (o *observer) fetched(a *policy.Attempt, r *policy.Record) {
	o.counts.retrievals.Add(1)
	if r.State(a.Received).Access == policy.Unreachable {
		o.counts.unreachable.Add(1)
	} else if a.Status == http.StatusNotModified {
		o.counts.renewed.Add(1)
	}
	if o.log.Enabled(context.Background(), slog.LevelDebug) {
		attrs := []any{"robots", clean.Text(a.Robots, maxLog), "served", clean.Text(a.Served, maxLog), "status", a.Status,
			"hops", len(a.Hops), "took", a.Received.Sub(a.Sent), "next", r.NextTry()}
		if a.Err != nil {
			attrs = append(attrs, "error", clean.Text(a.Err.Error(), maxLog))
		}
		o.log.Debug("robots.txt fetched", attrs...)
	}
	if o.trace.Fetched != nil {
		o.runHook("Fetched", func() { o.trace.Fetched(*a, r) })
	}
}

// store logs the first failure, and then at most one a minute with the number of failures since
// the last warning: a store that is down fails several times for each authority.
func (o *observer) store(op, authority string, err error) {
	o.counts.storeFailures.Add(1)
	if n := o.storeFailures.warnNow(time.Now()); n > 0 {
		o.log.Warn("error of the robots.txt store", "op", op, "authority", authority, "error", clean.Text(err.Error(), maxLog), "failures", n)
	}
	if o.trace.Store != nil {
		o.runHook("Store", func() { o.trace.Store(op, authority, err) })
	}
}

func (o *observer) waitedForRobots(authority string, wait time.Duration) {
	o.counts.waits.Add(1)
	o.waited(authority, wait, "unreachable")
}

func (o *observer) waited(authority string, wait time.Duration, why pace.Reason) {
	if o.trace.Waited != nil {
		o.runHook("Waited", func() { o.trace.Waited(authority, wait, string(why)) })
	}
}

func (o *observer) fleet(err error) {
	if err != nil {
		o.log.Warn("the fleet's pace is lost, each process keeps its own", "error", clean.Text(err.Error(), maxLog))
	} else {
		o.log.Info("the fleet keeps one pace again")
	}
	if o.trace.Fleet != nil {
		o.runHook("Fleet", func() { o.trace.Fleet(err) })
	}
}

func (o *observer) unclosed(url string, since time.Time) {
	o.log.Warn("a body is neither read nor closed", "url", clean.Text(url, maxLog), "since", since)
	if o.trace.Unclosed != nil {
		o.runHook("Unclosed", func() { o.trace.Unclosed(url, since) })
	}
}

func (o *observer) delay(authority string, asked, obeyed time.Duration) {
	o.log.Info("crawl-delay not obeyed in full", "authority", authority, "asked", asked, "obeyed", obeyed)
	if o.trace.Delay != nil {
		o.runHook("Delay", func() { o.trace.Delay(authority, asked, obeyed) })
	}
}

// callBounded is bounded.Call for a function that returns only an error.
func callBounded(ctx context.Context, log *slog.Logger, f func() error) error {
	_, err := bounded.Call(ctx, log, func(context.Context) (struct{}, error) { return struct{}{}, f() }, nil)
	return err
}

// rareWarning limits a warning to one a minute.
type rareWarning struct {
	mu     sync.Mutex
	next   time.Time // when the next warning may be written
	events int       // since the last warning
}

// warnNow counts an event. It returns how many to warn of, or 0 if there was a warning less than a
// minute ago.
func (w *rareWarning) warnNow(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	if now.Before(w.next) {
		return 0
	}
	n := w.events
	w.next, w.events = now.Add(time.Minute), 0
	return n
}

// addressRule returns Options.Egress as a function that never panics; nil if it is not set.
// net/http may call the rule on a goroutine of its own, where a panic would end the program.
func addressRule(log *slog.Logger, rule func(netip.Addr) error) func(context.Context, netip.Addr) error {
	if rule == nil {
		return nil
	}
	return func(ctx context.Context, addr netip.Addr) error {
		return callBounded(ctx, log, func() error { return rule(addr) })
	}
}
