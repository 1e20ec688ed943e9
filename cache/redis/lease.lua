-- This script is Lease, Keep and Return of package pace, whose type Store says what they promise.
--
-- All that is known of a key is one string, packed by cmsgpack. Moments are in microseconds of
-- the server's clock.
--
--   at      when it was written
--   queue   the processes in the queue, each with the number of its claim and the end of its
--           place; the first has the lease
--   ended   the end of the latest lease that has ended
--   lost    when a lease was lost, if no state was saved since
--   state   what the holder has saved
--   saved   when
--   keep    until when state matters

local call, process, number, life, state, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local tell, channel, name = ARGV[7] == "1", ARGV[8], ARGV[9]
local second = 1000000
local t = redis.call("TIME")
local now = t[1] * second + t[2]

-- Bytes that this script did not write are as nothing known.
local ok, k = pcall(cmsgpack.unpack, redis.pcall("GET", KEYS[1]))
if not ok or type(k) ~= "table" or type(k.queue) ~= "table" or type(k.at) ~= "number" then
	k = {at = now, queue = {}}
end

-- If the clock was set back, all moments are. No time has passed then.
local back = math.max(k.at - now, 0)
for _, moment in ipairs({"ended", "lost", "saved", "keep"}) do
	k[moment] = k[moment] and k[moment] - back
end
k.at = now

local first = k.queue[1] and k.queue[1].process
local queue, place = {}, nil
for i, p in ipairs(k.queue) do
	p.ends = p.ends - back
	if p.ends > now then
		queue[#queue + 1] = p
		place = p.process == process and #queue or place
	elseif i == 1 then
		k.lost, k.ended = p.ends, p.ends
	end
end
k.queue = queue

local function save()
	if state ~= "" then
		k.state, k.saved, k.keep, k.lost = state, now, now + keep, nil
	else
		k.lost = now
	end
end

local notify = {} -- the places to notify, by index
if place and queue[place].number > number then
	place = nil -- the call came late
elseif call == "lease" then
	if not place then
		place = #queue + 1
		notify[1] = place > 1 and 1 or nil
	end
	queue[place] = {process = process, number = number, ends = now + life}
elseif call == "keep" and place == 1 then
	queue[1].ends = now + life
	save()
	for i = 2, tell and #queue or 1 do
		notify[#notify + 1] = i
	end
elseif call == "return" and place then
	if place == 1 then
		k.ended = now
		save()
	end
	table.remove(queue, place)
	place = nil
end
if queue[1] and queue[1].process ~= first and place ~= 1 then
	notify[#notify + 1] = 1
end

-- The latest lease is remembered for a minute.
local ttl = math.max(k.ended and k.ended + 60 * second or now, k.keep or now) - now
for i, p in ipairs(queue) do
	ttl = math.max(ttl, p.ends - now + (i == 1 and 60 * second or 0))
end
if ttl > 0 then
	redis.call("SET", KEYS[1], cmsgpack.pack(k), "PX", math.ceil(ttl / 1000))
end

-- answer is what the process at a place is told, nil for none. The first line says how long the key is.
local function answer(place, number, key)
	local has, ahead = place == 1, place and place - 1 or #queue
	return string.format("%d %d %d %.0f %.0f %.0f %.0f %d\n", has and 1 or 0, has and #queue > 1 and 1 or 0, ahead,
		ahead > 0 and queue[1].ends - now or 0, k.saved and now - k.saved or 0, k.lost and math.max(now - k.lost, 1) or 0, number, #key)
		.. key .. (k.state or "")
end

-- If the server forbids a message, that costs time only.
for _, i in ipairs(notify) do
	redis.pcall("PUBLISH", channel .. queue[i].process, answer(i, queue[i].number, name))
end
return answer(place, number, "")
