package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// fetchResult is what a flight returns to its waiters.
type fetchResult struct {
	rec   *policy.Record
	asked bool // the site was asked, not only memory and store
	err   error
}

// fetch joins the retrieval of an authority that is under way, or starts one,
// and waits for it no longer than ctx. The flight itself does not belong to any
// caller: one that leaves harms nobody. With force a result that did not ask
// the site is not good enough. Began reports whether this call began the flight.
func (e *engine) fetch(ctx context.Context, key string, force bool) (rec *policy.Record, began bool, err error) {
	for {
		if err := e.reachable(ctx, key); err != nil {
			return nil, false, err
		}
		// DoChan crashes the program if its function panics, and never delivers
		// if it ends by Goexit: guarded turns both into an error.
		mine := new(bool)
		done := e.flights.DoChan(key, func() (any, error) {
			*mine = true
			var r fetchResult
			if err := guarded(e.watch.log, func() error { r = e.fly(key, force); return nil }); err != nil {
				r = fetchResult{err: fmt.Errorf("fetcher: retrieving robots.txt of %s: %w", key, err)}
			}
			return r, nil
		})
		select {
		case <-ctx.Done():
			return nil, false, ended(ctx)
		case d := <-done:
			began = began || *mine
			if r := d.Val.(fetchResult); r.asked || !force || r.err != nil {
				return r.rec, began, r.err
			}
		}
	}
}

// flight is one retrieval under way. Others may look at asking, and set forgotten.
type flight struct {
	key       string
	asking    atomic.Bool // the host's turn has come
	forgotten atomic.Bool // the authority was invalidated meanwhile
	answered  bool        // a web server answered
	stored    []byte      // what the store had when it was last read; nil: nothing
}

// fly is one flight.
func (e *engine) fly(key string, force bool) fetchResult {
	f := &flight{key: key}
	e.aloft.Store(key, f)
	defer e.aloft.Delete(key)
	r := e.find(f, force)
	// What was invalidated meanwhile is fetched anew, as if nothing was known.
	// After two restarts the last result is returned even if it was invalidated
	// again.
	for range 2 {
		if r.err != nil || !f.forgotten.Swap(false) {
			break
		}
		e.memory.records.Delete(key)
		e.storage.forget(context.Background(), key)
		f.stored = nil
		r = e.renew(f, nil)
	}
	return r
}

// find looks into the memory once more, then into the store, then asks the site.
func (e *engine) find(f *flight, force bool) fetchResult {
	old, _ := e.memory.records.Get(f.key)
	if !force && !old.Due(time.Now()) {
		return fetchResult{rec: old}
	}
	if err := e.permits(f.key); err != nil {
		return fetchResult{err: err}
	}
	known := e.storage.load(f, old)
	if another(old, known) {
		e.counts.storeHits.Add(1)
	}
	if !force && !known.Due(time.Now()) {
		return fetchResult{rec: e.memory.remember(f.key, known)}
	}
	release, known, fresh := e.storage.lease(f, known, force)
	if fresh {
		return fetchResult{rec: e.memory.remember(f.key, known), asked: true}
	}
	defer release()
	return e.renew(f, known)
}

// permits applies Options.PageEgress to an authority, as far as its address can be
// known without a connection.
func (e *engine) permits(key string) error {
	u, err := url.Parse(key)
	if err != nil || !e.opts.PageEgress {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.opts.Timeout)
	defer cancel()
	return e.network.Permits(ctx, u, "")
}

// renew fetches the file, and saves and returns the record in force then.
func (e *engine) renew(f *flight, old *policy.Record) fetchResult {
	rec, err := e.ask(f, old)
	if err != nil {
		return fetchResult{err: err}
	}
	if merged := e.storage.save(f, rec); merged != rec {
		rec = e.memory.remember(f.key, merged)
	}
	return fetchResult{rec: rec, asked: true}
}

// ask retrieves the file, learns from it and remembers the result before anyone
// is told. A record that is due at once is fetched a second time and no more:
// its validators were refused, or confirmed another file. The error is that of a
// turn that would come too late: no request was made, so there is nothing to
// learn.
func (e *engine) ask(f *flight, old *policy.Record) (*policy.Record, error) {
	for again := range 2 {
		turn, known, err := e.firstTurn(f, old)
		if err != nil {
			return nil, err
		}
		if known != nil {
			e.counts.storeHits.Add(1)
			return e.memory.remember(f.key, known), nil
		}
		a := e.attempt(f, old, turn)
		var refused *egress.RefusedError
		if e.opts.PageEgress && len(a.Hops) == 0 && errors.As(a.Err, &refused) {
			return nil, refused // its pages are refused, too
		}
		answered := a.Status != 0 || len(a.Hops) > 0
		e.storage.witness.note(f.key, answered, a.Received)
		f.answered = f.answered || answered
		rec := e.memory.remember(f.key, e.learn(old, a))
		e.counts.fetch(a)
		a.Body = nil
		e.watch.fetched(a, rec)
		old = rec
		if again == 1 || !rec.Due(a.Received) {
			break
		}
	}
	return old, nil
}

// learn is Profile.Learn, whose text is hostile input: should it ever panic, the
// retrieval has failed.
func (e *engine) learn(old *policy.Record, a policy.Attempt) (rec *policy.Record) {
	if err := guarded(e.watch.log, func() error { rec = e.opts.Profile.Learn(old, a); return nil }); err != nil {
		a.Body, a.Err = nil, &policy.Failure{Class: policy.Body, Err: err}
		rec = e.opts.Profile.Learn(old, a)
	}
	return rec
}

// attempt is one retrieval under its own deadline, which begins with the host's
// turn. A panic in the base or in a rule of the caller's counts as a failure of
// this retrieval.
func (e *engine) attempt(f *flight, old *policy.Record, turn pace.Turn) policy.Attempt {
	f.asking.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), e.opts.Timeout)
	defer cancel()
	a := policy.Attempt{Robots: f.key + robotsPath, Sent: time.Now()}
	err := guarded(e.watch.log, func() error {
		e.retrieve(ctx, &a, old, turn)
		return nil
	})
	turn.Done() // of no effect unless a panic kept the try from doing so
	if err != nil {
		a.Err, a.Body = &policy.Failure{Err: err}, nil
	}
	a.Received = time.Now()
	return a
}
