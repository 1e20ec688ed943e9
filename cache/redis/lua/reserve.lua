-- This script puts a ticket in the queue and answers with its start, or with the moment to ask again. Behind
-- others that is an estimate. A ticket that lets its start pass unused comes before the queue, as does one in flight
-- that asks for one more start. Its arguments are those of a Reservation, and late: how long after its start a ticket
-- that asks again gets the same answer.

-- wait_in puts the ticket in the queue of the scope with the index way, takes it out of the queues of all others, and
-- returns the number of tickets before it. An index of less than 2 is no scope.
local function wait_in(ask, way)
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
	write_request(n, ask.ahead, 0, 3)
	return redis.call("ZRANK", n.line, ticket)
end

-- start_in_all grants the head of the queue of an authority one start there and in all of its scopes, when the last of
-- them has room, and returns nothing. If one has no room soon, the ticket waits in the queue of that scope, and
-- start_in_all returns when it asks again and the index of the scope. If it was overtaken there, and is the head, it
-- keeps the scopes before that one free.
local function start_in_all(ask)
	local way, again, start, latest, stood, kind = 0, 0, 0, 1, nil, ask.kind -- stood is the scope that it waited in
	for i, n in ipairs(names) do
		local who, first = queue_head(n)
		local behind = who and who ~= ticket and (first < ask.order or first == ask.order and who < ticket)
		ask.gap = n.wanted
		if i > 1 then
			ask.kind, ask.holds = 3, not n.stands and redis.call("ZSCORE", n.alive, ticket)
			stood = n.stands and n or stood
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
		local spare = math.max(n.wanted, n.gap) / 8
		if not n.again and spare > 0 and start - n.start > spare and start - spare - ask.ahead / 2 > again then
			way, again = latest, start - spare - ask.ahead / 2
		end
	end
	for _, n in ipairs(names) do
		n.kept = n.kept ~= ticket and n.kept or ""
	end
	local place = wait_in(ask, way)
	if way == 0 then
		for i, n in ipairs(names) do
			ask.gap, ask.kind = n.wanted, i > 1 and 3 or kind
			take(n, ask, start, n.base)
		end
		return
	end
	if kind == 1 and stood and stood ~= names[way] and not stood.again and names[way].newest > ask.order then -- overtaken
		kind = 2
		write_request(own, ask.ahead, 0, kind)
	end
	again = again + place * math.max(names[way].wanted, 5000)
	for i = 2, way - 1 do
		local n = names[i]
		if kind == 2 and place == 0 and (n.kept == "" or n.keptorder > ask.order) then
			n.kept, n.keptorder, n.keptdue = ticket, ask.order, names[way].start
			n.keptuntil = math.min(again, now + patience) + grace
		end
	end
	return again, way
end

local ahead, late, after, waited = tonumber(arg(1)), tonumber(arg(2)), tonumber(arg(3)), tonumber(arg(4))
for i, n in ipairs(names) do
	n.life, n.wanted, n.keep, n.parallel = tonumber(arg(5)), tonumber(arg(3 * i + 3)), tonumber(arg(3 * i + 4)), tonumber(arg(3 * i + 5))
	n.stands = i > 1 and redis.call("ZSCORE", n.line, ticket)
end
local ends = redis.call("ZSCORE", own.alive, ticket)
local order = tonumber(redis.call("ZSCORE", own.line, ticket) or nil)
local granted, start, way = 1, ends and ends - own.life, 0
if after > 0 then -- the start before may be renewed, and is no answer
	start = own.unsent == 1 and own.latest == ticket and own.last >= after and own.last or 0
end
if order or not ends or start + late < now then
	if not order then -- in flight: before all that are not; otherwise by when the request came
		local back = redis.call("ZRANGE", own.line, -1, -1, "WITHSCORES")
		order = ends and math.max(after, now) - 1e16 or waited > 0 and math.max(now - waited, 1) or math.max(now, (back[2] or 0) + 1)
		redis.call("ZADD", own.line, order, ticket)
	end
	redis.call("ZADD", own.alive, now + patience, ticket)
	local kind = #names > 1 and math.max(read_request(own, ticket).kind, 1) or 0
	write_request(own, ahead, after, kind)
	serve(own)
	local again
	local ask = {ticket = ticket, order = order, ahead = ahead, after = after, kind = kind}
	if kind > 0 and queue_head(own) == ticket then
		again, way = start_in_all(ask)
	else
		wait_in(ask, 0)
	end
	local place = redis.call("ZRANK", own.line, ticket)
	if place then
		local first, _ = queue_head(own)
		granted, start = 0, again or math.max(own.due, place > 0 and read_request(own, first).kind > 0 and asks(own, first) or 0)
		if place > 0 then
			start = math.max(start, own.last + math.max(own.wanted, own.gap), own.paused) + place * math.max(own.wanted, 5000)
		end
		local dies = math.min(start, now + patience) + grace
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
	expire(n, math.max(n.wanted, n.gap, n.keep, start - now + n.life, n.paused - now + n.level))
end
return answer
