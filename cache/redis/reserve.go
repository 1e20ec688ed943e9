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
//	       until its request was sent, where that matters; prior and priorgap, last and gap if the latest start
//	       is given back; until, the end of a pause; level, what the next pause starts from; due, when the head
//	       of the queue asks again; parallel and life, as last asked; count, the number of tickets seen; and for
//	       each ticket in the queue its gap, ahead and after
//	line   the tickets in the queue, by order of arrival, which is at least 1; and before them tickets in flight
//	       that ask for one more start, by negative orders
//	alive  all tickets, by the moment at which they count as dead
//
// A ticket that is alive and not in the queue is in flight. Since the tickets before the queue keep their places, they
// count only for the others. Each script removes the dead first. Keys that are not used expire.

// serveFunction grants starts to the head of the queue as long as there is room for a request in flight and the
// gap and the pause end soon. The process of a ticket, whose name the ticket begins with, gets a message of each
// grant and of an earlier moment to ask again. The ticket that asks gets its answer from Reserve instead. If the
// server forbids messages, that costs time only.
const serveFunction = `
local state, line, alive, channel, ticket = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local poll, sending = tonumber(ARGV[3]), tonumber(ARGV[4])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local s = redis.call("HMGET", state, "last", "latest", "gap", "sent", "until", "level", "due", "parallel", "life", "prior", "priorgap")
local last, latest, before, unsent = tonumber(s[1]) or 0, s[2], tonumber(s[3]) or 0, s[4] == "0"
local paused, level, due = tonumber(s[5]) or 0, tonumber(s[6]) or 0, tonumber(s[7]) or 0
local parallel, life = tonumber(s[8]) or 0, tonumber(s[9]) or 0
local prior, priorgap = tonumber(s[10]) or 0, tonumber(s[11]) or 0
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", alive, "-inf", now)) do
	redis.call("ZREM", line, dead)
	redis.call("ZREM", alive, dead)
	redis.call("HDEL", state, dead)
end

local function tell(who, granted, start)
	if who ~= ticket then
		local words = string.format("%s %d %.0f %.0f %.0f", who, granted, math.ceil(start), level, now)
		redis.pcall("PUBLISH", channel .. string.match(who, "^[^.]*"), words)
	end
end

local function serve()
	local answer
	while true do
		local head = redis.call("ZRANGE", line, 0, 0)[1]
		if not head then
			return answer
		end
		local gap, ahead, after = string.match(redis.call("HGET", state, head) or "0 0", "(%S+) (%S+) ?(%S*)")
		gap, ahead, after = tonumber(gap), tonumber(ahead), tonumber(after) or 0
		local flying = redis.call("ZCARD", alive) - redis.call("ZCARD", line)
		local full = parallel > 0 and flying >= parallel
		local apart = math.max(gap, before)
		local base = last
		if apart > 0 and unsent and now < last + sending then -- it may be sent as late as this
			base = last + sending
		end
		local start = math.max(base + apart, paused, now, after)
		if full or start > now + ahead then
			local again = math.max(start - ahead, now + 1000)
			if full then
				again = math.max(again, now + poll)
			end
			if again < due and not answer then
				tell(head, 0, again)
			end
			due = again
			redis.call("HSET", state, "due", due)
			return answer
		end
		redis.call("ZREM", line, head)
		redis.call("HDEL", state, head)
		redis.call("ZADD", alive, start + life, head)
		prior, priorgap = base, before
		last, latest, before, unsent = start, head, gap, parallel ~= 1
		redis.call("HSET", state, "last", last, "latest", latest, "gap", gap, "sent", unsent and 0 or 1, "prior", prior, "priorgap", priorgap)
		tell(head, 1, start)
		answer = start
	end
end
`

// reserveScript puts a ticket in the queue and answers with its start, or with the moment to ask again. Behind
// others that is an estimate. A ticket that lets its start pass unused comes before the queue, as does one in flight
// that asks for one more start.
var reserveScript = rueidis.NewLuaScript(serveFunction + `
local gap, ahead, keep, patience, late = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local after = tonumber(ARGV[12])
parallel, life = tonumber(ARGV[7]), tonumber(ARGV[8])
if last > now + 2000000 then -- the clock was set back
	last = now
end

local ends = redis.call("ZSCORE", alive, ticket)
local order = redis.call("ZSCORE", line, ticket)
local granted, start = 1, ends and ends - life
if after > 0 then -- the start before may be renewed, and is no answer
	start = unsent and latest == ticket and last >= after and last or 0
end
if order or not ends or start + late < now then
	if not order then
		order = ends and math.max(after, now) - 1e16 or redis.call("HINCRBY", state, "count", 1)
		redis.call("ZADD", line, order, ticket)
		redis.call("ZADD", alive, now + patience, ticket)
	end
	redis.call("HSET", state, ticket, ARGV[5] .. " " .. ARGV[6] .. " " .. ARGV[12], "parallel", parallel, "life", life)
	serve()
	local place = redis.call("ZRANK", line, ticket)
	if place then
		granted, start = 0, due
		if place > 0 then
			start = math.max(due, last + math.max(gap, before), paused) + place * math.max(gap, 5000)
		end
		local asks = math.min(start, now + patience)
		redis.call("ZADD", alive, after > 0 and tonumber(order) < 0 and now + life or asks + 2000000, ticket)
	else
		start = redis.call("ZSCORE", alive, ticket) - life
	end
end

local ttl = math.max(gap, before, keep, start - now + life, paused - now + level)
for i = 1, 3 do
	redis.call("PEXPIRE", KEYS[i], math.ceil(ttl / 1000) + 10000)
end
return {granted, math.ceil(start), level, now}
`)

// holdScript moves the end of a ticket in flight and records when its request was sent, or ends any ticket and takes
// back a start that was not used. It returns the rest of a pause.
var holdScript = rueidis.NewLuaScript(serveFunction + `
local keep, started = tonumber(ARGV[5]), tonumber(ARGV[6])
local news = keep == 0
local order = tonumber(redis.call("ZSCORE", line, ticket) or 0)
if order <= 0 and redis.call("ZSCORE", alive, ticket) then
	local sent = math.min(started, now)
	last, prior = math.max(last, sent), math.max(prior, sent)
	if latest == ticket and unsent and (started > 0 or keep == 0) then
		unsent, news = false, true
		if started == 0 then -- its start was not used
			last, before, latest = prior, priorgap, ""
		end
	end
	redis.call("HSET", state, "last", last, "latest", latest or "", "gap", before, "sent", unsent and 0 or 1, "prior", prior)
	if keep > 0 then
		redis.call("ZADD", alive, now + keep, ticket)
	end
	for _, key in ipairs({state, alive}) do
		redis.call("PEXPIRE", key, math.max(redis.call("PTTL", key), math.ceil(keep / 1000) + 10000))
	end
end
if keep == 0 then
	redis.call("ZREM", line, ticket)
	redis.call("ZREM", alive, ticket)
	redis.call("HDEL", state, ticket)
end
if news then
	serve()
end
return math.max(paused - now, 0)
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
	// moveTries and moveRest are how often, and after which rest, a script is tried again while its slot moves.
	moveTries = 15
	moveRest  = 10 * time.Millisecond
	// maxSpan bounds every span that is sent, so that the scripts' sums stay whole numbers.
	maxSpan = 36 * 365 * 24 * time.Hour
)

// Reserve implements [pace.Store]. One atomic script decides, by the server's clock.
//
// Two starts are at least the larger of their gaps apart.
func (s *Store) Reserve(ctx context.Context, authority string, r pace.Reservation) (pace.Grant, error) {
	args := []string{
		s.wakeChannel(""), r.Ticket, micros(placePoll), micros(sendTime), micros(r.Gap), micros(r.Ahead),
		strconv.Itoa(r.Parallel), micros(r.Life), micros(r.Keep), micros(patience), micros(sendTime / 2),
		moment(r.After),
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
	return grant(answer[0], answer[1], answer[2], answer[3]), nil
}

// grant makes a Grant of the numbers that a script answers with.
func grant(granted, start, level, clock int64) pace.Grant {
	return pace.Grant{
		Granted: granted == 1,
		Start:   time.Duration(start) * time.Microsecond,
		Level:   time.Duration(level) * time.Microsecond,
		Clock:   time.Duration(clock) * time.Microsecond,
	}
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority, ticket string, life, started time.Duration) (rest time.Duration, err error) {
	n, err := s.run(ctx, holdScript, s.paceNames(authority), s.wakeChannel(""), ticket, micros(placePoll), micros(sendTime),
		micros(life), moment(started))
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

// execute runs a script. Keys of a type that no script here makes are deleted first. A node of a cluster refuses a
// script while some of its keys have moved to another node, which usually takes some milliseconds for each slot.
func execute(ctx context.Context, c rueidis.Client, script *rueidis.Lua, keys, args []string) rueidis.RedisResult {
	r := script.Exec(ctx, c, keys, args)
	for tries := 0; slotMoves(r.Error()) && tries < moveTries; tries++ {
		<-time.After(moveRest)
		r = script.Exec(ctx, c, keys, args)
	}
	if wrongType(r.Error()) {
		c.Do(ctx, c.B().Del().Key(keys...).Build())
		r = script.Exec(ctx, c, keys, args)
	}
	return r
}

// slotMoves reports whether a node of a cluster refused a script because its slot moves: some of its keys are on
// another node, or it needs a key that would have to be made there.
func slotMoves(err error) bool {
	reply, ok := rueidis.IsRedisErr(err)
	return ok && (reply.IsTryAgain() || strings.Contains(reply.Error(), "non local key"))
}

// paceNames are the keys of state, line and alive. The braces put them on one node of a cluster.
func (s *Store) paceNames(authority string) []string {
	tag := "{" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(authority) + "}"
	return []string{s.name("pace", tag+":state"), s.name("pace", tag+":line"), s.name("pace", tag+":alive")}
}

// moment is a moment of the server's clock in whole microseconds, rounded up.
func moment(d time.Duration) string {
	return strconv.FormatInt(int64(d/time.Microsecond+min(d%time.Microsecond, 1)), 10)
}

// micros is a span in whole microseconds, rounded up.
func micros(d time.Duration) string {
	d = max(min(d, maxSpan), 0)
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}
