package fetcher

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// Trace is told what happens inside a Transport. A nil hook costs nothing. A
// panic in a hook is caught and logged.
//
// Decided runs on the goroutine of the caller. Every other hook runs on one of
// its own, for which the retrieval, or for Waited and Delay the caller, waits.
// No lock is held, and a hook may call the Transport; but one that waits for the
// authority it is told of, before Fetched, waits for itself.
//
// An authority has one retrieval at a time. The Hops told with its robots.txt
// since the Fetched before are those of the Attempt that Fetched is told next,
// which is how a tracer puts them below one span. An authority is written as in
// "https://example.com" or "http://[2001:db8::1]:8080".
type Trace struct {
	// Decided is told every ruling of Check and RoundTrip, one a call. A request
	// that may go out is told of when it does, after the wait for its turn.
	Decided func(ctx context.Context, d policy.Decision)

	// Agent is told the User-Agent of the first request that does not contain
	// the product token, once for each Transport: no webmaster can find the group
	// of such a crawler (RFC 9309, section 2.2.1). It runs like Waited.
	Agent func(sent string)

	// Hop is told every request for a robots.txt, each try by itself.
	Hop func(Hop)

	// Fetched is told every retrieval and what was learnt from it and is in
	// force already. The attempt and its header must not be changed; its body
	// is not kept.
	Fetched func(policy.Attempt, *policy.Record)

	// Store is told every failure of the store: op is "get", "put", "delete",
	// "lease" or "load", the last for a value that is not what was put there.
	// The failure changes no ruling.
	Store func(op, authority string, err error)

	// Fleet is told the error when the store stops keeping the pace of the fleet,
	// so that each process keeps its own, and nil when it does so again.
	Fleet func(err error)

	// Waited is told every wait for a turn when it is over. The reason is the
	// text of a [pace.Reason], fit for a metric's label.
	Waited func(authority string, wait time.Duration, reason string)

	// Delay is told once per authority when a Crawl-delay is not obeyed in full.
	Delay func(authority string, asked, obeyed time.Duration)
}

// Hop is one request for a robots.txt.
type Hop struct {
	Robots string // the robots.txt that is retrieved, as in the Attempt that ends the retrieval
	URL    string // the one asked: Robots itself, or where a redirect led
	Try    int    // 1 for the first
	Status int    // 0 without an answer
	Start  time.Time
	Took   time.Duration // until the body was read
	Err    error         // a *policy.Failure, nil for an answer
}

// maxLog bounds text of a server in the log, in bytes.
const maxLog = 300

// observer bundles who is told.
type observer struct {
	trace Trace
	log   *slog.Logger
}

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

// tell runs a hook where neither its panic nor its Goexit hurts anybody, and
// waits for it.
func (o *observer) tell(hook string, f func()) {
	if err := <-run(o.log, func() error { f(); return nil }); err != nil {
		o.log.Warn("a hook did not return", "hook", hook, "error", clean.Text(err.Error(), maxLog))
	}
}

// decided runs on the goroutine of the caller, who may end it; a panic stays here.
func (o *observer) decided(ctx context.Context, d policy.Decision) {
	if o.trace.Decided == nil {
		return
	}
	defer func() {
		if x := recover(); x != nil {
			o.log.Warn("a hook did not return", "hook", "Decided", "error", clean.Text(fmt.Sprint(x), maxLog))
		}
	}()
	o.trace.Decided(ctx, d)
}

func (o *observer) agent(sent, token string) {
	o.log.Warn("the User-Agent sent does not contain the product token", "sent", clean.Text(sent, maxLog), "token", token)
	if o.trace.Agent != nil {
		o.tell("Agent", func() { o.trace.Agent(sent) })
	}
}

func (o *observer) hop(h Hop) {
	if o.trace.Hop != nil {
		o.tell("Hop", func() { o.trace.Hop(h) })
	}
}

func (o *observer) fetched(a policy.Attempt, r *policy.Record) {
	if o.log.Enabled(context.Background(), slog.LevelDebug) {
		attrs := []any{"robots", clean.Text(a.Robots, maxLog), "served", clean.Text(a.Served, maxLog), "status", a.Status,
			"hops", len(a.Hops), "took", a.Received.Sub(a.Sent), "next", r.NextTry()}
		if a.Err != nil {
			attrs = append(attrs, "error", clean.Text(a.Err.Error(), maxLog))
		}
		o.log.Debug("robots.txt retrieved", attrs...)
	}
	if o.trace.Fetched != nil {
		o.tell("Fetched", func() { o.trace.Fetched(a, r) })
	}
}

func (o *observer) store(op, authority string, err error) {
	o.log.Warn("robots.txt store failed", "op", op, "authority", authority, "error", clean.Text(err.Error(), maxLog))
	if o.trace.Store != nil {
		o.tell("Store", func() { o.trace.Store(op, authority, err) })
	}
}

func (o *observer) waited(authority string, wait time.Duration, reason string) {
	if o.trace.Waited != nil {
		o.tell("Waited", func() { o.trace.Waited(authority, wait, reason) })
	}
}

func (o *observer) fleet(err error) {
	if err != nil {
		o.log.Warn("the fleet's pace is lost, each process keeps its own", "error", clean.Text(err.Error(), maxLog))
	} else {
		o.log.Info("the fleet keeps one pace again")
	}
	if o.trace.Fleet != nil {
		o.tell("Fleet", func() { o.trace.Fleet(err) })
	}
}

func (o *observer) delay(authority string, asked, obeyed time.Duration) {
	o.log.Info("crawl-delay not obeyed in full", "authority", authority, "asked", asked, "obeyed", obeyed)
	if o.trace.Delay != nil {
		o.tell("Delay", func() { o.trace.Delay(authority, asked, obeyed) })
	}
}
