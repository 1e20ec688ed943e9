package fetcher

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rfc9309/polite/policy"
)

// This file has the Transport and its methods for operators.

// Transport decides whether a crawler may fetch a URL, and as an
// http.RoundTripper fetches only what it may. It is safe for concurrent use and
// needs no closing. It has no goroutine between fetches of robots.txt, except to
// write records to a Store that did not take them before.
//
// [Transport.RoundTrip] is what most callers want; [Transport.Check] decides
// without making the request.
type Transport struct {
	engine   *engine
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
	return t.engine.as(tokens), nil
}

// as returns a Transport for product tokens.
func (e *engine) as(token string) *Transport {
	e.memory.registerToken(token)
	return &Transport{engine: e, token: token}
}

// Record returns what is known of the target's authority, for sitemaps and other
// records. It fetches robots.txt first if that is due. Its errors are the errors of
// Check, and a *pace.RefusedError if the turn came too late.
func (t *Transport) Record(ctx context.Context, target *url.URL) (*policy.Record, error) {
	v, err := t.engine.visit(target)
	if err == nil && v.rec == nil {
		v.rec, _, err = t.engine.joinFlight(ctx, v.key, false)
	}
	return v.rec, err
}

// Refresh fetches the target's robots.txt now, due or not, and decides on the
// target by the result. It joins a fetch that is under way.
func (t *Transport) Refresh(ctx context.Context, target *url.URL) (policy.Decision, error) {
	v, err := t.engine.visit(target)
	if err != nil {
		return policy.Decision{}, err
	}
	d, err := t.fetchAndDecide(ctx, &v, true)
	if own, ok := t.overridden(target); ok && v.rec != nil {
		return own, nil
	}
	return d, err
}

// Invalidate forgets the target's authority, in memory and in the store: its
// rules, and since when it is down. A fetch that is under way starts again. The
// error comes from the store.
func (t *Transport) Invalidate(ctx context.Context, target *url.URL) error {
	key, err := t.engine.authority(target)
	if err != nil {
		return err
	}
	if f, ok := t.engine.inFlight.Load(key); ok {
		f.(*flight).invalidated.Store(true)
	}
	t.engine.memory.records.Delete(key)
	return t.engine.storage.forget(ctx, key)
}

// prefetches is the number of authorities that Prefetch fetches from at once.
const prefetches = 16

// Prefetch fetches the robots.txt of every target whose record is due, a few
// authorities at a time, each at its own pace. It returns when all are done or
// ctx has ended. The error is ctx's error, or else the first about a target that is
// no http or https URL; the other targets are fetched nevertheless.
func (t *Transport) Prefetch(ctx context.Context, targets iter.Seq[*url.URL]) error {
	var g errgroup.Group
	g.SetLimit(prefetches)
	var bad error
	for target := range targets {
		if ctx.Err() != nil {
			break
		}
		v, err := t.engine.visit(target)
		bad = cmp.Or(bad, err)
		if err != nil || v.rec != nil {
			continue
		}
		// It ends with the fetch, or with ctx.
		g.Go(func() error {
			t.engine.joinFlight(ctx, v.key, false) // a failure is in the record, and in ctx
			return nil
		})
	}
	g.Wait()
	return cmp.Or(ctx.Err(), bad)
}

// All yields what the memory holds, by authority, in no order. Records may come
// and go meanwhile; the loop may call the Transport.
func (t *Transport) All() iter.Seq2[string, *policy.Record] { return t.engine.memory.records.All() }

// CloseIdleConnections passes the call on to the base.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.engine.opts.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	t.engine.network.CloseIdle()
}
