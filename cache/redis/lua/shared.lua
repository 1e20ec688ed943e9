-- This file begins each of the scripts but count.lua. The type Store of package pace says what
-- they promise, and its other types what their arguments and their answers mean.
--
-- The scripts keep three keys of each name, which is an authority or a scope. Times are in
-- microseconds of the server's clock. Keys that are not used expire.
--
-- state is a hash with these fields:
--
--   last         the latest start
--   latest       the ticket of that start
--   gap          the time to keep free after it
--   unsent       1 until its request was sent, where that matters
--   prior        last, if the latest start is given back
--   priorgap     gap, if the latest start is given back
--   newest       the highest order of a ticket that started
--   paused       the end of a pause or a rest
--   why          what paused is for
--   level        what the next pause starts from
--   head         the head of the queue
--   due          when the head asks again
--   parallel     the bound on tickets in flight, as last asked for
--   life         how long a ticket stays in flight, as last asked for
--   failures     the number of failures in a row
--   cause        the cause of the last failure
--   most         the number of failures after which the host rests
--   open         1 if only a probe may start
--   opened       when the latest rest began
--   rest         the length of that rest
--   tries        the tickets in flight at the first failure, and those started since
--   probe        the latest start while open
--   kept         the ticket that the scope is kept free for
--   keptorder    its order
--   keptdue      when it can start
--   keptuntil    when the scope is kept free no longer
--   TICKET       of a ticket in the queue: its gap, ahead, after and kind. The kind is 0 without
--                scopes, 1 with scopes, 2 with scopes and overtaken, 3 of another authority
--
-- line is a sorted set of the tickets in the queue. The order of a ticket is when its request
-- came, at least 1. Before them stand tickets in flight that ask for one more start, with
-- negative orders.
--
-- alive is a sorted set of all tickets, by the moment at which they count as dead. A ticket that
-- is alive and not in line is in flight. A ticket in flight that asks for one more start is in
-- line, and does not count as in flight: it has its place already, and all others come after it.
--
-- Each script gets the three keys of each name, first those of the authority. It loads them into
-- tables and removes the dead tickets, and save writes what has changed. Its arguments begin with
-- the channel of messages, its ticket, three spans and the names.

local channel, ticket = ARGV[1], ARGV[2]
local poll, sending, patience = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local numbers = 20 -- of the fields; the rest are texts
local fields = {"last", "gap", "unsent", "prior", "priorgap", "paused", "level", "due", "parallel", "life", "newest", "failures", "most",
	"open", "opened", "rest", "probe", "keptorder", "keptdue", "keptuntil", "latest", "why", "head", "cause", "tries", "kept"}
local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
local grace = 2000000 -- how long a ticket in the queue lives after the moment at which it should have asked

-- forget removes a ticket from n, wherever it is.
local function forget(n, who)
	redis.call("ZREM", n.line, who)
	redis.call("ZREM", n.alive, who)
	redis.call("HDEL", n.state, who)
	n.kept = n.kept ~= who and n.kept or ""
end

local names = {}
for i = 1, #KEYS / 3 do
	local n = {state = KEYS[3 * i - 2], line = KEYS[3 * i - 1], alive = KEYS[3 * i], name = ARGV[5 + i]}
	n.was = redis.call("HMGET", n.state, unpack(fields))
	for j = 1, #fields do
		n.was[j] = j > numbers and (n.was[j] or "") or tonumber(n.was[j]) or 0
		n[fields[j]] = n.was[j]
	end
	n.last = n.last > now + 2000000 and now or n.last -- no start is so far ahead: the clock was set back
	if n.keptuntil <= now or n.keptuntil > now + 2 * patience then
		n.kept = ""
	end
	for _, dead in ipairs(redis.call("ZRANGEBYSCORE", n.alive, "-inf", now)) do
		forget(n, dead)
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
	local count, left = 0, ""
	for who in string.gmatch(n.tries, "%S+") do
		if redis.call("ZSCORE", n.alive, who) and not redis.call("ZSCORE", n.line, who) then
			count, left = count + 1, left .. " " .. who
		end
	end
	n.tries = left
	return count
end

-- words are an answer or a message: whether a start is granted, the start or the moment to ask again, level, now, the
-- end of a pause or a rest, why, failures, open, rest, the start of the probe, the index of the scope in the way or 0,
-- and the cause.
local function words(n, granted, start, in_the_way)
	local probing = n.open == 1 and trying(n) > 0 and n.probe or 0
	return string.format("%d %.0f %.0f %.0f %.0f %s %d %d %.0f %.0f %d %s", granted, math.ceil(start), n.level, now, n.paused,
		n.why ~= "" and n.why or "pause", n.failures, n.open, n.rest, probing, in_the_way, n.cause)
end

-- tell sends a message. One to a ticket of another authority says nothing of the host: its first word is 2, and its last
-- one is the scope.
local function tell(n, who, granted, start, kind)
	if who ~= ticket then
		local text = kind == 3 and string.format("2 %.0f 0 %.0f 0 scope 0 0 0 0 0 %s", math.ceil(start), now, n.name) or words(n, granted, start, 0)
		redis.pcall("PUBLISH", channel .. string.match(who, "^[^.]*"), who .. " " .. text)
	end
end

-- queue_head returns the head of the queue of n and its order. A server short of memory may have dropped alive alone.
local function queue_head(n)
	while true do
		local first = redis.call("ZRANGE", n.line, 0, 0, "WITHSCORES")
		if not first[1] or redis.call("ZSCORE", n.alive, first[1]) then
			return first[1], tonumber(first[2])
		end
		forget(n, first[1])
	end
end

-- asks is when a ticket in the queue of n asks again.
local function asks(n, who)
	return (tonumber(redis.call("ZSCORE", n.alive, who)) or now) - grace
end

-- room returns when a ticket can start at n, or 0 if something else than time is in the way; the start from which its gap
-- counts; and when to look again, nil if a start can be granted now. behind says that an older ticket is in the queue.
local function room(n, ask, behind)
	local flying = redis.call("ZCARD", n.alive) - redis.call("ZCARD", n.line) - (ask.holds and 1 or 0)
	local stuck = behind or n.parallel > 0 and flying >= n.parallel
	if n.open == 1 or n.failures > 0 then
		stuck = stuck or trying(n) >= (n.open == 1 and 1 or math.max(n.most - n.failures, 1))
	end
	local apart, base, start = math.max(ask.gap, n.gap), n.last, now
	if apart > 0 and ask.kind == 3 then -- so far ahead that the request is sent on time
		start = now + ask.ahead / 2
	elseif apart > 0 and n.unsent == 1 and now < n.last + sending then -- the request before may be sent as late as this
		base = n.last + sending
	end
	start = math.max(base + apart, n.paused, start, ask.after)
	if n.kept ~= "" and n.kept ~= ask.ticket and n.keptorder < ask.order then -- only what that one does not need is free
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

-- write_request records what the ticket of this call asks for in the queue of n.
local function write_request(n, ahead, after, kind)
	redis.call("HSET", n.state, ticket, string.format("%.0f %.0f %.0f %d", n.wanted, ahead, after, kind))
end

-- read_request returns what a ticket in the queue of n asks for.
local function read_request(n, who, order)
	local words = {}
	for word in string.gmatch(redis.call("HGET", n.state, who) or "", "%S+") do
		words[#words + 1] = tonumber(word)
	end
	return {ticket = who, order = order, gap = words[1] or 0, ahead = words[2] or 0, after = words[3] or 0, kind = words[4] or 0}
end

-- serve grants starts to the head of the queue as long as there is room for a request in flight and the
-- gap and the pause end soon. The process of a ticket, whose name the ticket begins with, gets a message of each
-- grant and of an earlier moment to ask again. The ticket that asks gets its answer from Reserve instead, and a
-- ticket with scopes is granted a start there alone. If the server forbids messages, that costs time only.
local function serve(n)
	local granted
	while true do
		local who, order = queue_head(n)
		if not who then
			return
		end
		local ask = read_request(n, who, order)
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
