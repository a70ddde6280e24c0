-- Like load.lua, but with the requests that podcast apps send to any server of gpodder.net's protocol. Each line
-- of the samples has a name, its cookie, its Basic credentials, and a timestamp in seconds.

dofile(os.getenv("BENCH_LOAD"))

local case, people, number, sent = "", {}, 0, 0

function init(arguments)
  case, number = arguments[1], arguments[3]
  math.randomseed(tonumber(number))
  for line in io.lines(arguments[2]) do
    local name, cookie, basic, since = line:match("(%S+) (%S+) (%S+) (%S+)")
    people[#people + 1] = { name = name, cookie = cookie, basic = basic, since = since }
  end
end

local function upload(count)
  local urls = {}
  for i = 1, count do
    sent = sent + 1
    urls[i] = string.format('"https://feeds.example.net/%s/%07d/podcast.xml"', number, sent)
  end
  return '{"add":[' .. table.concat(urls, ",") .. '],"remove":[]}'
end

function request()
  local person = people[math.random(#people)]
  local path = "/api/2/subscriptions/" .. person.name .. "/phone.json"
  if case == "poll_basic" then
    return wrk.format("GET", path .. "?since=" .. person.since, { Authorization = "Basic " .. person.basic })
  end
  local headers = { Cookie = person.cookie, ["Content-Type"] = "application/json" }
  if case == "poll" then return wrk.format("GET", path .. "?since=" .. person.since, headers) end
  return wrk.format("POST", path, headers, upload(case == "add_100" and 100 or 1))
end
