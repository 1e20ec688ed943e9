package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/pace"
)

// The scripts below keep three keys of each name: of an authority, and of a scope. Times are in microseconds of the
// server's clock.
//
//	state  a hash: last, the latest start; latest, its ticket; gap, the time to keep free behind it; unsent, 1
//	       until its request was sent, where that matters; prior and priorgap, last and gap if the latest start
//	       is given back; paused, the end of a pause or a rest, and why; level, what the next pause starts from;
//	       due, when head, the head of the queue, asks again; parallel and life, as last asked; newest, the last
//	       order of a ticket that started; failures in a row, the cause of the last, and most, after how many the
//	       host rests; open, 1 if only a probe may start, opened since when, and rest, the length of the rest;
//	       tries, the tickets that were in flight at the first failure or started since; probe, the latest start
//	       while open; kept, the ticket that the scope is kept free for, its order, when it is due, and until
//	       when; and for each ticket in the queue its gap, ahead, after and kind: 0 without scopes, 1 with
//	       scopes, 2 with scopes and overtaken, 3 of another authority
//	line   the tickets in the queue, by the moment at which their requests came, which is at least 1; and before
//	       them tickets in flight that ask for one more start, by negative orders
//	alive  all tickets, by the moment at which they count as dead
//
// A ticket that is alive and not in the queue is in flight. Since the tickets before the queue keep their places, they
// count only for the others. Each script removes the dead first. Keys that are not used expire.
//
// Each script gets three keys of each name, first those of the authority. It loads them into a table, and save writes
// what has changed. Its arguments begin with the channel of messages, its ticket, three spans and the names.

// serveFunction grants starts to the head of the queue as long as there is room for a request in flight and the
// gap and the pause end soon. The process of a ticket, whose name the ticket begins with, gets a message of each
// grant and of an earlier moment to ask again. The ticket that asks gets its answer from Reserve instead, and a
// ticket with scopes is granted a start there alone. If the server forbids messages, that costs time only.
const serveFunction = `
local channel, ticket = ARGV[1], ARGV[2]
local poll, sending, patience = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local numbers = 20 -- of the fields; the rest are texts
local fields = {"last", "gap", "unsent", "prior", "priorgap", "paused", "level", "due", "parallel", "life", "newest", "failures", "most",
	"open", "opened", "rest", "probe", "keptorder", "keptdue", "keptuntil", "latest", "why", "head", "cause", "tries", "kept"}
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local names = {}
for i = 1, #KEYS / 3 do
	local n = {state = KEYS[3 * i - 2], line = KEYS[3 * i - 1], alive = KEYS[3 * i], name = ARGV[5 + i]}
	n.was = redis.call("HMGET", n.state, unpack(fields))
	for j = 1, #fields do
		n.was[j] = j > numbers and (n.was[j] or "") or tonumber(n.was[j]) or 0
		n[fields[j]] = n.was[j]
	end
	n.last = n.last > now + 2000000 and now or n.last -- the clock was set back
	if n.keptuntil <= now or n.keptuntil > now + 2 * patience then
		n.kept = ""
	end
	for _, dead in ipairs(redis.call("ZRANGEBYSCORE", n.alive, "-inf", now)) do
		redis.call("ZREM", n.line, dead)
		redis.call("ZREM", n.alive, dead)
		redis.call("HDEL", n.state, dead)
	end
	names[i] = n
end
local own = names[1]

local function arg(i)
	return ARGV[5 + #names + i]
end

local function save()
	for _, n in ipairs(names) do
		local changed = {}
		for j = 1, #fields do
			if n[fields[j]] ~= n.was[j] then
				changed[#changed + 1] = fields[j]
				changed[#changed + 1] = n[fields[j]]
			end
		end
		if #changed > 0 then
			redis.call("HSET", n.state, unpack(changed))
		end
	end
end

-- expire keeps the keys of n for ttl and ten seconds more.
local function expire(n, ttl)
	ttl = math.max(redis.call("PTTL", n.state), math.ceil(ttl / 1000) + 10000)
	redis.call("PEXPIRE", n.state, ttl)
	redis.call("PEXPIRE", n.line, ttl)
	redis.call("PEXPIRE", n.alive, ttl)
end

-- trying is the number of tickets in tries that are still in flight.
local function trying(n)
	local count, kept = 0, ""
	for who in string.gmatch(n.tries, "%S+") do
		if redis.call("ZSCORE", n.alive, who) and not redis.call("ZSCORE", n.line, who) then
			count, kept = count + 1, kept .. " " .. who
		end
	end
	n.tries = kept
	return count
end

-- words are an answer or a message. in_the_way is the index of the scope in the way, 0 if none is.
local function words(n, granted, start, in_the_way)
	local probing = n.open == 1 and trying(n) > 0 and n.probe or 0
	return string.format("%d %.0f %.0f %.0f %.0f %s %d %d %.0f %.0f %d %s", granted, math.ceil(start), n.level, now, n.paused,
		n.why ~= "" and n.why or "pause", n.failures, n.open, n.rest, probing, in_the_way, n.cause)
end

-- tell sends a message, which for a ticket of another authority says nothing of its host.
local function tell(n, who, granted, start, kind)
	if who ~= ticket then
		local text = kind == 3 and string.format("2 %.0f 0 %.0f 0 scope 0 0 0 0 0 %s", math.ceil(start), now, n.name) or words(n, granted, start, 0)
		redis.pcall("PUBLISH", channel .. string.match(who, "^[^.]*"), who .. " " .. text)
	end
end

-- head returns the head of the queue of n and its order. A server short of memory may have dropped alive alone.
local function head(n)
	while true do
		local first = redis.call("ZRANGE", n.line, 0, 0, "WITHSCORES")
		if not first[1] or redis.call("ZSCORE", n.alive, first[1]) then
			return first[1], tonumber(first[2])
		end
		redis.call("ZREM", n.line, first[1])
		redis.call("HDEL", n.state, first[1])
	end
end

-- asks is when a ticket in the queue of n asks again.
local function asks(n, who)
	return (tonumber(redis.call("ZSCORE", n.alive, who)) or now) - 2000000
end

-- room returns when a ticket can start at n, 0 if something else than time is in the way, and the start that its gap
-- counts from, and when to look again if it cannot start now. behind says that there is an older one in the queue.
local function room(n, ask, behind)
	local flying = redis.call("ZCARD", n.alive) - redis.call("ZCARD", n.line) - (ask.holds and 1 or 0)
	local stuck = behind or n.parallel > 0 and flying >= n.parallel
	if n.open == 1 or n.failures > 0 then
		stuck = stuck or trying(n) >= (n.open == 1 and 1 or math.max(n.most - n.failures, 1))
	end
	local apart, base, start = math.max(ask.gap, n.gap), n.last, now
	if apart > 0 and ask.kind == 3 then -- it is used on time
		start = now + ask.ahead / 2
	elseif apart > 0 and n.unsent == 1 and now < n.last + sending then -- it may be sent as late as this
		base = n.last + sending
	end
	start = math.max(base + apart, n.paused, start, ask.after)
	if n.kept ~= "" and n.kept ~= ask.ticket and n.keptorder < ask.order then -- there may be a place or time beside it
		stuck = stuck or apart > 0 and start + apart > n.keptdue or n.parallel > 0 and flying + 1 >= n.parallel
	end
	local again = start - ask.ahead
	if stuck then
		start, again = 0, math.max(again, now + poll)
	end
	return start, base, again > now and math.max(again, now + 1000) or nil
end

-- take starts a ticket at n.
local function take(n, ask, start, base)
	redis.call("ZREM", n.line, ask.ticket)
	redis.call("HDEL", n.state, ask.ticket)
	redis.call("ZADD", n.alive, start + n.life, ask.ticket)
	n.prior, n.priorgap, n.newest = base, n.gap, math.max(n.newest, ask.order)
	n.last, n.latest, n.gap, n.unsent = start, ask.ticket, ask.gap, n.parallel ~= 1 and 1 or 0
	if ask.kind < 3 and (n.open == 1 or n.failures > 0) then
		n.tries, n.probe = n.tries .. " " .. ask.ticket, start
	end
end

-- asked returns what a ticket in the queue of n asks for.
local function asked(n, who, order)
	local words = {}
	for word in string.gmatch(redis.call("HGET", n.state, who) or "", "%S+") do
		words[#words + 1] = tonumber(word)
	end
	return {ticket = who, order = order, gap = words[1] or 0, ahead = words[2] or 0, after = words[3] or 0, kind = words[4] or 0}
end

local function serve(n)
	local granted
	while true do
		local who, order = head(n)
		if not who then
			return
		end
		local ask = asked(n, who, order)
		local start, base, again = room(n, ask)
		if again or ask.kind > 0 then
			again = again or now
			if ask.kind > 0 and n.head ~= who then
				n.due = asks(n, who)
			end
			if again < n.due and (ask.kind > 0 or not granted) then
				tell(n, who, 0, again, ask.kind)
			end
			n.due, n.head = again, who
			return
		end
		take(n, ask, start, base)
		tell(n, who, 1, start, ask.kind)
		granted = true
	end
end
`

// attemptFunction grants the head of the queue of an authority a start there and in all of its scopes. If one has no
// room, the ticket waits in its queue, and attempt returns when it asks again and the index of that scope.
const attemptFunction = `
-- stand takes the ticket out of the queues of scopes, but for one, and returns its place there.
local function stand(ask, way)
	for i = 2, #names do
		local n = names[i]
		if i ~= way and n.stands then
			redis.call("ZREM", n.line, ticket)
			redis.call("HDEL", n.state, ticket)
			if ask.order > 0 then
				redis.call("ZREM", n.alive, ticket)
			end
		end
	end
	if way < 2 then
		return 0
	end
	local n = names[way]
	redis.call("ZADD", n.line, ask.order, ticket)
	redis.call("ZADD", n.alive, now + patience, ticket)
	redis.call("HSET", n.state, ticket, string.format("%.0f %.0f 0 3", n.asked, ask.ahead))
	return redis.call("ZRANK", n.line, ticket)
end

local function attempt(ask)
	local way, again, start, latest, from, kind = 0, 0, 0, 1, nil, ask.kind
	for i, n in ipairs(names) do
		local who, first = head(n)
		local behind = who and who ~= ticket and (first < ask.order or first == ask.order and who < ticket)
		ask.gap = n.asked
		if i > 1 then
			ask.kind, ask.holds = 3, not n.stands and redis.call("ZSCORE", n.alive, ticket)
			from = n.stands and n or from
		end
		n.start, n.base, n.again = room(n, ask, behind)
		if n.again and n.again > again then
			way, again = i, n.again
		end
		if n.start > start then
			start, latest = n.start, i
		end
	end
	for i = 2, #names do -- a scope is not left unused for a start that is far off
		local n = names[i]
		local spare = math.max(n.asked, n.gap) / 8
		if not n.again and spare > 0 and start - n.start > spare and start - spare - ask.ahead / 2 > again then
			way, again = latest, start - spare - ask.ahead / 2
		end
	end
	for _, n in ipairs(names) do
		n.kept = n.kept ~= ticket and n.kept or ""
	end
	local place = stand(ask, way)
	if way == 0 then
		for i, n in ipairs(names) do
			ask.gap, ask.kind = n.asked, i > 1 and 3 or kind
			take(n, ask, start, n.base)
		end
		return
	end
	if kind == 1 and from and from ~= names[way] and not from.again and names[way].newest > ask.order then
		kind = 2
		redis.call("HSET", own.state, ticket, string.format("%.0f %.0f 0 2", own.asked, ask.ahead))
	end
	again = again + place * math.max(names[way].asked, 5000)
	for i = 2, way - 1 do
		local n = names[i]
		if kind == 2 and place == 0 and (n.kept == "" or n.keptorder > ask.order) then
			n.kept, n.keptorder, n.keptdue = ticket, ask.order, names[way].start
			n.keptuntil = math.min(again, now + patience) + 2000000
		end
	end
	return again, way
end
`

// reserveScript puts a ticket in the queue and answers with its start, or with the moment to ask again. Behind
// others that is an estimate. A ticket that lets its start pass unused comes before the queue, as does one in flight
// that asks for one more start.
var reserveScript = rueidis.NewLuaScript(serveFunction + attemptFunction + `
local ahead, late, after, waited = tonumber(arg(1)), tonumber(arg(2)), tonumber(arg(3)), tonumber(arg(4))
for i, n in ipairs(names) do
	n.life, n.asked, n.keep, n.parallel = tonumber(arg(5)), tonumber(arg(3 * i + 3)), tonumber(arg(3 * i + 4)), tonumber(arg(3 * i + 5))
	n.stands = i > 1 and redis.call("ZSCORE", n.line, ticket)
end
local ends = redis.call("ZSCORE", own.alive, ticket)
local order = tonumber(redis.call("ZSCORE", own.line, ticket) or nil)
local granted, start, way = 1, ends and ends - own.life, 0
if after > 0 then -- the start before may be renewed, and is no answer
	start = own.unsent == 1 and own.latest == ticket and own.last >= after and own.last or 0
end
if order or not ends or start + late < now then
	if not order then
		local back = redis.call("ZRANGE", own.line, -1, -1, "WITHSCORES")
		order = ends and math.max(after, now) - 1e16 or waited > 0 and math.max(now - waited, 1) or math.max(now, (back[2] or 0) + 1)
		redis.call("ZADD", own.line, order, ticket)
	end
	redis.call("ZADD", own.alive, now + patience, ticket)
	local kind = #names > 1 and math.max(asked(own, ticket).kind, 1) or 0
	redis.call("HSET", own.state, ticket, string.format("%.0f %.0f %.0f %d", own.asked, ahead, after, kind))
	serve(own)
	local again
	local ask = {ticket = ticket, order = order, ahead = ahead, after = after, kind = kind}
	if kind > 0 and head(own) == ticket then
		again, way = attempt(ask)
	else
		stand(ask, 0)
	end
	local place = redis.call("ZRANK", own.line, ticket)
	if place then
		local first, _ = head(own)
		granted, start = 0, again or math.max(own.due, place > 0 and asked(own, first).kind > 0 and asks(own, first) or 0)
		if place > 0 then
			start = math.max(start, own.last + math.max(own.asked, own.gap), own.paused) + place * math.max(own.asked, 5000)
		end
		local dies = math.min(start, now + patience) + 2000000
		redis.call("ZADD", own.alive, after > 0 and order < 0 and now + own.life or dies, ticket)
		if way and way > 1 then
			redis.call("ZADD", names[way].alive, dies, ticket)
		end
	else
		start = redis.call("ZSCORE", own.alive, ticket) - own.life
	end
	if #names > 1 then
		for _, n in ipairs(names) do
			serve(n)
		end
	end
end
local answer = words(own, granted, start, way and way > 1 and way - 1 or 0)
save()
for _, n in ipairs(names) do
	expire(n, math.max(n.asked, n.gap, n.keep, start - now + n.life, n.paused - now + n.level))
end
return answer
`)

// holdScript moves the end of a ticket in flight and records when its request was sent, or ends any ticket and takes
// back a start that was not used.
var holdScript = rueidis.NewLuaScript(serveFunction + `
local keep, started = tonumber(arg(1)), tonumber(arg(2))
for _, n in ipairs(names) do
	local news = keep == 0
	local order = tonumber(redis.call("ZSCORE", n.line, ticket) or 0)
	if order <= 0 and redis.call("ZSCORE", n.alive, ticket) then
		local sent = math.min(started, now)
		n.last, n.prior = math.max(n.last, sent), math.max(n.prior, sent)
		if n.latest == ticket and n.unsent == 1 and (started > 0 or keep == 0) then
			n.unsent, news = 0, true
			if started == 0 then -- its start was not used
				n.last, n.gap, n.latest = n.prior, n.priorgap, ""
			end
		end
		if keep > 0 then
			redis.call("ZADD", n.alive, now + keep, ticket)
		end
		n.flies = true
	end
	if keep == 0 then
		redis.call("ZREM", n.line, ticket)
		redis.call("ZREM", n.alive, ticket)
		redis.call("HDEL", n.state, ticket)
		n.kept = n.kept ~= ticket and n.kept or ""
	end
	if news then
		serve(n)
	end
end
local answer = words(own, 0, 0, 0)
save()
for _, n in ipairs(names) do
	if n.flies then
		expire(n, keep)
	end
end
return answer
`)

// reportScript counts a failure or a success, and makes a pause or a rest longer, never shorter. The level rises with
// a pause and falls without one.
var reportScript = rueidis.NewLuaScript(serveFunction + `
local started, health, wait, new = tonumber(arg(1)), arg(2), tonumber(arg(4)), tonumber(arg(6))
local least, longest, answered = tonumber(arg(8)), tonumber(arg(9)), arg(10)
local function forbid(span, reason)
	if now + span > own.paused then
		own.paused, own.why = now + span, reason
	end
end
if health == "failing" and started > own.opened then
	if own.failures == 0 then
		own.tries = table.concat(redis.call("ZRANGE", own.alive, 0, -1), " ")
	end
	own.failures, own.cause, own.most = own.failures + 1, arg(3), tonumber(arg(7))
	if own.open == 1 or own.failures >= own.most then
		own.open, own.opened, own.tries, own.rest = 1, now, "", math.min(math.max(2 * own.rest, least), longest)
		forbid(own.rest, "breaker")
	end
elseif health == "healthy" and answered == "" and started > own.opened then
	own.failures, own.open, own.tries, own.rest = 0, 0, "", own.rest / 2 >= least and own.rest / 2 or 0
end
if wait > 0 then
	forbid(wait, arg(5))
	own.level = math.max(own.level, new)
elseif new >= 0 then
	own.level = math.min(own.level, new)
end
if answered ~= "" and (own.open == 0 or health == "healthy") then
	local kept = ""
	for who in string.gmatch(own.tries, "%S+") do
		if who == answered then
			own.open = 0
		else
			kept = kept .. " " .. who
		end
	end
	own.tries = kept
end
serve(own)
local answer = words(own, 0, 0, 0)
save()
expire(own, math.max(own.paused - now, 0) + math.max(own.level, (own.failures > 0 or own.rest > 0) and longest or 0))
return answer
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
		micros(r.Ahead), micros(sendTime / 2), moment(r.After), micros(r.Waited), micros(r.Life),
		micros(r.Gap), micros(r.Keep), strconv.Itoa(r.Parallel),
	}
	names := []string{authority}
	for _, scope := range r.Scopes {
		args = append(args, micros(scope.Gap), micros(scope.Keep), strconv.Itoa(scope.Parallel))
		names = append(names, scope.Key)
	}
	g, way, err := s.answer(ctx, reserveScript, r.Ticket, names, args)
	if way > 0 && way <= len(r.Scopes) {
		g.Scope = r.Scopes[way-1].Key
	}
	return g, err
}

// Hold implements [pace.Store].
func (s *Store) Hold(ctx context.Context, authority string, h pace.Holding) (pace.Condition, error) {
	names := append([]string{authority}, h.Scopes...)
	g, _, err := s.answer(ctx, holdScript, h.Ticket, names, []string{micros(h.Life), moment(h.Started)})
	return g.Condition, err
}

// Report implements [pace.Store].
func (s *Store) Report(ctx context.Context, authority string, r pace.Report) (pace.Condition, error) {
	health := map[pace.Health]string{pace.Failing: "failing", pace.Healthy: "healthy"}[r.Health]
	level := "-1"
	if r.Level >= 0 {
		level = micros(r.Level)
	}
	g, _, err := s.answer(ctx, reportScript, "", []string{authority}, []string{
		moment(r.Started), health, r.Cause, micros(r.Wait),
		reasons[r.Why], level, strconv.Itoa(r.Failures), micros(r.Rest), micros(r.RestMax), r.Answered,
	})
	return g.Condition, err
}

// reasons are the reasons of a rest that the scripts know. Any other is read as a pause.
var reasons = map[pace.Reason]string{
	"": "pause", pace.ReasonPause: "pause", pace.ReasonQuota: "quota", pace.ReasonBreaker: "breaker",
}

// answer runs one of the scripts about an authority and scopes, with arguments after those that all scripts have. way is
// the index of the scope in the way, counted from 1; 0 is none.
func (s *Store) answer(ctx context.Context, script *rueidis.Lua, ticket string, names, args []string) (g pace.Grant, way int, err error) {
	keys, slots := s.paceNames(names)
	head := append([]string{s.wakeChannel(""), ticket, micros(placePoll), micros(sendTime), micros(patience)}, names...)
	text, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (string, error) {
		if slots > 1 && c.Mode() == rueidis.ClientModeCluster {
			return "", nil
		}
		return execute(ctx, c, script, keys, append(head, args...)).ToString()
	})
	switch {
	case err != nil:
		return pace.Grant{}, 0, err
	case text == "":
		return pace.Grant{}, 0, fmt.Errorf("redis: a cluster keeps %.200q together only on one slot; want Options.Slot to return the same for all: %w", names, errors.ErrUnsupported)
	}
	return parseAnswer(text)
}

// parseAnswer reads the words of a script.
func parseAnswer(text string) (g pace.Grant, way int, err error) {
	words := strings.SplitN(text, " ", 12)
	if len(words) != 12 {
		return pace.Grant{}, 0, fmt.Errorf("redis: an answer of %d words, want 12", len(words))
	}
	var n [11]time.Duration
	for i := range n {
		if i == 5 {
			continue // the reason
		}
		number, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			return pace.Grant{}, 0, fmt.Errorf("redis: word %d of an answer is %.20q, want a number", i, words[i])
		}
		n[i] = time.Duration(number)
	}
	const us = time.Microsecond
	if n[0] == 2 { // a message of a scope
		return pace.Grant{Start: n[1] * us, Scope: words[11], Condition: pace.Condition{Clock: n[3] * us}}, 0, nil
	}
	return pace.Grant{Granted: n[0] == 1, Start: n[1] * us, Condition: pace.Condition{
		Level: n[2] * us, Clock: n[3] * us, Until: n[4] * us, Why: pace.Reason(words[5]), Failures: int(n[6]),
		Open: n[7] == 1, Rest: n[8] * us, Probe: n[9] * us, Cause: words[11],
	}}, int(n[10]), nil
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

// paceNames are the keys of state, line and alive of each name, and the number of slots that they are on. The braces
// put them on one node of a cluster.
func (s *Store) paceNames(names []string) (keys []string, slots int) {
	escape := strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace
	tags := map[string]bool{}
	for _, name := range names {
		tag, rest := "{"+escape(name)+"}", ""
		if s.slot != nil {
			tag, rest = "{"+escape(s.slot(name))+"}", escape(name)
		}
		tags[tag] = true
		for _, kind := range []string{":state", ":line", ":alive"} {
			keys = append(keys, s.name("pace", tag+rest+kind))
		}
	}
	return keys, len(tags)
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
