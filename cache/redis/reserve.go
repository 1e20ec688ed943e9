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
//	state  a hash: last, the latest start; latest, its ticket; gap, the time to keep free behind it; sent, 0
//	       until its request was sent, where that matters; until, the end of a pause; level, what the next
//	       pause starts from; waits, what the head of the queue waits for ("sent", "place" or nothing);
//	       due, when it asks again or starts; count, the number of tickets seen
//	line   the tickets in the queue, by order of arrival
//	alive  all tickets, by the moment at which they count as dead
//
// A ticket that is alive and not in the queue is in flight. Reserve removes the dead first. Keys that are not
// used expire.

// wakeFunction tells the process of the first ticket in the queue that the ticket should ask again. A ticket
// begins with the name of its process. A server that forbids the message costs time only.
const wakeFunction = `
local function wake()
	local first = redis.call("ZRANGE", line, 0, 0)[1]
	if first then
		redis.pcall("PUBLISH", channel .. string.match(first, "^[^.]*"), first)
	end
end
`

// reserveScript grants a start to the first ticket in the queue, or a later start to a ticket in flight, if the
// number in flight allows it and the gap and the pause end soon. Otherwise it answers when to ask again. Behind
// others that is an estimate.
var reserveScript = rueidis.NewLuaScript(`
local state, line, alive, channel = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local ticket = ARGV[2]
local gap, keep, life = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ahead, parallel = tonumber(ARGV[6]), tonumber(ARGV[7])
local patience, poll, sending = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
` + wakeFunction + `
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", alive, "-inf", now)) do
	redis.call("ZREM", line, dead)
	redis.call("ZREM", alive, dead)
end
local s = redis.call("HMGET", state, "last", "gap", "latest", "sent", "until", "level", "due")
local last, before = tonumber(s[1]) or 0, tonumber(s[2]) or 0
local paused, level = tonumber(s[5]) or 0, tonumber(s[6]) or 0
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

local apart = math.max(gap, before)
local full = parallel > 0 and flying >= parallel
local unsent = apart > 0 and s[4] == "0" and s[3] ~= ticket and last + sending > now
if unsent then -- it may be sent as late as this
	last = last + sending
end
local start = math.max(last + apart, paused, now)
local granted, waits = place == 0 and not full and start <= now + ahead, ""
if granted then
	redis.call("ZREM", line, ticket)
	redis.call("ZADD", alive, start + life, ticket)
	local sent = 1
	if parallel ~= 1 then
		sent = 0
	end
	redis.call("HSET", state, "last", start, "latest", ticket, "gap", gap, "sent", sent)
	if sent == 0 and gap > 0 then
		waits = "sent"
	elseif parallel > 0 and flying + 1 >= parallel then
		waits = "place"
	else
		wake()
	end
else
	if full then
		waits, start = "place", math.max(start, now + poll + ahead)
	elseif unsent then
		waits = "sent"
	end
	start = math.max(start - ahead, now + 1000)
	if place > 0 then
		start = math.max(start, tonumber(s[7]) or 0) + place * math.max(gap, 5000)
	end
	redis.call("ZADD", alive, math.min(start, now + patience) + 2000000, ticket)
end
if place == 0 then
	redis.call("HSET", state, "waits", waits, "due", start)
end

local ttl = math.max(apart, keep, start - now + life, paused - now + level)
for i = 1, 3 do
	redis.call("PEXPIRE", KEYS[i], math.ceil(ttl / 1000) + 10000)
end
return {granted and 1 or 0, math.ceil(start), level, now}
`)

// holdScript moves the end of a ticket in flight and records when its request was sent, or ends any ticket. It
// returns the rest of a pause.
var holdScript = rueidis.NewLuaScript(`
local state, line, alive, channel = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local ticket, life, started = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
` + wakeFunction + `
local s = redis.call("HMGET", state, "last", "latest", "sent", "until", "waits")
local queued = redis.call("ZSCORE", line, ticket)
local news = queued
if not queued and redis.call("ZSCORE", alive, ticket) then
	redis.call("HSET", state, "last", math.max(tonumber(s[1]) or 0, math.min(started, now)))
	if s[2] == ticket and s[3] == "0" then
		redis.call("HSET", state, "sent", 1)
		news = s[5] == "sent"
	end
	if life > 0 then
		redis.call("ZADD", alive, now + life, ticket)
		redis.call("PEXPIRE", alive, math.max(redis.call("PTTL", alive), math.ceil(life / 1000) + 10000))
	end
end
if life == 0 then
	redis.call("ZREM", line, ticket)
	redis.call("ZREM", alive, ticket)
	news = news or s[5] == "place"
end
if news then
	wake()
end
return math.max((tonumber(s[4]) or 0) - now, 0)
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

// The spans of the scripts above.
const (
	// patience is how long a ticket in the queue need not ask. It has two seconds more.
	patience = 5 * time.Second
	// placePoll is how often a ticket that waits for a place asks if no message reaches it.
	placePoll = 500 * time.Millisecond
	// sendTime is how long the next start waits for the report that a request was sent. After that the
	// request counts as sent.
	sendTime = time.Second
	// maxSpan bounds every span that is sent, so that the scripts' sums stay whole numbers.
	maxSpan = 36 * 365 * 24 * time.Hour
)

// Reserve implements [pace.Store]. One atomic script decides, by the server's clock.
//
// Two starts are at least the larger of their gaps apart.
func (s *Store) Reserve(ctx context.Context, authority string, r pace.Reservation) (pace.Grant, error) {
	args := []string{
		s.wakeChannel(""), r.Ticket, micros(r.Gap), micros(r.Keep), micros(r.Life), micros(r.Ahead),
		strconv.Itoa(r.Parallel), micros(patience), micros(placePoll), micros(sendTime),
	}
	answer, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]int64, error) {
		return execute(ctx, c, reserveScript, s.paceNames(authority), args).AsIntSlice()
	})
	if err != nil {
		return pace.Grant{}, err
	}
	if len(answer) != 4 {
		return pace.Grant{}, fmt.Errorf("redis: a reservation answers with %d numbers, want 4", len(answer))
	}
	return pace.Grant{
		Granted: answer[0] == 1,
		Start:   time.Duration(answer[1]) * time.Microsecond,
		Level:   time.Duration(answer[2]) * time.Microsecond,
		Clock:   time.Duration(answer[3]) * time.Microsecond,
	}, nil
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority, ticket string, life, started time.Duration) (rest time.Duration, err error) {
	n, err := s.run(ctx, holdScript, s.paceNames(authority), s.wakeChannel(""), ticket, micros(life), strconv.FormatInt(started.Microseconds(), 10))
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
