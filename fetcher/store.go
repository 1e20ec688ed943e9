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
	var data []byte
	err := e.inStore(func(ctx context.Context) (err error) {
		data, err = e.opts.Store.Get(ctx, key)
		return err
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
	e.counts.storeHits.Add(1)
	return rec
}

// save writes a record to the store.
func (e *engine) save(key string, rec *policy.Record) {
	if e.opts.Store == nil {
		return
	}
	data, err := rec.MarshalBinary()
	if err == nil {
		err = e.inStore(func(ctx context.Context) error { return e.opts.Store.Put(ctx, key, data, e.keep()) })
	}
	if err != nil {
		e.storeFailed("put", key, err)
	}
}

// lease makes this process the only one of its fleet that retrieves the file, if
// the store can do that. It returns either the right to ask, with the function
// that gives it back, or the record that another process has just learnt. It
// waits for that record, not for the other's lease, and goes ahead alone when
// the store fails or the wait has lasted as long as a retrieval may.
func (e *engine) lease(key string, old *policy.Record, force bool) (release func(), fresh *policy.Record) {
	none := func() {}
	l, ok := e.opts.Store.(cache.Leaser)
	if !ok {
		return none, nil
	}
	until := time.Now().Add(e.opts.Timeout)
	for wait := leaseLook; ; wait = min(2*wait, leaseMost) {
		err := e.inStore(func(ctx context.Context) (err error) {
			release, err = l.Lease(ctx, key, e.opts.Timeout+storeTime)
			return err
		})
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			e.storeFailed("lease", key, err)
			return none, nil
		}
		// The record is looked at under the lease too: the holder before us
		// may have written it between our look and our lease.
		if rec := e.load(key); rec != nil && !rec.Due(time.Now()) && (!force || rec.NextTry().After(old.NextTry())) {
			if err == nil {
				e.released(release)
			}
			return none, rec
		}
		if err == nil {
			return func() { e.released(release) }, nil
		}
		if time.Now().After(until) {
			return none, nil
		}
		time.Sleep(wait)
	}
}

// released gives a lease back; a store that panics there hurts nobody.
func (e *engine) released(release func()) {
	if release != nil {
		e.guarded(func() error { release(); return nil })
	}
}

// inStore makes one call of the store, with its own deadline.
func (e *engine) inStore(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return e.guarded(func() error { return call(ctx) })
}

func (e *engine) storeFailed(op, key string, err error) {
	e.counts.storeFailures.Add(1)
	e.watch.store(op, key, err)
}
