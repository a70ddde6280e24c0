-- The requests that wrk sends. Arguments: the case, a file of samples (in each line a token, a guid, a stamp,
-- a name, a timestamp in seconds, the account's clock and optionally an ETag), and a number that is unique
-- among the runs on a database.

local case, samples, number, sent = "", {}, 0, 0
local ready = {}
-- URL of new feeds; a %d in it is replaced by the number of a host.
local feeds_at = os.getenv("BENCH_FEEDS_AT")

local function path_of(sample)
  if case == "list" then return "/subscriptions" end
  if case == "since" then return "/subscriptions?since=" .. sample.since end
  if case == "poll" then
    return "/api/2/subscriptions/" .. sample.name .. "/phone.json?since=" .. sample.told
  end
  if case == "poll_actions" then
    return "/api/2/episodes/" .. sample.name .. ".json?since=" .. sample.told
  end
  if case == "nothing" then return "/subscriptions?since=" .. sample.clock end
  return "/subscriptions/" .. sample.guid
end

local function new_url()
  sent = sent + 1
  local host = string.format(feeds_at, sent % 128 + 1)
  return string.format("%s/%s/%07d/podcast.xml", host, number, sent)
end

local function item()
  return '{"feed_url":"' .. new_url() .. '"}'
end

local bodies = {
  post = function() return "POST", "/subscriptions", '{"subscriptions":[' .. item() .. "]}" end,
  post_100 = function()
    local items = {}
    for i = 1, 100 do items[i] = item() end
    return "POST", "/subscriptions", '{"subscriptions":[' .. table.concat(items, ",") .. "]}"
  end,
  patch = function(sample)
    local status = math.random() < 0.5 and "true" or "false"
    return "PATCH", path_of(sample), '{"is_subscribed":' .. status .. "}"
  end,
}

local function headers_of(sample)
  local headers = { Authorization = "Bearer " .. sample.token }
  if case == "known" then headers["If-None-Match"] = sample.etag end
  return headers
end

function init(arguments)
  case, number = arguments[1], arguments[3]
  math.randomseed(tonumber(number))
  for line in io.lines(arguments[2]) do
    local token, guid, since, name, told, clock, etag = line:match("(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) ?(.*)")
    local sample = { token = token, guid = guid, since = since, name = name, told = told, clock = clock, etag = etag }
    samples[#samples + 1] = sample
    if not bodies[case] then
      ready[#ready + 1] = wrk.format("GET", path_of(sample), headers_of(sample))
    end
  end
end

function request()
  if not bodies[case] then return ready[math.random(#ready)] end
  local sample = samples[math.random(#samples)]
  local method, path, body = bodies[case](sample)
  return wrk.format(method, path, headers_of(sample), body)
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"failures":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
