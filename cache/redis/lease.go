package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/cache"
)

// takeScript sets the lease to the holder's token if nobody has it. An earlier lease that has no time to live, or
// more than ttl left, gets ttl, so that it ends.
var takeScript = rueidis.NewLuaScript(`
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return 1
end
local left = redis.call("PTTL", KEYS[1])
if left == -1 or left > tonumber(ARGV[2]) then
	redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0
`)

// renewScript gives the lease a new time to live if it still has the holder's token: another may have it by
// now. A time to live of 0 ends the lease.
var renewScript = rueidis.NewLuaScript(`
if redis.call("GETRANGE", KEYS[1], 0, #ARGV[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0
`)

// Lease implements [cache.Leaser]. A lease is a string that only its holder knows, with ttl as its time to live.
// It is set if there is none, and renewed three times in that time until it is released or lost. So a holder that
// has died, hangs or is cut off from the server delays the others for ttl only.
//
// After an error that is neither the context's nor ErrHeld, it is not known who has the lease until ttl has
// passed. A caller with such an error fetches without a lease.
func (s *Store) Lease(ctx context.Context, key string, ttl time.Duration) (func(), error) {
	name, token := s.name("lease", key), rand.Text()
	ttl = validTTL(ttl)
	taken, err := s.onLease(ctx, takeScript, name, token, ttl)
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return nil, cache.ErrHeld
	}
	stop := s.renew(name, token, ttl)
	return sync.OnceFunc(func() {
		stop()
		s.onLease(context.Background(), renewScript, name, token, 0) // if that fails the lease expires
	}), nil
}

// renew keeps a lease from running out until stop is called, another has it or the store is closed. It needs no
// goroutine for most leases, which end before the first renewal.
func (s *Store) renew(name, token string, ttl time.Duration) (stop func()) {
	held, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex // guards timer
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(max(ttl/3, time.Millisecond), func() {
		ours, err := s.onLease(held, renewScript, name, token, ttl)
		if err == nil && !ours || errors.Is(err, fs.ErrClosed) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if held.Err() == nil {
			timer.Reset(max(ttl/3, time.Millisecond))
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		cancel()
		timer.Stop()
	}
}

// onLease runs one of the scripts above and reports whether the lease is now, or was, the token's.
func (s *Store) onLease(ctx context.Context, script *rueidis.Lua, name, token string, ttl time.Duration) (bool, error) {
	return do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (bool, error) {
		return script.Exec(ctx, c, []string{name}, []string{token, strconv.FormatInt(ttl.Milliseconds(), 10)}).AsBool()
	})
}
