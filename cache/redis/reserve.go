package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// The scripts below keep three keys of an authority. Times are in microseconds of the server's clock.
//
//	state  a hash: last, the latest start; latest, its ticket; turn, the start granted to that ticket; gap, what that start keeps free behind it; until, the end of
//	       a pause; level, what the next pause starts from; first, the ticket at the head of the queue; due,
//	       when it may start; wanted, 1 if a ticket waits for a place; count, the number of tickets seen
//	line   the tickets in the queue, by order of arrival
//	alive  all tickets, by the moment at which they count as dead
//
// A ticket that is alive and not in the queue is in flight. Reserve removes the dead first. Keys that are not
// used expire.

// wakeFunction tells the process of a ticket, the first in the queue if none is given, that the ticket should ask
// again. A ticket begins with the name of its process. A server that forbids the message costs time only.
const wakeFunction = `
local function wake(who)
	who = who or redis.call("ZRANGE", line, 0, 0)[1]
	if who then
		redis.pcall("PUBLISH", channel .. string.match(who, "^[^.]*"), who)
	end
end
`

// reserveScript grants a start to the first ticket in the queue, and to a ticket in flight, if the number in
// flight allows it and the gap and the pause end soon. Otherwise it answers when to ask again. Behind others
// that is an estimate.
var reserveScript = rueidis.NewLuaScript(`
local state, line, alive, channel = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local ticket, used = ARGV[2], ARGV[3] == "1"
local gap, keep, life = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local lead, ahead, parallel = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local patience, poll = tonumber(ARGV[10]), tonumber(ARGV[11])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
` + wakeFunction + `
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", alive, "-inf", now)) do
	redis.call("ZREM", line, dead)
	redis.call("ZREM", alive, dead)
end
local s = redis.call("HMGET", state, "last", "latest", "gap", "until", "level", "wanted", "first", "due")
local last, before = tonumber(s[1]) or 0, tonumber(s[3]) or 0
local paused, level = tonumber(s[4]) or 0, tonumber(s[5]) or 0
if last > now + 2000000 then -- the clock was set back
	last = now
end

local flying = redis.call("ZCARD", alive) - redis.call("ZCARD", line)
local place = redis.call("ZRANK", line, ticket)
local held = not place and redis.call("ZSCORE", alive, ticket)
if held then
	place, flying = 0, flying - 1
elseif not place then
	redis.call("ZADD", line, redis.call("HINCRBY", state, "count", 1), ticket)
	place = redis.call("ZRANK", line, ticket)
end

local start = last + math.max(gap, before)
if held and not used and s[2] == ticket then
	start = last
end
local soon = now
if math.max(gap, before) > 0 then
	soon = now + lead
end
local free = math.max(start, paused, now)
start = math.max(free, soon)
local full = not held and parallel > 0 and flying >= parallel
local granted, wait = 0, start - now
if place == 0 and not full and start <= math.max(soon, now + ahead) then
	granted, wait = 1, free - now
	redis.call("ZREM", line, ticket)
	redis.call("ZADD", alive, start + life, ticket)
	redis.call("HSET", state, "last", start, "turn", start, "latest", ticket, "gap", gap)
	if redis.call("ZCARD", line) == 0 then
		redis.call("HDEL", state, "wanted")
	elseif s[6] == "1" and flying + 1 < parallel then
		wake()
	end
else
	wait = wait - ahead
	if wait <= 0 then
		wait = math.max((start - soon) / 2, 1000)
	end
	if full then
		wait = math.max(wait, poll)
		redis.call("HSET", state, "wanted", 1)
	end
	if held then
		redis.call("ZADD", alive, start + life, ticket)
	else
		if place == 0 then
			redis.call("HSET", state, "first", ticket, "due", now + wait)
		elseif redis.call("ZRANGE", line, 0, 0)[1] == s[7] then
			wait = math.max(wait, s[8] - now)
		end
		wait = wait + place * math.max(gap, 5000)
		redis.call("ZADD", alive, now + math.min(wait, patience) + 2000000, ticket)
	end
end

local ttl = math.max(gap, before, keep, wait + life, paused - now + level)
for i = 1, 3 do
	redis.call("PEXPIRE", KEYS[i], math.ceil(ttl / 1000) + 10000)
end
return {granted, math.ceil(wait), math.floor(start - free), level, now}
`)

// holdScript moves the end of a ticket in flight and its start, or ends any ticket. It returns the rest of a
// pause or of a gap behind another request.
var holdScript = rueidis.NewLuaScript(`
local state, line, alive, channel = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local ticket, life, late = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
` + wakeFunction + `
local s = redis.call("HMGET", state, "last", "latest", "gap", "until", "turn", "wanted")
local rest = (tonumber(s[4]) or 0) - now
local queued = redis.call("ZSCORE", line, ticket)
if not queued and redis.call("ZSCORE", alive, ticket) then
	local last, gap = tonumber(s[1]) or 0, tonumber(s[3]) or 0
	if s[2] == ticket and late > 0 then
		redis.call("HSET", state, "last", math.max(last, s[5] + late))
	elseif s[2] and s[2] ~= ticket then
		rest = math.max(rest, last + gap - now)
		if late > 0 and last > now then -- the next start was granted ahead of time
			redis.call("HSET", state, "last", math.max(last, now + gap))
			wake(s[2])
		elseif late > 0 then
			redis.call("HSET", state, "last", now)
		end
	end
	if life > 0 then
		redis.call("ZADD", alive, now + life, ticket)
		redis.call("PEXPIRE", alive, math.max(redis.call("PTTL", alive), math.ceil(life / 1000) + 10000))
	end
end
if life == 0 then
	redis.call("ZREM", line, ticket)
	redis.call("ZREM", alive, ticket)
	if queued or s[6] == "1" then
		wake()
	end
end
return math.max(rest, 0)
`)

// pauseScript makes the pause longer, never shorter. The level rises with a pause and falls without one.
var pauseScript = rueidis.NewLuaScript(`
local state, wait, level = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local s = redis.call("HMGET", state, "until", "level")
local paused, known = tonumber(s[1]) or 0, tonumber(s[2]) or 0
if wait > 0 then
	paused, level = math.max(paused, now + wait), math.max(known, level)
else
	level = math.min(known, level)
end
redis.call("HSET", state, "until", paused, "level", level)
local ttl = math.ceil((math.max(paused - now, 0) + level) / 1000) + 10000
redis.call("PEXPIRE", state, math.max(redis.call("PTTL", state), ttl))
return 0
`)

// countScript registers a process and returns the number of processes registered.
var countScript = rueidis.NewLuaScript(`
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], math.ceil(ARGV[2] / 1000) + 10000)
return redis.call("ZCARD", KEYS[1])
`)

const (
	// patience is how long a ticket in the queue need not ask. It has two seconds more.
	patience = 5 * time.Second
	// placePoll is how often a ticket that waits for a place asks if no message reaches it.
	placePoll = 500 * time.Millisecond
	// maxSpan bounds every span that is sent, so that the scripts' sums stay whole numbers.
	maxSpan = 36 * 365 * 24 * time.Hour
)

// Reserve implements [pace.Store]. One atomic script decides, by the server's clock.
//
// Two starts are at least the larger of their gaps apart.
func (s *Store) Reserve(ctx context.Context, authority string, r pace.Reservation) (pace.Grant, error) {
	args := []string{
		s.wakeChannel(""), r.Ticket, flag(r.Used), micros(r.Gap), micros(r.Keep), micros(r.Life),
		micros(r.Lead), micros(r.Ahead), strconv.Itoa(r.Parallel), micros(patience), micros(placePoll),
	}
	answer, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]int64, error) {
		return execute(ctx, c, reserveScript, s.paceNames(authority), args).AsIntSlice()
	})
	if err != nil {
		return pace.Grant{}, err
	}
	if len(answer) != 5 {
		return pace.Grant{}, fmt.Errorf("redis: a reservation answers with %d numbers, want 5", len(answer))
	}
	return pace.Grant{
		Granted: answer[0] == 1,
		Wait:    time.Duration(answer[1]) * time.Microsecond,
		Slack:   time.Duration(answer[2]) * time.Microsecond,
		Level:   time.Duration(answer[3]) * time.Microsecond,
		Clock:   time.Duration(answer[4]) * time.Microsecond,
	}, nil
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority, ticket string, life, late time.Duration) (rest time.Duration, err error) {
	n, err := s.run(ctx, holdScript, s.paceNames(authority), s.wakeChannel(""), ticket, micros(life), micros(late))
	return time.Duration(n) * time.Microsecond, err
}

// Pause implements [pace.Store].
func (s *Store) Pause(ctx context.Context, authority string, wait, level time.Duration) error {
	_, err := s.run(ctx, pauseScript, s.paceNames(authority)[:1], micros(wait), micros(level))
	return err
}

// Count implements [pace.Store].
func (s *Store) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	n, err := s.run(ctx, countScript, []string{s.name("pace", "members")}, process, micros(life))
	return int(n), err
}

// run runs a script that answers with a number.
func (s *Store) run(ctx context.Context, script *rueidis.Lua, keys []string, args ...string) (int64, error) {
	return do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (int64, error) {
		return execute(ctx, c, script, keys, args).AsInt64()
	})
}

// execute runs a script. Keys of a type that no script here makes are deleted first.
func execute(ctx context.Context, c rueidis.Client, script *rueidis.Lua, keys, args []string) rueidis.RedisResult {
	r := script.Exec(ctx, c, keys, args)
	if wrongType(r.Error()) {
		c.Do(ctx, c.B().Del().Key(keys...).Build())
		r = script.Exec(ctx, c, keys, args)
	}
	return r
}

// flag is a bool as the scripts read it.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// paceNames are the keys of state, line and alive. The braces put them on one node of a cluster.
func (s *Store) paceNames(authority string) []string {
	tag := "{" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(authority) + "}"
	return []string{s.name("pace", tag+":state"), s.name("pace", tag+":line"), s.name("pace", tag+":alive")}
}

// micros is a span in whole microseconds, rounded up.
func micros(d time.Duration) string {
	d = max(min(d, maxSpan), 0)
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}
