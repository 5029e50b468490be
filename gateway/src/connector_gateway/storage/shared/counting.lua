-- The windows and reservations of one connector, or of keys, counted by the store's own clock. It is the algorithm of
-- `sliding_window.py` on sorted sets: a budget has its entries by time in microseconds, and a hash of facts about them.
--
-- KEYS  the start of counting, the last reservation number, facts for all processes, then entries, facts and queue of
--       each budget
-- ARGV  the command, its argument, the call's position, the process, then of each budget its limit, its window in
--       microseconds, the units, and the units that the call is expected to use from now on
-- An entry is named g7:5 if reservation 7 took 5 units. Requests of process 3 without the store are named s3-9:5, and
-- usage that is assumed after a loss of data u:5. A queue contains requests by the position of their calls, such as p3:7:5
-- of process p3 for 5 units, and p3:r9:15 for what their call, at position 9, is expected to use afterwards. While no
-- request of the call waits, this is c9:r9:15, unless the call waits for another one. Such processes and calls are there,
-- too, by minus the time at which they were last heard of.

local CLOCK = redis.call('TIME')
local now = CLOCK[1] * 1000000 + CLOCK[2]

-- The part of a budget that all processes together may use after a loss of data, and the length of windows that are
-- waited out instead. `unavailable_store.py` has the same values.
local SHARE = 0.5
local SHORT = 2 * 1000000
-- The maximum time for which a window counts as partly used after a loss, and the time in which every live process
-- reports its requests. Budgets are blocked until then.
local MINUTE = 60 * 1000000
local TELLING = 1.5 * 1000000
-- The part of a budget that polls leave to calls. `interface.py` has the same value.
local ROOM = 0.2
-- The time after which the queued requests of a process or call no longer count if nothing is heard of it.
-- `budget_queue.py` has the same value.
local SILENT = 0.7 * 1000000
local DAY = 24 * 60 * 60 * 1000

local function text(number)
  return string.format('%.17g', number)
end

-- Earlier requests are unknown here. If the start of counting is missing, data was lost just now.
local counts_since = tonumber(redis.call('GET', KEYS[1]) or nil)
if not counts_since then
  counts_since = now
  -- Numbers must not repeat while requests with the old ones are in progress.
  for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('SET', key, text(now)) end
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'lost', text(now))
  redis.call('PEXPIRE', KEYS[3], DAY)
end

local function parse_units(entry)
  return tonumber(string.match(entry, ':(.*)$'))
end

-- Drop entries that have left the window that ends now.
local function forget(ledger)
  local until_ = text(now - ledger.window)
  local left = redis.call('ZRANGEBYSCORE', ledger.entries, '-inf', until_)
  if #left == 0 then return end
  for _, entry in ipairs(left) do
    ledger.sum = ledger.sum - parse_units(entry)
  end
  redis.call('ZREMRANGEBYSCORE', ledger.entries, '-inf', until_)
  ledger.changed = true
end

-- Count part of a window as used after a loss of its data. It leaves the window after a minute at the latest.
local function assume_usage(ledger)
  local lost = math.min(ledger.window, MINUTE)
  if counts_since <= now - lost then return end
  local units = ledger.limit * (ledger.window > SHORT and SHARE or 1)
  redis.call('ZADD', ledger.entries, text(counts_since + lost - ledger.window), 'u:' .. text(units))
  ledger.sum, ledger.changed = units, true
  -- Windows of keys are the gateway's own: callers need not wait, and a key may get up to half a window too much.
  if not string.find(KEYS[1], '{keys-', 1, true) then ledger.closed = counts_since + TELLING end
end

local function open_ledger(number)
  local key, argument = 1 + 3 * number, 1 + 4 * number
  local known = redis.call('HMGET', KEYS[key + 1], 'sum', 'closed', 'queued', 'rest')
  local ledger = {
    entries = KEYS[key], facts = KEYS[key + 1], queue = KEYS[key + 2],
    limit = tonumber(ARGV[argument]), window = tonumber(ARGV[argument + 1]), units = tonumber(ARGV[argument + 2]),
    expected = tonumber(ARGV[argument + 3]), sum = tonumber(known[1] or 0), closed = tonumber(known[2] or 0),
    queued = tonumber(known[3] or 0), rest = tonumber(known[4] or 0),
  }
  if not known[1] then assume_usage(ledger) end
  forget(ledger)
  return ledger
end

local function expire(key, rest)
  if redis.call('PEXPIRE', key, rest, 'NX') == 0 then redis.call('PEXPIRE', key, rest, 'GT') end
end

local function save(ledger)
  ledger.changed = false
  redis.call('HSET', ledger.facts, 'sum', text(ledger.sum), 'closed', text(ledger.closed),
    'queued', text(ledger.queued), 'rest', text(ledger.rest))
  -- Twice the window after the last entry, because entries are moved if they turn out to have been late.
  local rest = text(math.ceil((math.max(ledger.closed, now) - now + 2 * ledger.window) / 1000))
  expire(ledger.entries, rest)
  expire(ledger.facts, rest)
end

-- Return the first time by which the units can have been sent in order, which can be more than the limit.
local function earliest(ledger, units)
  local start, used = math.max(now, ledger.closed), ledger.sum
  local missing = used + units - ledger.limit
  if missing <= 0 then return start end
  local left = redis.call('ZRANGEBYSCORE', ledger.entries, '(' .. text(start - ledger.window), '+inf', 'WITHSCORES')
  if start > now then
    for index = 1, #left, 2 do units = units + parse_units(left[index]) end
    missing = units - ledger.limit
    if missing <= 0 then return start end
  end
  -- Each full window lets through the limit. The remainder fits once that many units have left the window.
  local windows = math.ceil(missing / ledger.limit) - 1
  missing = missing - windows * ledger.limit
  for index = 1, #left, 2 do
    missing = missing - parse_units(left[index])
    if missing <= 0 then return tonumber(left[index + 1]) + (1 + windows) * ledger.window end
  end
  return start + (windows + 1) * ledger.window
end

-- Return the units of a member of the queue, and what its call is expected to use afterwards.
local function parse_queued(member)
  local kind, units = string.match(member, '^%w+:(%w+):(.+)$')
  if kind and string.find(kind, '^r') then return 0, tonumber(units) end
  return tonumber(units or 0), 0
end

local function add_queued(ledger, position, member)
  if redis.call('ZADD', ledger.queue, position, member) == 0 then return end
  local units, rest = parse_queued(member)
  ledger.queued, ledger.rest, ledger.changed = ledger.queued + units, ledger.rest + rest, true
end

local function remove_queued(ledger, member)
  if redis.call('ZREM', ledger.queue, member) == 0 then return false end
  local units, rest = parse_queued(member)
  ledger.queued, ledger.rest, ledger.changed = ledger.queued - units, ledger.rest - rest, true
  return true
end

-- Record that something was heard of a process or call.
local function hear(ledger, owner)
  redis.call('ZADD', ledger.queue, text(-now), owner)
  expire(ledger.queue, MINUTE / 1000)
end

-- Remove what waits for processes and calls of which nothing was heard.
local function drop_silent(ledger)
  local owners = {}
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', ledger.queue, '(' .. text(SILENT - now), '(0')) do
    if owner ~= ARGV[4] then owners[owner] = true end
  end
  if not next(owners) then return end
  for _, member in ipairs(redis.call('ZRANGE', ledger.queue, 0, -1)) do
    if owners[string.match(member, '^%w+')] then remove_queued(ledger, member) end
  end
end

-- Return the units that wait for earlier calls, those that these calls are expected to use, and the last position if it
-- was read.
local function count_before(ledger, position)
  if ledger.queued == 0 and ledger.rest == 0 then return 0, 0 end
  drop_silent(ledger)
  local last = redis.call('ZREVRANGE', ledger.queue, 0, 0, 'WITHSCORES')
  -- The queue expires if nothing is heard of any process.
  if not last[2] or tonumber(last[2]) < 0 then ledger.queued, ledger.rest, ledger.changed = 0, 0, true end
  if position == '+inf' or not last[2] or tonumber(last[2]) < tonumber(position) then
    return ledger.queued, ledger.queued + ledger.rest, tonumber(last[2])
  end
  local units, expected = 0, 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ledger.queue, '(0', '(' .. position)) do
    local own, rest = parse_queued(member)
    units, expected = units + own, expected + own + rest
  end
  return units, expected
end

-- Expect the call at *position* to use more units after its requests that wait now.
local function expect(ledger, position, owner)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ledger.queue, position, position)) do
    local former = string.match(member, '^(%w+):r')
    if former then remove_queued(ledger, member) end
    if former == 'c' .. position then redis.call('ZREM', ledger.queue, former) end
  end
  if ledger.expected == 0 then return end
  add_queued(ledger, position, string.format('%s:r%s:%.17g', owner, position, ledger.expected))
  hear(ledger, owner)
end

local ledgers = {}
for number = 1, (#KEYS - 3) / 3 do
  ledgers[number] = open_ledger(number)
end

local function name_entry(ledger, number)
  return string.format('g%.0f:%.17g', number, ledger.units)
end

-- Return whether other requests of the call at *position* wait for the budget.
local function has_waiting(ledger, position)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ledger.queue, position, position)) do
    if not string.find(member, ':r', 1, true) then return true end
  end
  return false
end

local function take(number, position)
  for _, ledger in ipairs(ledgers) do
    redis.call('ZADD', ledger.entries, text(now), name_entry(ledger, number))
    ledger.sum = ledger.sum + ledger.units
    local is_known = ledger.expected > 0 or ledger.queued > 0 or ledger.rest > 0
    if position and is_known and not has_waiting(ledger, position) then expect(ledger, position, 'c' .. position) end
    save(ledger)
  end
end

-- Return the first time at which the units fit all budgets after those of earlier calls, and the budget that is slowest.
local function find_due(position)
  local due, slowest = now, nil
  for number, ledger in ipairs(ledgers) do
    local at = earliest(ledger, count_before(ledger, position) + ledger.units)
    if at > due then due, slowest = at, number end
  end
  return due, slowest
end

local function name_queued(ledger, number)
  return string.format('%s:%.0f:%.17g', ARGV[4], number, ledger.units)
end

local function enqueue(ledger, position, number)
  add_queued(ledger, position, name_queued(ledger, number))
  expect(ledger, position, ARGV[4])
  hear(ledger, ARGV[4])
end

-- Return the units of a reservation. Returns whether it had taken them.
local function give_back(number)
  local had_taken = false
  for _, ledger in ipairs(ledgers) do
    if redis.call('ZREM', ledger.entries, name_entry(ledger, number)) > 0 then
      had_taken, ledger.sum, ledger.changed = true, ledger.sum - ledger.units, true
    end
  end
  return had_taken
end

-- Remove a reservation from the queues. Returns whether it was in one.
local function leave(number)
  local was_queued = false
  for _, ledger in ipairs(ledgers) do
    was_queued = remove_queued(ledger, name_queued(ledger, number)) or was_queued
  end
  return was_queued
end

local function remaining(ledger)
  return math.floor(math.max(0, ledger.limit - ledger.sum))
end

local function save_changed()
  for _, ledger in ipairs(ledgers) do
    if ledger.changed then save(ledger) end
  end
end

local commands = {}

function commands.spend()
  local at, number = earliest(ledgers[1], ledgers[1].units), 0
  if at <= now then
    number = redis.call('INCR', KEYS[2])
    take(number)
  end
  return {at - now, remaining(ledgers[1]), number}
end

function commands.peek()
  return {0, remaining(ledgers[1])}
end

-- Return the position of a call, and whether the call is new. Then its age in microseconds was passed instead. A position
-- is a time in milliseconds, and the number of the call's first reservation to order calls within it.
local function read_position(number)
  local age = string.match(ARGV[3], '^-(%d+)')
  if not age then return ARGV[3], false end
  return string.format('%.0f', math.floor((now - age) / 1000) * 1024 + number % 1024), true
end

-- Return the time by which everything ahead is expected to have been sent, and the units.
local function find_expected_due(position, is_new)
  local due = now
  for _, ledger in ipairs(ledgers) do
    -- A new call must not delay others that have been accepted. If they arrived later, all its requests precede theirs.
    local _, ahead, last = count_before(ledger, is_new and '+inf' or position)
    local precedes = is_new and last and last > tonumber(position)
    due = math.max(due, earliest(ledger, ahead + ledger.units + (precedes and ledger.expected or 0)))
  end
  return due
end

function commands.reserve(max_wait)
  local number = redis.call('INCR', KEYS[2])
  local position, is_new = read_position(number)
  local due, slowest = find_due(position)
  if not slowest then
    take(number, position)
    return {1, 0, number, position, 0}
  end
  -- Calls that were queued earlier may need further requests, which go first.
  due = math.max(due, find_expected_due(position, is_new))
  if due - now > tonumber(max_wait) then return {0, due - now, 0, position, 0} end
  enqueue(ledgers[slowest], position, number)
  return {1, due - now, number, position, slowest}
end

-- Hold the place of a call that waits for another one before it sends requests of its own.
function commands.hold(max_wait)
  local position, is_new = read_position(redis.call('INCR', KEYS[2]))
  local wait = find_expected_due(position, is_new) - now
  if wait > tonumber(max_wait) then return {0, wait, 0, position, 0} end
  for _, ledger in ipairs(ledgers) do expect(ledger, position, ARGV[4]) end
  return {1, 0, 0, position, 0}
end

-- Expect the requests of a call that no longer waits for another one soon, or none.
function commands.expect()
  for _, ledger in ipairs(ledgers) do
    if not has_waiting(ledger, ARGV[3]) then expect(ledger, ARGV[3], 'c' .. ARGV[3]) end
  end
  return {1, 0, 0}
end

function commands.spare()
  local at = now
  for _, ledger in ipairs(ledgers) do
    local units = math.min(ledger.units + math.max(1, ledger.limit * ROOM), ledger.limit)
    at = math.max(at, earliest(ledger, count_before(ledger, '+inf') + units))
  end
  if at > now then return {0, at - now, 0} end
  local number = redis.call('INCR', KEYS[2])
  take(number)
  return {1, 0, number}
end

-- Take the units of a queued reservation, or again those of one that was delayed after it had taken them.
function commands.confirm(number)
  local had_taken = give_back(number)
  local due, slowest = find_due(ARGV[3])
  local queue = slowest and ledgers[slowest]
  if queue and redis.call('ZSCORE', queue.queue, name_queued(queue, number)) then
    hear(queue, ARGV[4])
    return {1, due - now, slowest}
  end
  local known = (leave(number) or had_taken) and 1 or 0
  if queue then
    enqueue(queue, ARGV[3], number)
    return {known, due - now, slowest}
  end
  take(number, ARGV[3])
  return {known, 0, 0}
end

function commands.release(number)
  give_back(number)
  leave(number)
  for _, ledger in ipairs(ledgers) do
    ledger.expected = 0
    if ARGV[3] ~= '' and not has_waiting(ledger, ARGV[3]) then expect(ledger, ARGV[3], ARGV[4]) end
  end
  return {1, 0, 0}
end

-- Count a request that has been sent already, even if it does not fit.
function commands.count()
  local number = redis.call('INCR', KEYS[2])
  take(number)
  return {1, 0, number}
end

-- Count a request later, because it may have arrived so many microseconds after it was let through. Its response has
-- arrived by now, and a future time would be in no window yet.
function commands.late(argument)
  local ledger, number, late = ledgers[1], string.match(argument, '(%d+) (%d+)')
  local entry = name_entry(ledger, number)
  local at = redis.call('ZSCORE', ledger.entries, entry)
  if at then redis.call('ZADD', ledger.entries, text(math.min(at + late, now)), entry) end
  return {1, 0, 0}
end

-- Count the requests that a process has sent, each with its age in microseconds. Repeated reports count once.
function commands.recount(entries)
  local ledger = ledgers[1]
  for age, entry in string.gmatch(entries, '(%d+) (%S+)') do
    local at = now - age
    if at > now - ledger.window and redis.call('ZADD', ledger.entries, 'NX', text(at), entry) == 1 then
      ledger.sum, ledger.changed = ledger.sum + parse_units(entry), true
    end
  end
  return {1, 0, 0}
end

-- Return the time of the last data loss, or 0, and the blocked budgets with the remaining time of each.
function commands.look()
  local known, closed = redis.call('HMGET', KEYS[3], 'lost', 'closed'), {}
  if tonumber(known[2] or 0) > now then
    local matches = redis.call('HGETALL', KEYS[3])
    for index = 1, #matches, 2 do
      local entries = string.match(matches[index], '^closed:(.*)')
      if entries and tonumber(matches[index + 1]) > now then
        closed[#closed + 1], closed[#closed + 2] = entries, tonumber(matches[index + 1]) - now
      elseif entries then
        redis.call('HDEL', KEYS[3], matches[index])
      end
    end
  end
  return {tonumber(known[1] or 0), closed}
end

function commands.close(microseconds)
  for _, ledger in ipairs(ledgers) do
    ledger.closed = math.max(ledger.closed, now + microseconds)
    save(ledger)
    -- Every process receives it, because any of them may have to work without the store.
    local latest = math.max(ledger.closed, tonumber(redis.call('HGET', KEYS[3], 'closed') or 0))
    redis.call('HSET', KEYS[3], 'closed:' .. ledger.entries, text(ledger.closed), 'closed', text(latest))
  end
  redis.call('PEXPIRE', KEYS[3], DAY)
  return {1, 0, 0}
end

local response = commands[ARGV[1]](ARGV[2])
save_changed()
return response
