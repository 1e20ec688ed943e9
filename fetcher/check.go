package fetcher

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file decides on URLs.

// Check decides on a URL and fetches its robots.txt first if that is due. It
// waits no longer than ctx. It takes no turn for the URL: Decision.Turn says when a
// request would have one, and [Transport.Admit] waits for it. A site that is down has a
// decision, too: the error is not nil only if ctx ended, whose cause it then has in its
// chain, or if the URL has no host or is not one of http, https and Options.Schemes
// ([ErrURL]).
func (t *Transport) Check(ctx context.Context, target *url.URL) (policy.Decision, error) {
	key, err := t.engine.authority(target)
	if err != nil {
		return policy.Decision{}, err
	}
	r, err := t.decide(ctx, target, key)
	if err == nil {
		t.report(ctx, r.decision)
	}
	return r.decision, err
}

// report counts a decision and passes it to the hook.
func (t *Transport) report(ctx context.Context, d policy.Decision) {
	t.engine.counts.decision(d.Verdict)
	t.engine.watch.decided(ctx, d)
}

// A checked URL has a decision, which rests on a record.
type checked struct {
	decision    policy.Decision
	rec         *policy.Record // nil if the decision needs none
	beganFlight bool           // this very call began the fetch of the record
}

// decide decides on a URL. It looks for a record, and fetches the file if that is due.
func (t *Transport) decide(ctx context.Context, target *url.URL, key string) (r checked, err error) {
	if d, ok := t.withoutRecord(target, key); ok {
		return checked{decision: d}, nil
	}
	if r.rec = t.engine.inForce(key); r.rec == nil {
		r.rec, r.beganFlight, err = t.engine.fetch(ctx, key, false)
	}
	r.decision, err = t.decision(target, key, r.rec, err)
	return r, err
}

// withoutRecord is the decision on a URL that no record is needed for.
func (t *Transport) withoutRecord(target *url.URL, key string) (policy.Decision, bool) {
	if d, ok := t.overridden(target); ok {
		return d, true
	}
	var none *policy.Record // allows robots.txt itself, and nothing else
	if !none.Allows(t.token, target, time.Time{}) {
		return policy.Decision{}, false
	}
	d := none.Decide(t.token, target, time.Time{})
	d.Profile = t.engine.opts.Profile.Name
	return t.withTurn(d, target, key, none), true
}

// decision is what a record, or the error in its place, means for a URL.
func (t *Transport) decision(target *url.URL, key string, rec *policy.Record, err error) (policy.Decision, error) {
	var late *pace.RefusedError
	var forbidden *egress.RefusedError
	switch {
	case errors.As(err, &late):
		return t.tooLate(target, late), nil
	case errors.As(err, &forbidden):
		return t.forbidden(target, forbidden), nil
	case err != nil:
		return policy.Decision{}, err
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), target, key, rec), nil
}

// overridden is the decision of Options.Override on a URL, if there is one.
func (t *Transport) overridden(target *url.URL) (policy.Decision, bool) {
	if t.engine.opts.Override == nil {
		return policy.Decision{}, false
	}
	v, reason, ok := t.engine.opts.Override(target)
	if !ok {
		return policy.Decision{}, false
	}
	if reason == "" {
		reason = "no reason given"
	}
	d := t.house(v, target)
	d.Override = reason
	return d, true
}

// house is the beginning of a decision that rests on a rule of the crawler's own.
func (t *Transport) house(v policy.Verdict, target *url.URL) policy.Decision {
	return policy.Decision{Verdict: v, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name}
}

// tooLate is the decision on a URL whose turn comes too late for its caller.
func (t *Transport) tooLate(target *url.URL, refused *pace.RefusedError) policy.Decision {
	d := t.house(policy.Defer, target)
	d.RetryAt, d.Pacing = refused.RetryAt, "no turn in time: "+refused.Why()
	return d
}

// forbidden is the decision on a URL whose address Options.PageEgress refuses.
func (t *Transport) forbidden(target *url.URL, refused *egress.RefusedError) policy.Decision {
	d := t.house(policy.Disallow, target)
	d.Cause = refused.Error()
	return d
}

// Peek decides on a URL from memory alone, without any I/O. It reports false if
// the memory has no record of the authority, or one that is due.
func (t *Transport) Peek(target *url.URL) (policy.Decision, bool) {
	key, err := t.engine.authority(target)
	if err != nil {
		return policy.Decision{}, false
	}
	if d, ok := t.withoutRecord(target, key); ok {
		return d, true
	}
	rec := t.engine.inForce(key)
	if rec == nil {
		return policy.Decision{}, false
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), target, key, rec), true
}
