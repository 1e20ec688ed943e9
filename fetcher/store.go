package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/policy"
)

// This file keeps records in a cache.Store: RFC 9309, section 2.4.

const (
	// storeTime bounds one call of the store.
	storeTime = 3 * time.Second
	// maxName is the length in bytes of the longest name of a profile. It keeps
	// the longest key of an authority under the 300 bytes of package cache.
	maxName = 30
	// maxRest bounds what a record has beside its text, in bytes.
	maxRest = 64 << 10
	// maxSwaps bounds the tries to replace a record that others replace, too.
	maxSwaps = 4
)

// storage keeps records beyond this process. Whatever the store does, a call of it
// takes no longer than storeTime, and its failure is a miss that is reported. A record that
// the store did not take is in force in this process only, until the next fetch is saved.
type storage struct {
	store     cache.Store  // nil without one
	fleet     cache.Leaser // the store if a fleet shares it, else nil
	profile   *policy.Profile
	watch     *observer
	fetchTime time.Duration // the longest time of a fetch
	witness   witness

	// A breaker for each kind of call.
	reads, writes, leases, releases bounded.Breaker
}

// key is the key of an authority's record in the store. Two profiles read one
// robots.txt in two ways, so each has a record of its own.
func (s *storage) key(authority string) string { return authority + " " + s.profile.Name }

// keep returns how long the store holds a record: as long as an outage can make use of it.
// The record itself says when the next fetch is due.
func (s *storage) keep() time.Duration {
	most := s.profile.Fresh.Max
	for _, ph := range s.profile.Outage {
		most = max(most, ph.Until)
	}
	return most + 30*24*time.Hour
}

// load reads the store, and returns the record in force: known, the stored one, or both
// merged. A value that is no whole record of this authority and this profile is a miss.
func (s *storage) load(f *flight, known *policy.Record) *policy.Record {
	f.stored = nil
	if s.store == nil {
		return known
	}
	data, err := s.get(f.key)
	if err != nil {
		s.watch.store("get", f.key, err)
	}
	if most := s.profile.Limit + maxRest; len(data) > most { // no record, and too long to keep
		s.watch.store("load", f.key, fmt.Errorf("a value of %d bytes; a record has at most %d", len(data), most))
		s.forget(context.Background(), f.key)
		return known
	}
	if f.stored = data; data == nil {
		return known
	}
	rec, err := s.profile.Load(data)
	if err == nil && rec.Robots() != f.key+robotsPath {
		err = fmt.Errorf("the store returned the record of %.200q", rec.Robots())
	}
	if err != nil {
		s.watch.store("load", f.key, err)
		return known
	}
	return known.Merge(rec, time.Now())
}

// get returns the value of an authority, nil if there is none.
func (s *storage) get(key string) ([]byte, error) {
	return inStore(context.Background(), s, &s.reads, func(ctx context.Context) ([]byte, error) {
		data, err := s.store.Get(ctx, s.key(key))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && data == nil:
			return []byte{}, nil // the store is wrong: this is a value, but no record
		}
		return data, err
	}, nil)
}

// save writes a record to the store, and returns the record in force. If the store has got
// another record meanwhile, save merges the two and tries again, maxSwaps times in all.
func (s *storage) save(f *flight, rec *policy.Record) *policy.Record {
	if s.store == nil || !s.mayStore(f) {
		return rec
	}
	for range maxSwaps {
		done, err := s.replace(f, rec)
		if err != nil {
			s.watch.store("put", f.key, err)
		}
		if done || err != nil {
			return rec
		}
		rec = s.load(f, rec)
	}
	s.watch.store("put", f.key, errors.New("the store has another record each time"))
	return rec
}

// replace puts a record into the store if the store still has the value that was read last,
// and reports whether it did. If the server forbade to store the answer, replace removes the
// stored record instead.
func (s *storage) replace(f *flight, rec *policy.Record) (done bool, err error) {
	var value []byte
	var keep time.Duration
	if !rec.NoStore() {
		keep = s.keep()
		if value, err = rec.MarshalBinary(); err != nil {
			return false, err
		}
	}
	if bytes.Equal(value, f.stored) {
		return true, nil
	}
	w, swaps := s.store.(cache.Swapper)
	if !swaps {
		if current, err := s.get(f.key); err != nil || !bytes.Equal(current, f.stored) {
			return false, err
		}
	}
	key, old := s.key(f.key), f.stored // f may change while the store hangs
	return inStore(context.Background(), s, &s.writes, func(ctx context.Context) (bool, error) {
		switch {
		case swaps:
			return w.Swap(ctx, key, old, value, keep)
		case keep == 0:
			return true, s.store.Delete(ctx, key)
		}
		return true, s.store.Put(ctx, key, value, keep)
	}, nil)
}

// forget removes an authority's record from the store.
func (s *storage) forget(ctx context.Context, key string) error {
	if s.store == nil {
		return nil
	}
	_, err := inStore(ctx, s, &s.writes, func(ctx context.Context) (none, error) {
		return none{}, s.store.Delete(ctx, s.key(key))
	}, nil)
	if err != nil {
		s.watch.store("delete", key, err)
		err = fmt.Errorf("fetcher: forgetting %s: %w", key, err)
	}
	return err
}

// inStore makes one call of the store. It waits no longer than storeTime, even if the store
// does not look at its context: the goroutine of the call ends when the store returns. After
// several calls of its kind took longer, inStore fails at once for some time. late gets a value that
// comes too late, as in bounded.Call.
func inStore[T any](ctx context.Context, s *storage, kind *bounded.Breaker, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	if err = kind.Enter(time.Now()); err == nil {
		v, err = bounded.InTime(ctx, s.watch.log, kind, storeTime, f, late)
	}
	return v, err
}

// newBreaker returns a breaker for calls that take too long. It bounds the goroutines that
// a store which hangs for ever can keep.
func newBreaker() bounded.Breaker {
	return bounded.Breaker{Failures: 3, First: 30 * time.Second, Most: time.Hour}
}
