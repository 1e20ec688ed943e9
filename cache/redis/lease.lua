-- This script is Lease, Keep and Return of package pace, whose type Store says what they promise.
--
-- All that is known of a key is one string, packed by cmsgpack. Moments are in microseconds of
-- the server's clock.
--
--   at      when it was written
--   holder  the process that has the lease
--   ends    the end of the latest lease
--   lost    the end of a lease that was not returned, if no state was saved since
--   queue   the processes that wait, each with the end of its place
--   state   what the holder has saved
--   saved   when
--   keep    until when state matters

local call, process, life, state, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local tell, channel, name = ARGV[6] == "1", ARGV[7], ARGV[8]
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
for _, moment in ipairs({"ends", "lost", "saved", "keep"}) do
	k[moment] = k[moment] and k[moment] - back
end
k.at = now

if k.holder and k.ends <= now then
	k.holder, k.lost = nil, k.ends
end
local queue, place = {}, nil
for _, p in ipairs(k.queue) do
	p.ends = p.ends - back
	if p.ends > now then
		queue[#queue + 1] = p
		place = p.process == process and #queue or place
	end
end
k.queue = queue

local function leave()
	if place then
		table.remove(queue, place)
		place = nil
	end
end

local function save()
	k.state, k.saved, k.keep, k.lost = state, now, now + keep, nil
end

-- notify sends a message. If the server forbids it, that costs time only.
local function notify(who)
	redis.pcall("PUBLISH", channel .. who, name)
end

local has = k.holder == process
if call == "lease" then
	if has or not k.holder and (place == 1 or #queue == 0) then
		k.holder, k.ends = process, now + life
		leave()
	elseif place then
		queue[place].ends = now + life
	else
		queue[#queue + 1] = {process = process, ends = now + life}
		place = #queue
		if k.holder then
			notify(k.holder)
		end
	end
elseif call == "return" then
	if has then
		k.holder, k.ends = nil, now
		save()
	end
	leave()
elseif has then
	k.ends = now + life
	save()
	for _, p in ipairs(tell and queue or {}) do
		notify(p.process)
	end
end
if not k.holder and queue[1] then
	notify(queue[1].process)
end

-- The latest lease is remembered for a minute.
local ttl = math.max(k.ends and k.ends + 60 * second or now, k.keep or now) - now
for _, p in ipairs(queue) do
	ttl = math.max(ttl, p.ends - now)
end
if ttl > 0 then
	redis.call("SET", KEYS[1], cmsgpack.pack(k), "PX", math.ceil(ttl / 1000))
end

has = k.holder == process
local wanted, ahead, free = #queue > (place and 1 or 0), 0, 0
if not has then
	ahead = place and place - 1 or #queue
	if k.holder then
		ahead, free = ahead + 1, k.ends - now
	end
end
return {has and 1 or 0, wanted and 1 or 0, ahead, free, k.saved and now - k.saved or 0, k.lost and math.max(now - k.lost, 1) or 0, k.state or ""}
