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
	"github.com/rfc9309/polite/internal/records"
	"github.com/rfc9309/polite/policy"
)

// This file makes one fetch for all callers that wait for it, and learns from it: RFC 9309,
// sections 2.3.1 and 2.4.

// A flight is one fetch of an authority's robots.txt, for all callers that wait for it. It
// belongs to the goroutine of runFlight. Others may read hasTurn and invalidate the entry.
type flight struct {
	key     string         // the authority
	url     url.URL        // of its robots.txt
	route   *route         // of the Transport that began it
	force   bool           // a record from memory or from the store is not enough
	entry   *records.Entry // the record of the authority
	hasTurn atomic.Bool    // the host's turn for the first request of the present fetch has come
	scopes  scopes         // of url

	rec     *policy.Record // for the callers, when the flight has ended
	fetched bool           // the file was fetched during the flight, by this process or another of the fleet
}

// joinFlight joins the flight of v's authority, or begins one over the base of t, and waits for
// it no longer than ctx. It fills in v.rec and v.beganFlight. The flight goes on when a caller
// leaves. With force, joinFlight waits until a flight has fetched the file: a record from memory
// or from the store is not enough.
func (t *Transport) joinFlight(ctx context.Context, v *visit, force bool) error {
	e, key := t.engine, v.key
	for {
		mine := &flight{key: key, route: t.route, url: robotsURL(key), force: force, entry: e.records.Entry(key)}
		if err := e.turnInTime(ctx, mine); err != nil {
			return err
		}
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

// flightOf returns the flight of an authority that has not ended, nil if there is none.
func (e *engine) flightOf(key string) *flight {
	e.flightsMu.Lock()
	defer e.flightsMu.Unlock()
	return e.inFlight[key]
}

// enter makes f the flight of its authority.
func (e *engine) enter(f *flight) {
	e.flightsMu.Lock()
	defer e.flightsMu.Unlock()
	e.inFlight[f.key] = f
}

// leave ends f.
func (e *engine) leave(f *flight) {
	e.flightsMu.Lock()
	defer e.flightsMu.Unlock()
	delete(e.inFlight, f.key)
}

// runFlight runs one flight. If the authority is invalidated meanwhile, its file is fetched
// again as if nothing was known. After two restarts the last result is returned even if it was
// invalidated again.
func (e *engine) runFlight(f *flight) (err error) {
	e.enter(f)
	defer e.leave(f)
	f.rec, err = e.findOrFetch(f)
	for range 2 {
		if err != nil || !f.entry.Restart() {
			break
		}
		f.rec, err = e.fetchFile(f, nil)
	}
	return err
}

// findOrFetch looks for a record that is not due: in memory, then in the store, then by
// waiting for another process of the fleet that fetches the file. If there is none, it
// fetches the file.
func (e *engine) findOrFetch(f *flight) (rec *policy.Record, err error) {
	rec, learnt, release := f.entry.Lease(f.force)
	if release == nil {
		f.fetched = learnt
		return rec, nil
	}
	defer release()
	return e.fetchFile(f, rec)
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
		if known := f.entry.LearntSince(began, rec); known != nil {
			turn.Done()
			rec = known
			break
		}
		a, target := fetch.Get(rec, turn)
		if e.opts.PageEgress && len(a.Hops) == 0 {
			var refused *egress.RefusedError
			if errors.As(a.Err, &refused) {
				return nil, refused
			}
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
	return f.entry.Save(rec), nil
}

// learn makes the next record from an attempt, remembers it, counts it and reports it.
func (e *engine) learn(f *flight, old *policy.Record, a *policy.Attempt) *policy.Record {
	// The file is hostile input: if Learn ever panics, the fetch counts as failed.
	var rec *policy.Record
	err := bounded.Do(e.watch.log, func() error { rec = e.opts.Profile.Learn(old, *a); return nil })
	if err != nil {
		a.Body, a.Err = nil, &policy.Failure{Class: policy.Body, Err: err}
		rec = e.opts.Profile.Learn(old, *a)
	}
	rec = f.entry.Learn(rec, a)
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
	key := strings.TrimSuffix(a.Robots, records.RobotsPath)
	if e.flightOf(key) != nil {
		return
	}
	e.flights.Do(key, func() (any, error) {
		f := &flight{key: key, entry: e.records.Entry(key)}
		f.hasTurn.Store(true) // whoever joins it waits for no turn
		e.enter(f)
		defer e.leave(f)
		return f, bounded.Do(e.watch.log, func() error { e.keepTarget(f, a); return nil })
	})
}

// keepTarget learns from the attempt, remembers the record and saves it. It leaves f.rec nil if
// the authority was invalidated meanwhile.
func (e *engine) keepTarget(f *flight, a policy.Attempt) {
	known := f.entry.Load(false)
	if s := known.State(a.Received); !known.Due(a.Received) && s.Access != policy.Unreachable {
		f.rec = known
		return
	}
	rec := f.entry.Save(e.learn(f, known, &a))
	if !f.entry.Invalidated() {
		f.rec = rec
	}
}
