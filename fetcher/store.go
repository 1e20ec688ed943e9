package fetcher

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
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
// was read: cache/redis is one. A nil old stands for no value, a keep of zero for
// no new one.
type swapper interface {
	Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (swapped bool, err error)
}

// storage keeps records beyond this process. Whatever the store does, a call of it
// takes no longer than storeTime, and its failure is a miss that is reported.
type storage struct {
	store   cache.Store  // nil without one
	fleet   cache.Leaser // the store if a fleet shares it, else nil
	profile *policy.Profile
	memory  *memory
	watch   *observer
	counts  *counts
	fetch   time.Duration // the longest time of a fetch
	hangs   hangs
	backlog backlog
	witness witness
}

// key is the key of an authority's record in the store. Two profiles read one
// robots.txt in two ways, so each has a record of its own.
func (s *storage) key(authority string) string { return authority + " " + s.profile.Name }

// keep is how long the store holds a record: as long as an outage can make use of
// it. The record itself says when the next fetch is due.
func (s *storage) keep() time.Duration {
	most := s.profile.Fresh.Most
	for _, ph := range s.profile.Outage {
		most = max(most, ph.Until)
	}
	return most + 30*24*time.Hour
}

// load reads the store and returns the record in force of known and the stored
// one. A value that is not a whole record of this very authority and profile is a
// miss.
func (s *storage) load(f *flight, known *policy.Record) *policy.Record {
	f.stored = nil
	if s.store == nil {
		return known
	}
	data, err := inStore(context.Background(), s, func(ctx context.Context) ([]byte, error) {
		return s.get(ctx, s.key(f.key))
	})
	if err != nil {
		s.failed("get", f.key, err)
	}
	if f.stored = data; data == nil {
		return known
	}
	rec, err := s.profile.Load(data)
	if err == nil && rec.Robots() != f.key+robotsPath {
		err = fmt.Errorf("the store returned the record of %.200q", rec.Robots())
	}
	if err != nil {
		s.failed("load", f.key, err)
		return known
	}
	return known.Merge(rec, time.Now())
}

// get returns the value of a key, nil if there is none.
func (s *storage) get(ctx context.Context, key string) ([]byte, error) {
	data, err := s.store.Get(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && data == nil:
		return []byte{}, nil // neither a value nor an error: no record
	}
	return data, err
}

// save writes a record to the store, merged with the newest record there, and
// returns the record in force.
func (s *storage) save(f *flight, rec *policy.Record) *policy.Record {
	if s.store == nil {
		return rec
	}
	if !s.credible(f) {
		s.backlog.drop(f.key)
		return rec
	}
	return s.write(f, rec)
}

// write is save for a record that the fleet may have. What the store does not take
// is written when the store answers again.
func (s *storage) write(f *flight, rec *policy.Record) *policy.Record {
	for try := range maxSwaps {
		done, err := s.replace(f, rec, try == maxSwaps-1)
		if err != nil {
			s.failed("put", f.key, err)
			s.backlog.add(f.key)
		}
		if done || err != nil {
			break
		}
		rec = s.load(f, rec)
	}
	return rec
}

// replace puts a record into the store if the store still has what was read last,
// which done reports, or in any case. A record whose sender forbade to store it
// removes what is there.
func (s *storage) replace(f *flight, rec *policy.Record, anyway bool) (done bool, err error) {
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
	key, old := s.key(f.key), f.stored // f may change while the store hangs
	return inStore(context.Background(), s, func(ctx context.Context) (bool, error) {
		if !anyway {
			if w, ok := s.store.(swapper); ok {
				return w.Swap(ctx, key, old, value, keep)
			}
			now, err := s.get(ctx, key)
			if err = cmp.Or(err, ctx.Err()); err != nil || !bytes.Equal(now, old) {
				return false, err // a Put that nobody waits for could hide a newer record
			}
		}
		if keep == 0 {
			return true, s.store.Delete(ctx, key)
		}
		return true, s.store.Put(ctx, key, value, keep)
	})
}

// forget removes an authority's record from the store.
func (s *storage) forget(ctx context.Context, key string) error {
	s.backlog.drop(key)
	if s.store == nil {
		return nil
	}
	_, err := inStore(ctx, s, func(ctx context.Context) (none, error) {
		return none{}, s.store.Delete(ctx, s.key(key))
	})
	if err != nil {
		s.failed("delete", key, err)
		err = fmt.Errorf("fetcher: forgetting %s: %w", key, err)
	}
	return err
}

// inStore makes one call of the store and waits for it no longer than storeTime,
// even if the store does not look at its context: the goroutine of the call ends
// when the store returns. While the store hangs, calls fail at once. A call that
// succeeds lets the backlog be written.
func inStore[T any](ctx context.Context, s *storage, f func(context.Context) (T, error)) (v T, err error) {
	if err := s.hangs.enter(time.Now()); err != nil {
		return v, err
	}
	limited, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	v, err = call(limited, s.watch.log, f)
	if ctx.Err() == nil {
		s.hangs.leave(time.Now(), limited.Err() != nil)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, cache.ErrHeld) {
		if keys := s.backlog.take(); len(keys) > 0 {
			// Ends when all is written, or with the first record that is not taken.
			go guarded(s.watch.log, func() error { s.catchUp(keys); return nil })
		}
	}
	return v, err
}

func (s *storage) failed(op, key string, err error) {
	s.counts.storeFailures.Add(1)
	s.watch.store(op, key, err)
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
	// backlogRest is how long nothing is written again after a record that the
	// store did not take.
	backlogRest = time.Second
)

// A backlog is the set of authorities whose record the store did not take. When it
// is full, further ones are left out.
type backlog struct {
	mu   sync.Mutex
	keys map[string]bool
	rest time.Time // nothing is written before this
}

func (b *backlog) add(keys ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = time.Now().Add(backlogRest)
	if b.keys == nil {
		b.keys = make(map[string]bool)
	}
	for _, key := range keys[:min(len(keys), maxBacklog-len(b.keys))] {
		b.keys[key] = true
	}
}

func (b *backlog) drop(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// take empties the set, but not while it rests.
func (b *backlog) take() (keys []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.keys) == 0 || time.Now().Before(b.rest) {
		return nil
	}
	keys = slices.Collect(maps.Keys(b.keys))
	clear(b.keys)
	return keys
}

// resting reports whether the store has just not taken a record.
func (b *backlog) resting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.rest)
}

// catchUp writes records that the store did not take before, as they are in memory
// now. It ends with the first that is not taken again.
func (s *storage) catchUp(keys []string) {
	for i, key := range keys {
		if s.backlog.resting() {
			s.backlog.add(keys[i:]...)
			return
		}
		if rec, ok := s.memory.records.Get(key); ok {
			f := &flight{key: key}
			s.write(f, s.load(f, rec))
		}
	}
}
