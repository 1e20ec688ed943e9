package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/policy"
)

const (
	// storeTime bounds one call of the store.
	storeTime = 3 * time.Second
	// maxName is the length in bytes of the longest name of a profile. It keeps
	// the longest key of an authority under the 300 bytes of package cache.
	maxName = 30
	// maxSwaps bounds the tries to replace a record that others replace, too.
	maxSwaps = 4
)

// A swapper is a store that replaces a value only if it is still the one that
// was read: cache/redis is one. A nil old stands for no value, a keep of zero
// for no new one.
type swapper interface {
	Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (swapped bool, err error)
}

// storeKey is the key of an authority's record in the store. Two profiles read
// one robots.txt in two ways, so each has a record of its own.
func (e *engine) storeKey(authority string) string { return authority + " " + e.profile.Name }

// keep is how long the store holds a record: as long as an outage can make use
// of it. The record itself says from when it must be asked for again.
func (e *engine) keep() time.Duration {
	most := e.profile.Fresh.Most
	for _, ph := range e.profile.Outage {
		most = max(most, ph.Until)
	}
	return most + 30*24*time.Hour
}

// load reads the store and returns the record in force of known and the stored
// one. Whatever is not the record of this very authority, whole and of this
// profile, is a miss.
func (e *engine) load(f *flight, known *policy.Record) *policy.Record {
	f.stored = nil
	if e.opts.Store == nil {
		return known
	}
	data, err := e.get(f.key)
	if err != nil {
		e.storeFailed("get", f.key, err)
		return known
	}
	f.stored = data
	if data == nil {
		return known
	}
	rec, err := e.profile.Load(data)
	if err == nil && rec.Robots() != f.key+robotsPath {
		err = fmt.Errorf("the store returned the record of %.200q", rec.Robots())
	}
	if err != nil {
		e.storeFailed("load", f.key, err)
		return known
	}
	return known.Merge(rec, time.Now())
}

// get returns the value that the store has for an authority, nil if there is none.
func (e *engine) get(key string) ([]byte, error) {
	data, err := inStore(context.Background(), e, func(ctx context.Context) ([]byte, error) {
		return e.opts.Store.Get(ctx, e.storeKey(key))
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && data == nil:
		data = []byte{} // neither a value nor an error: no record
	}
	return data, err
}

// save writes a record to the store, folded onto the newest record that the
// store has, and returns the record in force.
func (e *engine) save(f *flight, rec *policy.Record) *policy.Record {
	if e.opts.Store == nil {
		return rec
	}
	if !e.credible(f) {
		e.backlog.drop(f.key)
		return rec
	}
	return e.write(f, rec)
}

// write is save for a record that the fleet may have. What the store does not
// take now is written when it answers again.
func (e *engine) write(f *flight, rec *policy.Record) *policy.Record {
	for try := range maxSwaps {
		done, err := e.swap(f, rec, try == maxSwaps-1)
		if err != nil {
			e.storeFailed("put", f.key, err)
			e.backlog.add(f.key)
		}
		if done || err != nil {
			break
		}
		rec = e.load(f, rec)
	}
	return rec
}

// swap puts a record if the store still has what was read last, or in any case.
// A record that its sender forbade to store takes what is there away.
func (e *engine) swap(f *flight, rec *policy.Record, always bool) (done bool, err error) {
	var value []byte
	var keep time.Duration
	if !rec.NoStore() {
		keep = e.keep()
		if value, err = rec.MarshalBinary(); err != nil {
			return false, err
		}
	}
	if bytes.Equal(value, f.stored) {
		return true, nil
	}
	s, atomic := e.opts.Store.(swapper)
	if !atomic && !always {
		if now, err := e.get(f.key); err != nil || !bytes.Equal(now, f.stored) {
			return false, err
		}
	}
	key, old := e.storeKey(f.key), f.stored // f may change while the store hangs
	return inStore(context.Background(), e, func(ctx context.Context) (bool, error) {
		switch {
		case atomic && !always:
			return s.Swap(ctx, key, old, value, keep)
		case keep == 0:
			return true, e.opts.Store.Delete(ctx, key)
		}
		return true, e.opts.Store.Put(ctx, key, value, keep)
	})
}

// forget removes an authority's record from the store.
func (e *engine) forget(ctx context.Context, key string) error {
	e.backlog.drop(key)
	if e.opts.Store == nil {
		return nil
	}
	_, err := inStore(ctx, e, func(ctx context.Context) (none, error) {
		return none{}, e.opts.Store.Delete(ctx, e.storeKey(key))
	})
	if err != nil {
		e.storeFailed("delete", key, err)
		err = fmt.Errorf("fetcher: forgetting %s: %w", key, err)
	}
	return err
}

// none is the result of a call that has none.
type none struct{}

// inStore makes one call of the store, within its own time even if the store
// does not look at its context: then the call's goroutine ends when the store
// lets it. While the store hangs, calls fail at once.
func inStore[T any](ctx context.Context, e *engine, call func(ctx context.Context) (T, error)) (v T, err error) {
	if err := e.hangs.enter(time.Now()); err != nil {
		return v, err
	}
	limited, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	v, err = within(limited, e.watch.log, func() (T, error) { return call(limited) })
	if ctx.Err() == nil {
		e.hangs.leave(time.Now(), limited.Err() != nil)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrHeld) {
		if e.backlog.begin() {
			// Ends when all is written, or with the first record that is not taken.
			run(e.watch.log, func() error { e.catchUp(); return nil })
		}
	}
	return v, err
}

func (e *engine) storeFailed(op, key string, err error) {
	e.counts.storeFailures.Add(1)
	e.watch.store(op, key, err)
}

const (
	// maxHangs is how many calls in a row may run out of time before the store
	// is left alone.
	maxHangs = 3
	// The store is left alone for hangRest, and twice as long after each call
	// that is let through to see, up to hangMost: a call that hangs for ever
	// keeps its goroutine.
	hangRest = 30 * time.Second
	hangMost = time.Hour
)

var errHangs = errors.New("the store has not answered in time lately")

// hangs keeps calls from a store that does not answer, so that each need not
// wait for it. After each rest one call is let through to see.
type hangs struct {
	mu    sync.Mutex
	inRow int           // calls in a row that ran out of time
	rest  time.Duration // the last rest; 0 while the store answers
	until time.Time     // the end of that rest
}

func (h *hangs) enter(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inRow < maxHangs {
		return nil
	}
	if now.Before(h.until) {
		return errHangs
	}
	h.begin(now)
	return nil
}

// begin begins the next rest.
func (h *hangs) begin(now time.Time) {
	h.rest = min(max(2*h.rest, hangRest), hangMost)
	h.until = now.Add(h.rest)
}

// leave notes how a call ended: late is one that ran out of time.
func (h *hangs) leave(now time.Time, late bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !late {
		h.inRow, h.rest = 0, 0
		return
	}
	if h.inRow++; h.inRow == maxHangs {
		h.begin(now)
	}
}

const (
	// maxBacklog bounds the authorities that wait for the store to answer again.
	maxBacklog = 1000
	// backlogRest is how long nothing is tried again after a record that the
	// store did not take.
	backlogRest = time.Second
)

// A backlog is the set of authorities whose record could not be written. When it
// is full, further ones are left out.
type backlog struct {
	mu   sync.Mutex
	keys map[string]bool
	busy bool      // they are being written
	rest time.Time // not before this
}

func (b *backlog) add(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = time.Now().Add(backlogRest)
	if b.keys == nil {
		b.keys = make(map[string]bool)
	}
	if len(b.keys) < maxBacklog {
		b.keys[key] = true
	}
}

func (b *backlog) drop(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// begin reports whether the caller is to write the records now.
func (b *backlog) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy || len(b.keys) == 0 || time.Now().Before(b.rest) {
		return false
	}
	b.busy = true
	return true
}

// next takes an authority out. There is none if a record was not taken just now.
func (b *backlog) next() (key string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Now().Before(b.rest) {
		return "", false
	}
	for key := range b.keys {
		delete(b.keys, key)
		return key, true
	}
	return "", false
}

func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = false
}

// catchUp writes the records that the store did not take when they were learnt,
// as they are in memory now.
func (e *engine) catchUp() {
	defer e.backlog.end()
	for key, ok := e.backlog.next(); ok; key, ok = e.backlog.next() {
		if rec, ok := e.memory.Get(key); ok {
			f := &flight{key: key}
			e.write(f, e.load(f, rec))
		}
	}
}
