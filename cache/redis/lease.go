package redis

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/cache"
)

// releaseScript deletes a lease if it has the holder's token: another may have it by now.
const releaseScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// Lease implements [cache.Leaser]. A lease is a string that only its holder knows, set where there is none
// and with ttl as its time to live.
//
// It is not renewed while it is held. A holder that hangs is then of no more harm than one that died, and
// a store needs no goroutine; the price is that ttl has to cover the whole retrieval.
//
// After an error that is neither the context's nor ErrHeld, nobody may have the lease or an unknown holder
// until ttl has passed. Whoever gets it retrieves without a lease; the others find what it puts.
func (s *Store) Lease(ctx context.Context, key string, ttl time.Duration) (func(), error) {
	name := s.name("lease", key)
	if s.watch.has(key) {
		if _, err := s.read(ctx, name, true); err == nil {
			return nil, cache.ErrHeld
		} else if !rueidis.IsRedisNil(err) {
			return nil, err
		}
	}
	token := rand.Text()
	ttl = max(min(ttl, maxKeep), time.Millisecond)
	_, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		return struct{}{}, c.Do(ctx, c.B().Set().Key(name).Value(token).Nx().Px(ttl).Build()).Error()
	})
	if rueidis.IsRedisNil(err) {
		s.watch.add(key, ttl)
		return nil, cache.ErrHeld
	}
	s.watch.drop(key)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { s.release(name, token) }), nil
}

// release ends a lease. If the server cannot be reached the lease ends with its time.
func (s *Store) release(name, token string) {
	do(context.Background(), s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		eval := c.B().Eval().Script(releaseScript).Numkeys(1).Key(name).Arg(token).Build()
		return struct{}{}, c.Do(ctx, eval).Error()
	})
}

const (
	// watchFor is how long an answer from memory can be out of date if the server's word of a change is
	// lost.
	watchFor = time.Second
	// maxWatched bounds the leases of others that are waited for without asking the server each time.
	maxWatched = 10_000
)

// A watch is the set of keys whose lease another was seen to hold. Their copies and leases are read with
// the server's promise to tell of changes; all other reads want the newest and are seldom repeated.
type watch struct {
	mu   sync.Mutex
	keys map[string]time.Time // until when
}

func (w *watch) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	until, ok := w.keys[key]
	if ok && time.Now().After(until) {
		delete(w.keys, key)
		return false
	}
	return ok
}

// add watches a key for the time of one lease.
func (w *watch) add(key string, ttl time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = make(map[string]time.Time)
	}
	if len(w.keys) >= maxWatched {
		clear(w.keys) // those still waited for come back with their next Lease
	}
	w.keys[key] = time.Now().Add(ttl)
}

// drop ends the watch on a key: this process knows better, or has to.
func (w *watch) drop(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys, key)
}
