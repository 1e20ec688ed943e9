package records

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

// MaxName is the length in bytes of the longest name of a profile. It keeps
// the longest key of an authority under the 300 bytes of package cache.
const MaxName = 30

const (
	// storeTime bounds one call of the store.
	storeTime = 3 * time.Second
	// maxRest bounds what a record has beside its text, in bytes.
	maxRest = 64 << 10
	// maxSwaps bounds the tries to replace a record that others replace, too.
	maxSwaps = 4
)

// key is the key of an authority's record in the store. Two profiles read one
// robots.txt in two ways, so each has a record of its own.
func (c *Cache) key(authority string) string { return authority + " " + c.Profile.Name }

// keep returns how long the store holds a record: as long as an outage can make use of it.
// The record itself says when the next fetch is due.
func (c *Cache) keep() time.Duration {
	longest := c.Profile.Fresh.Max
	for _, ph := range c.Profile.Outage {
		longest = max(longest, ph.Until)
	}
	return longest + 30*24*time.Hour
}

// load reads the store, and returns the record in force: known, the stored one, or both
// merged. A value that is no whole record of this authority and this profile is a miss.
func (e *Entry) load(known *policy.Record) *policy.Record {
	c := e.cache
	if e.stored = nil; c.Store == nil {
		return known
	}
	data, err := c.get(e.authority)
	if err != nil {
		c.Failed("get", e.authority, err)
	}
	if limit := c.Profile.Limit + maxRest; len(data) > limit { // no record, and too long to keep
		c.Failed("load", e.authority, fmt.Errorf("a value of %d bytes; a record has at most %d", len(data), limit))
		c.Forget(context.Background(), e.authority) // reports a failure
		return known
	}
	if e.stored = data; data == nil {
		return known
	}
	rec, err := c.Profile.Load(data)
	if err == nil && rec.Robots() != e.authority+RobotsPath {
		err = fmt.Errorf("the store returned the record of %.200q", rec.Robots())
	}
	if err != nil {
		c.Failed("load", e.authority, err)
		return known
	}
	return known.Merge(rec, time.Now())
}

// get returns the value of an authority, nil if there is none.
func (c *Cache) get(key string) ([]byte, error) {
	return inStore(context.Background(), c, &c.reads, func(ctx context.Context) ([]byte, error) {
		data, err := c.Store.Get(ctx, c.key(key))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && data == nil:
			return []byte{}, nil // the store is wrong: this is a value, but no record
		}
		return data, err
	}, nil)
}

// Save writes a record to the store, and returns the record in force. If the store has got
// another record meanwhile, Save merges the two and tries again, maxSwaps times in all.
func (e *Entry) Save(rec *policy.Record) *policy.Record {
	if e.cache.Store == nil || !e.mayStore() {
		return rec
	}
	merged := rec
	for left := maxSwaps; ; left-- {
		done, err := e.replace(merged)
		if !done && err == nil && left == 1 {
			err = errors.New("the store has another record each time")
		}
		if err != nil {
			e.cache.Failed("put", e.authority, err)
		}
		if done || err != nil {
			break
		}
		merged = e.load(merged)
	}
	if merged != rec {
		return e.remember(merged)
	}
	return rec
}

// replace puts a record into the store if the store still has the value that was read last,
// and reports whether it did. If the server forbade to store the answer, replace removes the
// stored record instead.
func (e *Entry) replace(rec *policy.Record) (done bool, err error) {
	c, key, old := e.cache, e.cache.key(e.authority), e.stored // e may change while the store hangs
	var value []byte
	var keep time.Duration
	if !rec.NoStore() {
		keep = c.keep()
		if value, err = rec.MarshalBinary(); err != nil {
			return false, err
		}
	}
	if bytes.Equal(value, old) {
		return true, nil
	}
	w, swaps := c.Store.(cache.Swapper)
	if !swaps {
		if current, err := c.get(e.authority); err != nil || !bytes.Equal(current, old) {
			return false, err
		}
	}
	return inStore(context.Background(), c, &c.writes, func(ctx context.Context) (bool, error) {
		switch {
		case swaps:
			return w.Swap(ctx, key, old, value, keep)
		case keep == 0:
			return true, c.Store.Delete(ctx, key)
		}
		return true, c.Store.Put(ctx, key, value, keep)
	}, nil)
}

// Forget removes an authority's record from the store. A failure is reported, and returned.
func (c *Cache) Forget(ctx context.Context, key string) error {
	if c.Store == nil {
		return nil
	}
	_, err := inStore(ctx, c, &c.writes, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Store.Delete(ctx, c.key(key))
	}, nil)
	if err != nil {
		c.Failed("delete", key, err)
		err = fmt.Errorf("fetcher: forgetting %s: %w", key, err)
	}
	return err
}

// inStore makes one call of the store. It waits no longer than storeTime, even if the store
// does not look at its context: the goroutine of the call ends when the store returns. After
// several calls of its kind took longer, inStore fails at once for some time. late gets a value that
// comes too late, as in bounded.Call.
func inStore[T any](ctx context.Context, c *Cache, kind *bounded.Breaker, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	if err = kind.Enter(time.Now()); err == nil {
		v, err = bounded.InTime(ctx, c.Log, kind, storeTime, f, late)
	}
	return v, err
}

// newBreaker returns a breaker for calls that take too long. It bounds the goroutines that
// a store which hangs for ever can keep.
func newBreaker() bounded.Breaker {
	return bounded.Breaker{Failures: 3, First: 30 * time.Second, Most: time.Hour}
}
