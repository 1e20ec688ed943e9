package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/policy"
)

const (
	// storeTime bounds one call of the store.
	storeTime = 3 * time.Second
	// leaseLook is how long a process waits before it looks again for the
	// record that another is retrieving.
	leaseLook = 50 * time.Millisecond
	leaseMost = time.Second
)

// keep is how long the store holds a record: as long as an outage can make use
// of it. The record itself says from when it must be asked for again.
func (e *engine) keep() time.Duration {
	most := e.profile.Fresh.Most
	for _, ph := range e.profile.Outage {
		most = max(most, ph.Until)
	}
	return most + 30*24*time.Hour
}

// load reads an authority's record from the store. Whatever is not the record of
// this very authority, whole and of this profile, is a miss.
func (e *engine) load(key string) *policy.Record {
	if e.opts.Store == nil {
		return nil
	}
	data, err := inStore(context.Background(), e, func(ctx context.Context) ([]byte, error) {
		return e.opts.Store.Get(ctx, key)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		e.storeFailed("get", key, err)
		return nil
	}
	rec, err := e.profile.Load(data)
	if err == nil && rec.Robots() != key+robotsPath {
		err = fmt.Errorf("the store returned the record of %.200q", rec.Robots())
	}
	if err != nil {
		e.storeFailed("load", key, err)
		return nil
	}
	return rec
}

// save writes a record to the store.
func (e *engine) save(key string, rec *policy.Record) {
	if e.opts.Store == nil {
		return
	}
	data, err := rec.MarshalBinary()
	if err == nil {
		_, err = inStore(context.Background(), e, func(ctx context.Context) (none, error) {
			return none{}, e.opts.Store.Put(ctx, key, data, e.keep())
		})
	}
	if err != nil {
		e.storeFailed("put", key, err)
	}
}

// lease makes this process the only one of its fleet that retrieves the file, if
// the store can do that. It returns either the right to ask, with the function
// that gives it back, or the record that another process has just learnt. It
// waits for that record, not for the other's lease; but that ends with its
// holder, and then one of those who wait has it next. The process goes ahead alone
// when the store fails, or when two holders in a row have had all of their time.
func (e *engine) lease(key string, old *policy.Record, force bool) (release func(), fresh *policy.Record) {
	alone := func() {}
	l, ok := e.opts.Store.(cache.Leaser)
	if !ok {
		return alone, nil
	}
	until := time.Now().Add(2 * e.leaseTime())
	for wait := leaseLook; ; wait = min(2*wait, leaseMost) {
		release, err := e.tryLease(l, key)
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			e.storeFailed("lease", key, err)
			return alone, nil
		}
		// The record is looked at under the lease too: the holder before us
		// may have written it between our look and our lease.
		if rec := e.load(key); rec != nil && !rec.Due(time.Now()) && (!force || rec.NextTry().After(old.NextTry())) {
			if err == nil {
				e.released(release)
			}
			e.counts.storeHits.Add(1)
			return alone, rec
		}
		if err == nil {
			return func() { e.released(release) }, nil
		}
		if time.Now().After(until) {
			return alone, nil
		}
		time.Sleep(wait)
	}
}

// tryLease takes the lease if it is free.
func (e *engine) tryLease(l cache.Leaser, key string) (release func(), err error) {
	return inStore(context.Background(), e, func(ctx context.Context) (func(), error) {
		release, err := l.Lease(ctx, key, e.leaseTime())
		if err == nil && ctx.Err() != nil { // nobody waits for it any more
			release()
		}
		return release, err
	})
}

// leaseTime is how long a lease lasts: a retrieval and what it tells the store.
func (e *engine) leaseTime() time.Duration { return e.opts.Timeout + storeTime }

// released gives a lease back; a store that panics there hurts nobody.
func (e *engine) released(release func()) {
	if release != nil {
		e.guarded(func() error { release(); return nil })
	}
}

// none is the result of a call that has none.
type none struct{}

// inStore makes one call of the store, within its own time even if the store
// does not look at its context: then the call's goroutine ends when the store
// lets it.
func inStore[T any](ctx context.Context, e *engine, call func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return within(ctx, e.watch.log, func() (T, error) { return call(ctx) })
}

func (e *engine) storeFailed(op, key string, err error) {
	e.counts.storeFailures.Add(1)
	e.watch.store(op, key, err)
}
