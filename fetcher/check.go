package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file decides on URLs.

// A visit is one URL on its way to a decision and to a turn. It belongs to one call.
type visit struct {
	target       *url.URL
	key          string         // the authority of target
	rec          *policy.Record // governs target; before the decision the record in memory, nil if that is due
	patientUntil time.Time      // the end of Options.Patience; zero if the visit does not wait
	beganFlight  bool           // this visit began the flight that found rec, and did not join another one
	redirected   bool           // a redirect led to target
	brief        bool           // nobody sees why target is allowed
	from         string         // the authority that redirected to target, "" if unknown
	scopes       scopes         // of target
}

// visit begins a visit of a URL: it fills in the authority, and the record in memory unless that
// is due. An error is the error of the base, or that of authority.
func (t *Transport) visit(target *url.URL, now time.Time) (v visit, err error) {
	if t.route.err != nil {
		return v, t.route.err
	}
	v.target = target
	if v.rec, v.key, err = t.engine.cached(target); v.rec.Due(now) {
		v.rec = nil
	}
	return v, err
}

// cached returns the record of a URL in memory, nil if there is none, and its authority.
func (e *engine) cached(target *url.URL) (rec *policy.Record, key string, err error) {
	if key, rec = e.records.Find(target); rec != nil {
		return rec, key, nil
	}
	if key, err = e.authority(target); err == nil && key != target.Scheme+"://"+target.Host { // Find has looked for that
		rec = e.records.Get(key)
	}
	return rec, key, err
}

// Check decides on a URL and fetches its robots.txt first if that is due. It
// waits no longer than ctx. It takes no turn for the URL: Decision.Turn says when a
// request would have one, and [Transport.Admit] waits for it. A site that is down has a
// decision, too. The error is nil unless ctx ended, whose cause is then in the chain of
// the error, or the URL has no host or another scheme than http, https and
// Options.Schemes ([ErrURL]).
func (t *Transport) Check(ctx context.Context, target *url.URL) (d policy.Decision, err error) {
	v, err := t.visit(target, time.Now())
	if err == nil {
		d, err = t.decide(ctx, &v)
	}
	if err == nil {
		t.engine.watch.decided(ctx, &d, nil)
	}
	return d, err
}

// decide decides on a URL. It fetches the robots.txt first if no record in memory is
// current. If the turn of robots.txt comes too late by Limits.MaxWait, the visit of a redirect
// waits for it, as long as ctx lasts. If robots.txt is unreachable, the visit waits for the next
// fetch as long as Options.Patience permits.
func (t *Transport) decide(ctx context.Context, v *visit) (policy.Decision, error) {
	if d, ok := t.withoutRecord(v); ok {
		return d, nil
	}
	for {
		if v.rec == nil {
			if err := t.joinFlight(ctx, v, false); err != nil {
				d, err := t.decisionFor(ctx, v.target, err)
				if err != nil || d.Verdict != policy.Defer || !v.redirected || !t.engine.waitForRobots(ctx, v, d.RetryAt) {
					return d, err
				}
				continue
			}
		}
		d := t.decideBy(v)
		if !t.waitForRecovery(ctx, v, &d) {
			return d, nil
		}
	}
}

// decideBy decides on a URL by v.rec.
func (t *Transport) decideBy(v *visit) policy.Decision {
	if v.brief && v.rec.Allows(t.token, v.target, time.Now()) {
		return policy.Decision{Verdict: policy.Allow}
	}
	return t.withTurn(v.rec.Decide(t.token, v.target, time.Now()), v)
}

// withoutRecord returns the decision on a URL that needs no record: Options.Override has
// decided, or the URL is robots.txt itself. It reports false for any other URL.
func (t *Transport) withoutRecord(v *visit) (policy.Decision, bool) {
	if d, ok := t.overridden(v.target); ok {
		v.rec = nil // it did not govern the URL
		return d, true
	}
	if !isRobotsTxt(v.target) {
		return policy.Decision{}, false
	}
	v.rec = nil
	d := v.rec.Decide(t.token, v.target, time.Time{})
	d.Profile = t.engine.opts.Profile.Name
	return t.withTurn(d, v), true
}

// isRobotsTxt reports whether a URL is that of a robots.txt itself.
func isRobotsTxt(target *url.URL) bool {
	var empty *policy.Record // allows robots.txt, and nothing else
	return empty.Allows("", target, time.Time{})
}

// overridden returns the decision of Options.Override on a URL, if there is one.
func (t *Transport) overridden(target *url.URL) (d policy.Decision, ok bool) {
	if t.engine.opts.Override == nil {
		return d, false
	}
	v, reason, ok := t.engine.opts.Override(target)
	if !ok {
		return d, false
	}
	if reason == "" {
		reason = "no reason given"
	}
	d = t.houseDecision(v, target)
	d.Override = reason
	return d, true
}

// houseDecision returns a decision that rests on no clause of the RFC. The caller adds the
// reason.
func (t *Transport) houseDecision(v policy.Verdict, target *url.URL) policy.Decision {
	return policy.Decision{Verdict: v, URL: target.Redacted(), Clause: "house", Profile: t.engine.opts.Profile.Name}
}

// decisionFor turns a refusal into a Decision: the turn comes too late, or Options.PageEgress
// refuses the address. Any other error is returned. If ctx has ended, its cause is returned instead.
func (t *Transport) decisionFor(ctx context.Context, target *url.URL, err error) (d policy.Decision, other error) {
	var late *pace.RefusedError
	var forbidden *egress.RefusedError
	switch {
	case ctx.Err() != nil:
		if !errors.Is(err, context.Cause(ctx)) {
			err = contextError(ctx)
		}
		return d, err
	case errors.As(err, &late):
		d = t.houseDecision(policy.Defer, target)
		d.RetryAt, d.DownSince, d.Pacing = late.RetryAt, late.Since, refusalInWords(ctx, late)
	case errors.As(err, &forbidden):
		d = t.houseDecision(policy.Disallow, target)
		d.Cause = forbidden.Error()
	default:
		return d, err
	}
	return d, nil
}

// refusalInWords says why a request is refused for want of time.
func refusalInWords(ctx context.Context, late *pace.RefusedError) string {
	in := func(at time.Time) time.Duration { return max(time.Until(at), 0).Round(100 * time.Millisecond) }
	words := "no turn within MaxWait"
	if deadline, ok := ctx.Deadline(); ok && !late.RetryAt.Before(deadline) {
		words = fmt.Sprintf("no turn before your deadline (in %v)", in(deadline))
	}
	switch late.Reason {
	case pace.ReasonParallel, pace.ReasonFleet: // nobody knows when they end
	case pace.ReasonBreaker: // its words say when
	default:
		words += fmt.Sprintf(": the next one is in %v", in(late.RetryAt))
	}
	return words + ", because of " + obstacleInWords(late)
}

// obstacleInWords says what a request waits for, in words that follow "waits for" or "because of".
func obstacleInWords(e *pace.RefusedError) string {
	switch e.Reason {
	case pace.ReasonGap:
		return "the gap between requests"
	case pace.ReasonCrawlDelay:
		return "the Crawl-delay"
	case pace.ReasonPause:
		return "the pause that an answer asked for"
	case pace.ReasonQuota:
		return "the quota that an answer declared"
	case pace.ReasonBreaker:
		if e.Trouble == "" {
			return "the rest of a host that fails"
		}
		return "the rest of a host that fails: " + e.Trouble
	case pace.ReasonParallel:
		return "the requests in flight"
	case pace.ReasonFleet:
		return "another process of the fleet"
	case pace.ReasonScope:
		return fmt.Sprintf("the limits of the scope %.200q", e.Scope)
	}
	return string(e.Reason)
}

// Peek decides on a URL from memory alone, without any I/O. It reports false if
// the memory has no record of the authority, or one that is due.
func (t *Transport) Peek(target *url.URL) (policy.Decision, bool) {
	v := visit{target: target}
	var err error
	if v.rec, v.key, err = t.engine.cached(target); err != nil {
		return policy.Decision{}, false
	}
	if d, ok := t.withoutRecord(&v); ok {
		return d, true
	}
	if v.rec.Due(time.Now()) {
		return policy.Decision{}, false
	}
	return t.decideBy(&v), true
}
