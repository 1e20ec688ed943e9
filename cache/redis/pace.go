package redis

import (
	"context"
	_ "embed"
	"encoding/json"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// pacing is a pace.Store on a server.
type pacing struct{ *Store }

// Pace returns the store as the one by which processes share the limits of package pace. It has
// the prefix of s and ends with it.
func (s *Store) Pace() pace.Store { return pacing{s} }

var (
	//go:embed lease.lua
	leaseLua    string
	leaseScript = rueidis.NewLuaScript(leaseLua)

	// countScript registers a process and returns the number of processes registered. The key is a
	// set of processes sorted by the end of their lives.
	countScript = rueidis.NewLuaScript(`
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
if redis.call("TYPE", KEYS[1]).ok ~= "zset" then
	redis.call("DEL", KEYS[1])
end
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], math.max(redis.call("PTTL", KEYS[1]), math.ceil(ARGV[2] / 1000)))
return redis.call("ZCARD", KEYS[1])
`)
)

// maxSpan bounds every span that is sent, so that the script's sums stay whole numbers.
const maxSpan = 36 * 365 * 24 * time.Hour

// Lease implements [pace.Store].
func (s pacing) Lease(ctx context.Context, key, process string, life time.Duration) (pace.Lease, error) {
	return readLease(s.call(ctx, "lease", key, process, life, nil, false))
}

// Keep implements [pace.Store].
func (s pacing) Keep(ctx context.Context, key, process string, life time.Duration, state pace.State, tell bool) (pace.Lease, error) {
	return readLease(s.call(ctx, "keep", key, process, life, &state, tell))
}

// Return implements [pace.Store].
func (s pacing) Return(ctx context.Context, key, process string, state pace.State) error {
	_, err := s.call(ctx, "return", key, process, 0, &state, false)
	return err
}

// call runs the script, which is one atomic step by the server's clock. A nil state is not saved.
func (s pacing) call(ctx context.Context, call, key, process string, life time.Duration, state *pace.State, tell bool) ([]rueidis.RedisMessage, error) {
	text, keep, told := "", "0", "0"
	if state != nil {
		b, err := json.Marshal(saved{State: *state, Cause: []byte(state.Cause)})
		if err != nil {
			return nil, err
		}
		text, keep = string(b), micros(state.Keep)
	}
	if tell {
		told = "1"
	}
	return do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]rueidis.RedisMessage, error) {
		args := []string{call, process, micros(life), text, keep, told, s.channel(""), key}
		return leaseScript.Exec(ctx, c, []string{s.name("host", key)}, args).ToArray()
	})
}

// saved is a State as it is written. Its Cause may be any bytes.
type saved struct {
	pace.State
	Cause []byte
}

// readLease reads what the script returns.
func readLease(answer []rueidis.RedisMessage, err error) (pace.Lease, error) {
	if err != nil {
		return pace.Lease{}, err
	}
	var n [6]int64
	for i := range n {
		if n[i], err = answer[i].AsInt64(); err != nil {
			return pace.Lease{}, err
		}
	}
	text, err := answer[len(n)].AsBytes()
	if err != nil {
		return pace.Lease{}, err
	}
	var s saved
	if json.Unmarshal(text, &s) != nil { // nothing was saved, or nobody knows what
		s = saved{}
	}
	s.State.Cause = string(s.Cause)
	const us = time.Microsecond
	return pace.Lease{
		Granted: n[0] == 1, Wanted: n[1] == 1, Ahead: int(n[2]),
		Free: time.Duration(n[3]) * us, State: s.State, Age: time.Duration(n[4]) * us, Lost: time.Duration(n[5]) * us,
	}, nil
}

// Count implements [pace.Store].
func (s pacing) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	n, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (int64, error) {
		return countScript.Exec(ctx, c, []string{s.name("processes", "")}, []string{process, micros(life)}).AsInt64()
	})
	return int(n), err
}

// micros is a span in whole microseconds, from a millisecond to maxSpan.
func micros(d time.Duration) string {
	return strconv.FormatInt(max(min(d, maxSpan), time.Millisecond).Microseconds(), 10)
}
