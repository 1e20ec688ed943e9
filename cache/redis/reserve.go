package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// What the three scripts below keep of an authority, in microseconds of the server's clock:
//
//	state  a hash: last, the latest start, and latest, its ticket; gap, what that start keeps free behind it;
//	       until, the end of a pause; level, what the next pause starts from; first, the ticket that was
//	       last told to wait at the head of the line, and due, until when; count, of tickets seen
//	line   the tickets that wait, by order of arrival
//	alive  all tickets, by the moment at which they are taken for dead
//
// A ticket that is alive and not in line is in flight. The dead are swept out at the beginning of each
// request for a turn, and whatever is not asked for any more ends with its time to live.

// reserveScript gives the turn to the ticket if it is the first in line and the gap, the pause and the
// number of those in flight allow it. Otherwise it answers after what time that may be so. Behind others
// that is an estimate, and what requests in flight hold up has to be asked for again and again.
var reserveScript = rueidis.NewLuaScript(`
local state, line, alive = KEYS[1], KEYS[2], KEYS[3]
local ticket = ARGV[1]
local gap, keep, life = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local parallel, patience = tonumber(ARGV[5]), tonumber(ARGV[6])
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]

for _, dead in ipairs(redis.call("ZRANGEBYSCORE", alive, "-inf", now)) do
	redis.call("ZREM", line, dead)
	redis.call("ZREM", alive, dead)
end
local s = redis.call("HMGET", state, "last", "latest", "gap", "until", "level", "first", "due")
local last, before = math.min(tonumber(s[1]) or 0, now), tonumber(s[3]) or 0
local paused, level = tonumber(s[4]) or 0, tonumber(s[5]) or 0
local flying = redis.call("ZCARD", alive) - redis.call("ZCARD", line)

local place = redis.call("ZRANK", line, ticket)
local again = not place and redis.call("ZSCORE", alive, ticket)
if not place and not again then
	redis.call("ZADD", line, redis.call("HINCRBY", state, "count", 1), ticket)
	place = redis.call("ZRANK", line, ticket)
end

local wait = math.max(paused - now, 0)
if not again then
	wait = math.max(last + math.max(gap, before) - now, wait)
	if parallel > 0 and flying >= parallel then
		wait = math.max(wait, 50000)
	end
	if place == 0 and wait > 0 then
		redis.call("HSET", state, "first", ticket, "due", now + wait)
	elseif place > 0 and redis.call("ZRANGE", line, 0, 0)[1] == s[6] then
		wait = math.max(wait, s[7] - now)
	end
	wait = wait + place * math.max(gap, 5000)
end
if again or wait == 0 then
	redis.call("ZREM", line, ticket)
	redis.call("ZADD", alive, now + wait + life, ticket)
	if wait == 0 and (not again or s[2] == ticket) then
		redis.call("HSET", state, "last", now, "latest", ticket, "gap", gap)
	end
else
	redis.call("ZADD", alive, now + math.min(wait, patience) + 2000000, ticket)
end

local ttl = math.max(gap, before, keep, wait + life, paused - now + level)
for i = 1, 3 do
	redis.call("PEXPIRE", KEYS[i], math.ceil(ttl / 1000) + 10000)
end
return {wait, level}
`)

// holdScript moves the end of a ticket in flight, and its start if that is the latest, or ends any ticket.
var holdScript = rueidis.NewLuaScript(`
local state, line, alive = KEYS[1], KEYS[2], KEYS[3]
local ticket, life, restart = ARGV[1], tonumber(ARGV[2]), ARGV[3] == "1"
if life == 0 then
	redis.call("ZREM", line, ticket)
	redis.call("ZREM", alive, ticket)
elseif redis.call("ZSCORE", alive, ticket) and not redis.call("ZSCORE", line, ticket) then
	local t = redis.call("TIME")
	local now = t[1] * 1000000 + t[2]
	redis.call("ZADD", alive, now + life, ticket)
	redis.call("PEXPIRE", alive, math.max(redis.call("PTTL", alive), math.ceil(life / 1000) + 10000))
	if restart and redis.call("HGET", state, "latest") == ticket then
		redis.call("HSET", state, "last", now)
	end
end
return 0
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

const (
	// patience is how long a ticket in line may go unasked for, beyond which two seconds are left to it.
	patience = 5 * time.Second
	// maxSpan bounds every span that is sent, so that the scripts' sums stay whole numbers.
	maxSpan = 36 * 365 * 24 * time.Hour
)

// Reserve asks for the turn to start a request at authority, for the processes of a fleet together; package
// pace calls it. A wait of zero is the turn: start at once. Then ticket, a name that no other request has,
// counts as in flight for life. Otherwise it stands in line, and Reserve is to be called again with it after
// wait, or after five seconds if that is sooner; a ticket that is two seconds overdue loses its place.
// A ticket in flight that is asked for again starts again: if no other has started since, the gap counts
// from now; a wait is then the rest of a pause.
//
// Two starts are at least the larger of their gaps apart. keep is how long a start is remembered for the
// sake of later ones with a larger gap. No more than parallel tickets are in flight, or any number if it is
// zero. level is that of Pause.
//
// One atomic script decides, by the server's clock. Nothing is locked meanwhile or in between.
func (s *Store) Reserve(ctx context.Context, authority, ticket string, gap, keep, life time.Duration, parallel int) (wait, level time.Duration, err error) {
	spans, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]int64, error) {
		return reserveScript.Exec(ctx, c, s.paceNames(authority), []string{
			ticket, micros(gap), micros(keep), micros(life), strconv.Itoa(parallel), micros(patience),
		}).AsIntSlice()
	})
	if err != nil {
		return 0, 0, err
	}
	if len(spans) != 2 {
		return 0, 0, fmt.Errorf("redis: a reservation answers with %d numbers, want 2", len(spans))
	}
	return time.Duration(spans[0]) * time.Microsecond, time.Duration(spans[1]) * time.Microsecond, nil
}

// Hold keeps a ticket of Reserve in flight for life from now. With restart it also starts again: if no other
// has started since, the gap counts from now. With a life of zero Hold ends the ticket, in flight or in line.
func (s *Store) Hold(ctx context.Context, authority, ticket string, life time.Duration, restart bool) error {
	again := "0"
	if restart {
		again = "1"
	}
	return s.tell(ctx, holdScript, s.paceNames(authority), ticket, micros(life), again)
}

// Pause lets nobody start at authority for wait from now; it never ends a pause sooner. level is a span that
// Reserve tells the fleet, from which the next pause is reckoned: with a wait it can only rise, without one
// only fall.
func (s *Store) Pause(ctx context.Context, authority string, wait, level time.Duration) error {
	return s.tell(ctx, pauseScript, s.paceNames(authority)[:1], micros(wait), micros(level))
}

// tell runs a script that has nothing to answer.
func (s *Store) tell(ctx context.Context, script *rueidis.Lua, keys []string, args ...string) error {
	_, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		return struct{}{}, script.Exec(ctx, c, keys, args).Error()
	})
	return err
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
