-- This script counts a failure or a success, and makes a pause or a rest longer, never shorter. The level rises with
-- a pause and falls without one. The arguments are the fields of a Report.

local started, health, wait, level = tonumber(arg(1)), arg(2), tonumber(arg(4)), tonumber(arg(6))
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
	own.level = math.max(own.level, level)
elseif level >= 0 then
	own.level = math.min(own.level, level)
end
if answered ~= "" and (own.open == 0 or health == "healthy") then
	local left = ""
	for who in string.gmatch(own.tries, "%S+") do
		if who == answered then
			own.open = 0
		else
			left = left .. " " .. who
		end
	end
	own.tries = left
end
serve(own)
local answer = words(own, 0, 0, 0)
save()
expire(own, math.max(own.paused - now, 0) + math.max(own.level, (own.failures > 0 or own.rest > 0) and longest or 0))
return answer
