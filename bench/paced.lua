-- Like load.lua, but each connection waits before each request, so that the server is not saturated.
-- BENCH_DELAY_MS is the average delay.

dofile(os.getenv("BENCH_LOAD"))
local most = 2 * tonumber(os.getenv("BENCH_DELAY_MS"))

function delay()
  return math.random(0, most)
end
