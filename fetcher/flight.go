package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/policy"
)

// This file makes one fetch for all callers that wait for it, and learns from it: RFC 9309,
// sections 2.3.1 and 2.4.

// A flight is one fetch of an authority's robots.txt, for all callers that wait for it. It
// belongs to the goroutine of runFlight. Others may read hasTurn and set invalidated.
type flight struct {
	key         string      // the authority
	url         url.URL     // of its robots.txt
	route       *route      // of the Transport that began it
	force       bool        // a record from memory or from the store is not enough
	hasTurn     atomic.Bool // the host's turn for the first request of the present fetch has come
	invalidated atomic.Bool // Transport.Invalidate was called meanwhile
	answered    bool        // a web server answered
	unsigned    bool        // Options.Sign failed
	stored      []byte      // the value in the store when it was last read; nil if there was none

	rec     *policy.Record // for the callers, when the flight has ended
	fetched bool           // the file was fetched during the flight, by this process or another of the fleet
}

// joinFlight joins the flight of v's authority, or begins one over the base of t, and waits for
// it no longer than ctx. It fills in v.rec and v.beganFlight. The flight goes on when a caller leaves. With
// force, joinFlight waits until a flight has fetched the file: a record from memory or from
// the store is not enough.
func (t *Transport) joinFlight(ctx context.Context, v *visit, force bool) error {
	e, key := t.engine, v.key
	for {
		if err := e.turnInTime(ctx, key); err != nil {
			return err
		}
		mine := &flight{key: key, route: t.route, url: robotsURL(key), force: force}
		// DoChan crashes the program if its function panics, and never delivers
		// if it ends by Goexit: bounded.Call turns both into an error.
		done := e.flights.DoChan(key, func() (any, error) {
			return bounded.Call(context.Background(), e.watch.log, func(context.Context) (any, error) { return mine, e.runFlight(mine) }, nil)
		})
		select {
		case <-ctx.Done():
			return &waitError{"robots.txt of " + key, contextError(ctx)}
		case r := <-done:
			if r.Err != nil {
				return fmt.Errorf("fetcher: fetching robots.txt of %s: %w", key, r.Err)
			}
			if f := r.Val.(*flight); f.rec != nil && (f.fetched || !force) {
				v.rec, v.beganFlight = f.rec, f == mine
				return nil
			}
		}
	}
}

// runFlight runs one flight. If the authority is invalidated meanwhile, its file is fetched
// again as if nothing was known. After two restarts the last result is returned even if it was
// invalidated again.
func (e *engine) runFlight(f *flight) (err error) {
	e.inFlight.Store(f.key, f)
	defer e.inFlight.Delete(f.key)
	f.rec, err = e.findOrFetch(f)
	for range 2 {
		if err != nil || !f.invalidated.Swap(false) {
			break
		}
		e.storage.forget(context.Background(), f.key)
		f.stored = nil
		f.rec, err = e.fetchFile(f, nil)
	}
	return err
}

// remember keeps the record of a flight in memory and returns it. A record that was invalidated
// meanwhile governs no further URL.
func (e *engine) remember(f *flight, rec *policy.Record) *policy.Record {
	rec = e.memory.remember(rec)
	defer e.waiting.wake(f.key)
	if f.invalidated.Load() {
		e.memory.records.Delete(f.key)
	}
	return rec
}

// findOrFetch looks for a record that is not due: in memory, then in the store, then by
// waiting for another process of the fleet that fetches the file. If there is none, it
// fetches the file.
func (e *engine) findOrFetch(f *flight) (*policy.Record, error) {
	old, _ := e.memory.records.Get(f.key)
	if !f.force && !old.Due(time.Now()) {
		return old, nil
	}
	known := e.storage.load(f, old)
	if differs(old, known) {
		e.watch.counts.storeHits.Add(1)
	}
	if !f.force && !known.Due(time.Now()) {
		return e.remember(f, known), nil
	}
	known, release := e.storage.lease(f, known)
	if release == nil { // another process has just learnt known
		f.fetched = true
		return e.remember(f, known), nil
	}
	defer release()
	return e.fetchFile(f, known)
}

// fetchFile waits for the host's turn, fetches the file, learns from it, and remembers the
// record before any waiter gets it. If the record is due at once, since the server refused
// the validators or confirmed another file, fetchFile fetches once more. Then it saves the
// record, and returns the record in force, which is another one if the store has a newer
// record. An error says that no request was made, so nothing was learnt: the turn would
// come too late, or Options.PageEgress refuses the address.
func (e *engine) fetchFile(f *flight, rec *policy.Record) (*policy.Record, error) {
	f.fetched = true
	for range 2 {
		fetch, err := e.retrieve.Begin(f.route.network, &f.url)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		turn, err := e.firstTurn(f)
		if err != nil {
			return nil, err
		}
		e.reportIdle(f.route)
		if e.storage.fleet != nil && time.Since(began) >= leaseTTL { // the lease may have ended
			if known := e.storage.load(f, rec); !known.Due(time.Now()) && differs(rec, known) {
				turn.Done()
				e.watch.counts.storeHits.Add(1)
				rec = e.remember(f, known)
				break
			}
		}
		a, target := fetch.Get(rec, turn)
		var refused *egress.RefusedError
		if e.opts.PageEgress && len(a.Hops) == 0 && errors.As(a.Err, &refused) {
			return nil, refused
		}
		rec = e.learn(f, rec, &a)
		if rec.Due(a.Received) {
			continue
		}
		if target.Robots != "" && rec.State(a.Received).Access != policy.Unreachable {
			e.learnTarget(target)
		}
		break
	}
	if merged := e.storage.save(f, rec); merged != rec {
		rec = e.remember(f, merged)
	}
	return rec, nil
}

// learn makes the next record from an attempt, remembers it, counts it and reports it.
func (e *engine) learn(f *flight, old *policy.Record, a *policy.Attempt) *policy.Record {
	answered := a.Status != 0 || len(a.Hops) > 0
	f.answered = f.answered || answered
	var failure *policy.Failure
	f.unsigned = errors.As(a.Err, &failure) && failure.Class == policy.Sign
	e.storage.witness.noteFetch(f.key, answered, a.Received)
	// The file is hostile input: if Learn ever panics, the fetch counts as failed.
	var rec *policy.Record
	err := bounded.Do(e.watch.log, func() error { rec = e.opts.Profile.Learn(old, *a); return nil })
	if err != nil {
		a.Body, a.Err = nil, &policy.Failure{Class: policy.Body, Err: err}
		rec = e.opts.Profile.Learn(old, *a)
	}
	rec = e.remember(f, rec)
	e.watch.fetched(a, rec)
	return rec
}

// learnTarget makes the record of the authority whose robots.txt a redirect led to, with the key,
// the lifetime and the validators of that authority. It does nothing if that authority has a
// current record, or a flight. The caller is the flight of another authority, and has a complete
// answer.
//
// It does not wait in a circle: it waits for a flight only if that began after the look into
// inFlight, and so after the flight of the caller.
func (e *engine) learnTarget(a policy.Attempt) {
	key := strings.TrimSuffix(a.Robots, robotsPath)
	if _, busy := e.inFlight.Load(key); busy {
		return
	}
	e.flights.Do(key, func() (any, error) {
		f := &flight{key: key}
		f.hasTurn.Store(true) // whoever joins it waits for no turn
		e.inFlight.Store(key, f)
		defer e.inFlight.Delete(key)
		return f, bounded.Do(e.watch.log, func() error { e.keepTarget(f, a); return nil })
	})
}

// keepTarget learns from the attempt, remembers the record and saves it. It leaves f.rec nil if
// the authority was invalidated meanwhile.
func (e *engine) keepTarget(f *flight, a policy.Attempt) {
	old, _ := e.memory.records.Get(f.key)
	known := old
	if old.Due(a.Received) {
		known = e.storage.load(f, old)
	}
	if s := known.State(a.Received); !known.Due(a.Received) && s.Access != policy.Unreachable {
		f.rec = e.remember(f, known)
		return
	}
	rec := e.learn(f, known, &a)
	if merged := e.storage.save(f, rec); merged != rec {
		rec = e.remember(f, merged)
	}
	if !f.invalidated.Load() {
		f.rec = rec
	}
}
