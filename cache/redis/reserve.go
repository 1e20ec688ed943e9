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
//	       is given back; until, the end of a pause or a rest, and why; level, what the next pause starts from;
//	       due, when the head of the queue asks again; parallel and life, as last asked; count, the number of
//	       tickets seen; failures in a row, the cause of the last, and most, after how many the host rests; open,
//	       1 if only a probe may start, opened since when, and rest, the length of the rest; tries, the tickets
//	       that were in flight at the first failure or started since; probe, the latest start while open; and
//	       for each ticket in the queue its gap, ahead and after
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
local s = redis.call("HMGET", state, "last", "latest", "gap", "sent", "until", "level", "due", "parallel", "life", "prior", "priorgap",
	"why", "failures", "cause", "most", "open", "opened", "rest", "tries", "probe")
local last, latest, before, unsent = tonumber(s[1]) or 0, s[2], tonumber(s[3]) or 0, s[4] == "0"
local paused, level, due = tonumber(s[5]) or 0, tonumber(s[6]) or 0, tonumber(s[7]) or 0
local parallel, life = tonumber(s[8]) or 0, tonumber(s[9]) or 0
local prior, priorgap = tonumber(s[10]) or 0, tonumber(s[11]) or 0
local why, failures, cause, most = s[12] or "pause", tonumber(s[13]) or 0, s[14] or "", tonumber(s[15]) or 0
local open, opened, rest = s[16] == "1", tonumber(s[17]) or 0, tonumber(s[18]) or 0
local tries, probe = s[19] or "", tonumber(s[20]) or 0
for _, dead in ipairs(redis.call("ZRANGEBYSCORE", alive, "-inf", now)) do
	redis.call("ZREM", line, dead)
	redis.call("ZREM", alive, dead)
	redis.call("HDEL", state, dead)
end

-- trying is the number of tickets in tries that are still in flight.
local function trying()
	local n, kept = 0, ""
	for who in string.gmatch(tries, "%S+") do
		if redis.call("ZSCORE", alive, who) and not redis.call("ZSCORE", line, who) then
			n, kept = n + 1, kept .. " " .. who
		end
	end
	tries = kept
	return n
end

-- words are an answer or a message.
local function words(granted, start)
	local probing = open and trying() > 0 and probe or 0
	return string.format("%d %.0f %.0f %.0f %.0f %s %d %d %.0f %.0f %s", granted, math.ceil(start), level, now,
		paused, why, failures, open and 1 or 0, rest, probing, cause)
end

local function tell(who, granted, start)
	if who ~= ticket then
		redis.pcall("PUBLISH", channel .. string.match(who, "^[^.]*"), who .. " " .. words(granted, start))
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
		if open or failures > 0 then
			full = full or trying() >= (open and 1 or math.max(most - failures, 1))
		end
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
		if open or failures > 0 then
			tries, probe = tries .. " " .. head, start
			redis.call("HSET", state, "tries", tries, "probe", probe)
		end
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
	redis.call("PEXPIRE", KEYS[i], math.max(i == 1 and redis.call("PTTL", state) or 0, math.ceil(ttl / 1000) + 10000))
end
return words(granted, start)
`)

// holdScript moves the end of a ticket in flight and records when its request was sent, or ends any ticket and takes
// back a start that was not used.
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
return words(0, 0)
`)

// reportScript counts a failure or a success, and makes a pause or a rest longer, never shorter. The level rises with
// a pause and falls without one.
var reportScript = rueidis.NewLuaScript(serveFunction + `
local started, health, wait, new = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[8]), tonumber(ARGV[10])
local least, longest = tonumber(ARGV[12]), tonumber(ARGV[13])
local function forbid(span, reason)
	if now + span > paused then
		paused, why = now + span, reason
	end
end
if health == "failing" and started > opened then
	if failures == 0 then
		tries = table.concat(redis.call("ZRANGE", alive, 0, -1), " ")
	end
	failures, cause, most = failures + 1, ARGV[7], tonumber(ARGV[11])
	if open or failures >= most then
		open, opened, tries, rest = true, now, "", math.min(math.max(2 * rest, least), longest)
		forbid(rest, "breaker")
	end
elseif health == "healthy" and started > opened then
	failures, open, tries, rest = 0, false, "", rest / 2 >= least and rest / 2 or 0
end
if wait > 0 then
	forbid(wait, ARGV[9])
	level = math.max(level, new)
elseif new >= 0 then
	level = math.min(level, new)
end
if not open and ARGV[14] ~= "" then
	local kept = ""
	for who in string.gmatch(tries, "%S+") do
		kept = who == ARGV[14] and kept or kept .. " " .. who
	end
	tries = kept
end
redis.call("HSET", state, "until", paused, "why", why, "level", level, "failures", failures, "cause", cause, "most", most,
	"open", open and 1 or 0, "opened", opened, "rest", rest, "tries", tries)
local ttl = math.max(paused - now, 0) + math.max(level, (failures > 0 or rest > 0) and longest or 0)
redis.call("PEXPIRE", state, math.max(redis.call("PTTL", state), math.ceil(ttl / 1000) + 10000))
serve()
return words(0, 0)
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
	return s.answer(ctx, reserveScript, authority, args)
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority, ticket string, life, started time.Duration) (pace.Condition, error) {
	args := []string{s.wakeChannel(""), ticket, micros(placePoll), micros(sendTime), micros(life), moment(started)}
	g, err := s.answer(ctx, holdScript, authority, args)
	return g.Condition, err
}

// Report implements [pace.Store].
func (s *Store) Report(ctx context.Context, authority string, r pace.Report) (pace.Condition, error) {
	health := map[pace.Health]string{pace.Failing: "failing", pace.Healthy: "healthy"}[r.Health]
	level := "-1"
	if r.Level >= 0 {
		level = micros(r.Level)
	}
	g, err := s.answer(ctx, reportScript, authority, []string{
		s.wakeChannel(""), "", micros(placePoll), micros(sendTime), moment(r.Started), health, r.Cause, micros(r.Wait),
		reasons[r.Why], level, strconv.Itoa(r.Failures), micros(r.Rest), micros(r.RestMax), r.Answered,
	})
	return g.Condition, err
}

// reasons are the reasons of a rest that the scripts know. Any other is read as a pause.
var reasons = map[pace.Reason]string{
	"": "pause", pace.ReasonPause: "pause", pace.ReasonQuota: "quota", pace.ReasonBreaker: "breaker",
}

// answer runs one of the scripts about an authority.
func (s *Store) answer(ctx context.Context, script *rueidis.Lua, authority string, args []string) (pace.Grant, error) {
	text, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (string, error) {
		return execute(ctx, c, script, s.paceNames(authority), args).ToString()
	})
	if err != nil {
		return pace.Grant{}, err
	}
	return parseAnswer(text)
}

// parseAnswer reads the words of a script.
func parseAnswer(text string) (pace.Grant, error) {
	words := strings.SplitN(text, " ", 11)
	if len(words) != 11 {
		return pace.Grant{}, fmt.Errorf("redis: an answer of %d words, want 11", len(words))
	}
	var n [10]time.Duration
	for i := range n {
		if i == 5 {
			continue // the reason
		}
		number, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			return pace.Grant{}, fmt.Errorf("redis: word %d of an answer is %.20q, want a number", i, words[i])
		}
		n[i] = time.Duration(number)
	}
	const us = time.Microsecond
	return pace.Grant{Granted: n[0] == 1, Start: n[1] * us, Condition: pace.Condition{
		Level: n[2] * us, Clock: n[3] * us, Until: n[4] * us, Why: pace.Reason(words[5]), Failures: int(n[6]),
		Open: n[7] == 1, Rest: n[8] * us, Probe: n[9] * us, Cause: words[10],
	}}, nil
}

// Count implements [pace.Store].
func (s *Store) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	n, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (int64, error) {
		return execute(ctx, c, countScript, []string{s.name("pace", "members")}, []string{process, micros(life)}).AsInt64()
	})
	return int(n), err
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
