package fetcher

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file admits requests that the caller makes by other means.

// An Admission is the right to one request that the caller makes by other means: a
// browser, a download tool, an HTTP stack of its own. Report the head of the answer
// with Answer and end the admission with Done or Fail, once the answer is read or has
// failed. Its methods may be called from any goroutine. Once it has ended, and on a nil
// Admission, they do nothing.
type Admission struct {
	turn    pace.Turn
	timeout *time.Timer // ends the turn if the caller does not
}

// Admit decides on a URL as RoundTrip does and waits for its turn, and leaves the
// request to the caller: the rules, the limits and the fleet are the same. The
// Admission is nil with an error, which is as [Transport.Check] has it, and with a
// decision that does not allow the URL. Under Options.Audit only an error makes it nil.
//
// The turn is held until the Admission ends, or for Options.Timeout at most. The caller
// sends the agent as User-Agent, and asks for each redirect and each resource of a page
// before it is requested, as each may be at another authority. Options.PageEgress covers
// robots.txt alone here, since the caller makes the connection.
func (t *Transport) Admit(ctx context.Context, target *url.URL) (*Admission, policy.Decision, error) {
	key, err := t.engine.authority(target)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	r, err := t.decide(ctx, target, key)
	if err != nil {
		return nil, r.decision, err
	}
	audit := t.engine.opts.Audit
	var turn pace.Turn
	if audit || r.decision.Allowed() {
		var late *policy.Decision
		req := (&http.Request{URL: target}).WithContext(ctx)
		if turn, late, err = t.pageTurn(req, key, r.rec, &r); err != nil {
			return nil, policy.Decision{}, err
		}
		if late != nil && r.decision.Allowed() {
			r.decision = *late
		}
	}
	t.report(ctx, r.decision)
	if !audit && !r.decision.Allowed() {
		return nil, r.decision, nil
	}
	a := &Admission{turn: turn}
	a.timeout = time.AfterFunc(t.engine.opts.Timeout, turn.Done)
	return a, r.decision, nil
}

// Answer reports the head of the answer as soon as it has arrived. Only the first
// Answer counts.
func (a *Admission) Answer(status int, h http.Header) {
	if a != nil {
		a.turn.Answer(status, h)
	}
}

// Fail ends the admission of a request that got no answer, or only part of one. An
// error of the network counts as a failure of the host; one that wraps context.Canceled
// does not.
func (a *Admission) Fail(err error) {
	if a != nil && err != nil && !errors.Is(err, context.Canceled) {
		failTurn(a.turn, classify(context.Background(), err))
	}
	a.Done()
}

// Done ends the admission: the request is no longer in flight.
func (a *Admission) Done() {
	if a != nil {
		a.timeout.Stop()
		a.turn.Done()
	}
}
