-- As load.lua, but each connection waits before each request, so that the server is not kept busy.
-- BENCH_DELAY_MS is how long, on average.

dofile(os.getenv("BENCH_LOAD"))
local most = 2 * tonumber(os.getenv("BENCH_DELAY_MS"))

function delay()
  return math.random(0, most)
end
