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
	t.engine.counts.countDecision(d.Verdict)
	t.engine.watch.decided(ctx, d)
}

// checkedURL is the decision on one URL and the record that it rests on.
type checkedURL struct {
	decision    policy.Decision
	rec         *policy.Record // nil if the decision needs none
	beganFlight bool           // this call began the fetch of the record, and did not join another one
}

// decide decides on a URL. It fetches the robots.txt first if no record in memory is
// current.
func (t *Transport) decide(ctx context.Context, target *url.URL, key string) (r checkedURL, err error) {
	if d, ok := t.withoutRecord(target, key); ok {
		return checkedURL{decision: d}, nil
	}
	if r.rec = t.engine.currentRecord(key); r.rec == nil {
		r.rec, r.beganFlight, err = t.engine.joinFlight(ctx, key, false)
	}
	r.decision, err = t.decisionBy(target, key, r.rec, err)
	return r, err
}

// withoutRecord returns the decision on a URL that needs no record: Options.Override has
// decided, or the URL is robots.txt itself. It reports false for any other URL.
func (t *Transport) withoutRecord(target *url.URL, key string) (policy.Decision, bool) {
	if d, ok := t.overridden(target); ok {
		return d, true
	}
	var empty *policy.Record // allows robots.txt itself, and nothing else
	if !empty.Allows(t.token, target, time.Time{}) {
		return policy.Decision{}, false
	}
	d := empty.Decide(t.token, target, time.Time{})
	d.Profile = t.engine.opts.Profile.Name
	return t.withTurn(d, target, key, empty), true
}

// decisionBy returns the decision on a URL by a record, or by the error that came in place
// of the record. An error that is no decision is returned.
func (t *Transport) decisionBy(target *url.URL, key string, rec *policy.Record, err error) (policy.Decision, error) {
	var late *pace.RefusedError
	var forbidden *egress.RefusedError
	switch {
	case errors.As(err, &late):
		return t.lateDecision(target, late), nil
	case errors.As(err, &forbidden):
		return t.forbiddenDecision(target, forbidden), nil
	case err != nil:
		return policy.Decision{}, err
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), target, key, rec), nil
}

// overridden returns the decision of Options.Override on a URL, if there is one.
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
	d := t.houseDecision(v, target)
	d.Override = reason
	return d, true
}

// houseDecision returns a decision that rests on no clause of the RFC. The caller adds the
// reason.
func (t *Transport) houseDecision(v policy.Verdict, target *url.URL) policy.Decision {
	return policy.Decision{Verdict: v, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name}
}

// lateDecision returns the decision on a URL whose turn comes too late for its caller.
func (t *Transport) lateDecision(target *url.URL, refused *pace.RefusedError) policy.Decision {
	d := t.houseDecision(policy.Defer, target)
	d.RetryAt, d.Pacing = refused.RetryAt, "no turn in time: "+refused.Why()
	return d
}

// forbiddenDecision returns the decision on a URL whose address Options.PageEgress refuses.
func (t *Transport) forbiddenDecision(target *url.URL, refused *egress.RefusedError) policy.Decision {
	d := t.houseDecision(policy.Disallow, target)
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
	rec := t.engine.currentRecord(key)
	if rec == nil {
		return policy.Decision{}, false
	}
	return t.withTurn(rec.Decide(t.token, target, time.Now()), target, key, rec), true
}
