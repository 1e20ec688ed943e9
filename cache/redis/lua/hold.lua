-- This script moves the end of a ticket in flight and records when its request was sent, or ends any ticket and takes
-- back a start that was not used. keep is 0 to end the ticket, and started is 0 if no request was sent.

local keep, started = tonumber(arg(1)), tonumber(arg(2))
for _, n in ipairs(names) do
	local news = keep == 0 -- whether others may start now
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
		forget(n, ticket)
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
