package fetcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file makes one fetch for all callers that wait for it, and learns from it: RFC 9309,
// sections 2.3.1 and 2.4.

// A flight is one fetch of an authority's robots.txt, for all who wait for it.
// Other goroutines may read underWay and set forgotten.
type flight struct {
	key       string      // the authority
	underWay  atomic.Bool // the host's turn has come
	forgotten atomic.Bool // the authority was invalidated meanwhile
	answered  bool        // a web server answered
	unsigned  bool        // Options.Sign failed
	stored    []byte      // what the store had when it was last read; nil: nothing
}

// fetchResult is what a flight returns to its waiters.
type fetchResult struct {
	rec       *policy.Record
	requested bool // the file was fetched during the flight, by this process or another of the fleet
}

// fetch joins the flight of an authority, or begins one, and waits for it no longer
// than ctx. The flight does not end with a caller that leaves. With force a result
// from memory or store is not good enough. Began reports whether this call began
// the flight.
func (e *engine) fetch(ctx context.Context, key string, force bool) (rec *policy.Record, began bool, err error) {
	for {
		if err := e.turnInTime(ctx, key); err != nil {
			return nil, false, err
		}
		mine := false
		// DoChan crashes the program if its function panics, and never delivers
		// if it ends by Goexit: call turns both into an error.
		done := e.flights.DoChan(key, func() (any, error) {
			mine = true
			return call(context.Background(), e.watch.log, func(context.Context) (any, error) { return e.fly(key, force) })
		})
		select {
		case <-ctx.Done():
			return nil, false, ended(ctx)
		case d := <-done:
			began = began || mine
			if d.Err != nil {
				return nil, began, fmt.Errorf("fetcher: fetching robots.txt of %s: %w", key, d.Err)
			}
			if r := d.Val.(fetchResult); r.requested || !force {
				return r.rec, began, nil
			}
		}
	}
}

// fly runs one flight. If the authority is invalidated meanwhile, its file is fetched
// again as if nothing was known. After two restarts the last result is returned even if it was
// invalidated again.
func (e *engine) fly(key string, force bool) (fetchResult, error) {
	f := &flight{key: key}
	e.inFlight.Store(key, f)
	defer e.inFlight.Delete(key)
	r, err := e.find(f, force)
	for range 2 {
		if err != nil || !f.forgotten.Swap(false) {
			break
		}
		e.memory.records.Delete(key)
		e.storage.forget(context.Background(), key)
		f.stored = nil
		r, err = e.fetchAndSave(f, nil)
	}
	return r, err
}

// find looks for a record that is not due, first in memory, then in the store, then by
// waiting for the fleet. If there is none, it fetches the file.
func (e *engine) find(f *flight, force bool) (fetchResult, error) {
	old, _ := e.memory.records.Get(f.key)
	if !force && !old.Due(time.Now()) {
		return fetchResult{rec: old}, nil
	}
	known := e.storage.load(f, old)
	if differs(old, known) {
		e.counts.storeHits.Add(1)
	}
	if !force && !known.Due(time.Now()) {
		return fetchResult{rec: e.memory.remember(f.key, known)}, nil
	}
	release, known, fresh := e.storage.lease(f, known, force)
	if fresh {
		return fetchResult{rec: e.memory.remember(f.key, known), requested: true}, nil
	}
	defer release()
	return e.fetchAndSave(f, known)
}

// fetchAndSave fetches the file, saves the record, and returns the record in force.
func (e *engine) fetchAndSave(f *flight, old *policy.Record) (fetchResult, error) {
	rec, err := e.request(f, old)
	if err != nil {
		return fetchResult{}, err
	}
	if merged := e.storage.save(f, rec); merged != rec {
		rec = e.memory.remember(f.key, merged)
	}
	return fetchResult{rec: rec, requested: true}, nil
}

// request fetches the file, learns from it, and remembers the record before any
// waiter gets it. A record that is due at once is fetched a second time and no
// more: its validators were refused, or confirmed another file. An error means that
// no request was made, so that there is nothing to learn: the turn would come too
// late, or Options.PageEgress refuses the address.
func (e *engine) request(f *flight, old *policy.Record) (*policy.Record, error) {
	for again := range 2 {
		trip, failed := e.trip(f.key)
		var refused *egress.RefusedError
		if errors.As(failed, &refused) {
			return nil, refused
		}
		began := time.Now()
		turn, err := e.firstTurn(f.key)
		if err != nil {
			return nil, err
		}
		if time.Since(began) >= leaseTTL { // the lease may have ended
			if known, fresh := e.storage.reload(f, old); fresh {
				turn.Done()
				e.counts.storeHits.Add(1)
				return e.memory.remember(f.key, known), nil
			}
		}
		a := e.attempt(f, old, turn, trip, failed)
		if e.opts.PageEgress && len(a.Hops) == 0 && errors.As(a.Err, &refused) {
			return nil, refused
		}
		old = e.learn(f, old, a)
		if again == 1 || !old.Due(a.Received) {
			break
		}
	}
	return old, nil
}

// learn remembers and reports what an attempt means.
func (e *engine) learn(f *flight, old *policy.Record, a policy.Attempt) *policy.Record {
	answered := a.Status != 0 || len(a.Hops) > 0
	f.answered = f.answered || answered
	var failure *policy.Failure
	f.unsigned = errors.As(a.Err, &failure) && failure.Class == policy.Sign
	e.storage.witness.note(f.key, answered, a.Received)
	rec := e.memory.remember(f.key, e.record(old, a))
	e.counts.fetch(a, rec)
	e.watch.fetched(a, rec)
	return rec
}

// record is Profile.Learn. Its text is hostile input: should it ever panic, the
// fetch has failed.
func (e *engine) record(old *policy.Record, a policy.Attempt) (rec *policy.Record) {
	if err := guarded(e.watch.log, func() error { rec = e.opts.Profile.Learn(old, a); return nil }); err != nil {
		a.Body, a.Err = nil, &policy.Failure{Class: policy.Body, Err: err}
		rec = e.opts.Profile.Learn(old, a)
	}
	return rec
}

// trip begins the trip of a fetch. Under Options.PageEgress the error is a
// *egress.RefusedError if the address is known to be refused. Any other error is a
// failure of the fetch: a rule of the caller's panics or blocks.
func (e *engine) trip(key string) (*egress.Trip, error) {
	ctx, cancel := context.WithTimeout(context.Background(), e.opts.Timeout)
	defer cancel()
	return call(ctx, e.watch.log, func(ctx context.Context) (*egress.Trip, error) { return e.network.Trip(ctx, robotsURL(key)) })
}

// attempt makes the requests of one fetch within Options.Timeout, which begins with
// the host's turn. A panic in the base or in a rule of the caller's is a failure of
// this fetch, and so is err, why there is no trip.
func (e *engine) attempt(f *flight, old *policy.Record, turn pace.Turn, trip *egress.Trip, err error) policy.Attempt {
	f.underWay.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), e.opts.Timeout)
	defer cancel()
	a := policy.Attempt{Robots: f.key + robotsPath, Sent: time.Now()}
	if err == nil {
		err = guarded(e.watch.log, func() error {
			e.retrieve(ctx, &a, old, turn, trip)
			e.probe(ctx, &a, old, trip)
			return nil
		})
	}
	turn.Done() // of no effect unless a panic kept the try from doing so
	if err != nil {
		a.Err, a.Body = classify(ctx, err), nil
	}
	a.Received = time.Now()
	return a
}
