-- This script registers a process and returns the number of processes registered.

local t = redis.call("TIME")
local now = t[1] * 1000000 + t[2]
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], math.ceil(ARGV[2] / 1000) + 10000)
return redis.call("ZCARD", KEYS[1])
