package redis

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
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
func (s pacing) Lease(ctx context.Context, c pace.Claim, life time.Duration) (pace.Lease, error) {
	return s.call(ctx, "lease", c, life, pace.State{}, false)
}

// Keep implements [pace.Store].
func (s pacing) Keep(ctx context.Context, c pace.Claim, life time.Duration, state pace.State, tell bool) (pace.Lease, error) {
	return s.call(ctx, "keep", c, life, state, tell)
}

// Return implements [pace.Store].
func (s pacing) Return(ctx context.Context, c pace.Claim, state pace.State) error {
	_, err := s.call(ctx, "return", c, 0, state, false)
	return err
}

// call runs the script, which is one atomic step by the server's clock.
func (s pacing) call(ctx context.Context, call string, c pace.Claim, life time.Duration, state pace.State, tell bool) (pace.Lease, error) {
	told := "0"
	if tell {
		told = "1"
	}
	args := []string{call, c.Process, strconv.FormatUint(c.Number, 10), micros(life), writeState(state), micros(state.Keep), told, s.channel(""), c.Key}
	answer, err := do(ctx, s.link, func(ctx context.Context, client rueidis.Client) (string, error) {
		return leaseScript.Exec(ctx, client, []string{s.name("host", c.Key)}, args).ToString()
	})
	if err != nil {
		return pace.Lease{}, err
	}
	_, l, err := readAnswer(answer)
	return l, err
}

// readAnswer reads what the script returns, or sends in a message.
func readAnswer(text string) (c pace.Claim, l pace.Lease, err error) {
	n, rest, err := readLine(text)
	size := n[7]
	if err != nil || size < 0 || size > int64(len(rest)) {
		return c, l, errors.New("redis: the script has not given this answer")
	}
	const us = time.Microsecond
	return pace.Claim{Key: rest[:size], Number: uint64(n[6])}, pace.Lease{
		Granted: n[0] == 1, Wanted: n[1] == 1, Ahead: int(n[2]), Free: time.Duration(n[3]) * us,
		Age: time.Duration(n[4]) * us, Lost: time.Duration(n[5]) * us, State: readState(rest[size:]),
	}, nil
}

// writeState returns a state as text. The zero State is empty.
func writeState(s pace.State) string {
	if s == (pace.State{}) {
		return ""
	}
	n := [9]time.Duration{s.SinceStart, s.Delay, s.Pause, s.Level, s.Rest, s.Took, s.Keep, time.Duration(s.Failures)}
	if s.Open {
		n[8] = 1
	}
	var b []byte
	for _, d := range n {
		b = append(strconv.AppendInt(b, int64(d), 10), ' ')
	}
	return string(b) + "\n" + string(s.Why) + "\n" + s.Cause
}

// readState reads what writeState has written. Other text is the zero State.
func readState(text string) pace.State {
	n, rest, err := readLine(text)
	if err != nil {
		return pace.State{}
	}
	why, cause, _ := strings.Cut(rest, "\n")
	d := func(i int) time.Duration { return time.Duration(n[i]) }
	return pace.State{
		SinceStart: d(0), Delay: d(1), Pause: d(2), Level: d(3), Rest: d(4), Took: d(5), Keep: d(6),
		Failures: int(n[7]), Open: n[8] == 1, Why: pace.Reason(why), Cause: cause,
	}
}

// readLine reads up to nine numbers in the first line of a text, and returns the text after it.
func readLine(text string) (n [9]int64, rest string, err error) {
	line, rest, _ := strings.Cut(text, "\n")
	for i := 0; i < len(n) && err == nil && (line != "" || i == 0); i++ {
		var number string
		number, line, _ = strings.Cut(line, " ")
		n[i], err = strconv.ParseInt(number, 10, 64)
	}
	return n, rest, err
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
