-- The windows and reservations of one connector, or of keys, counted by the store's own clock. It is the algorithm of
-- `sliding_window.py` on sorted sets: a budget has its entries by time in microseconds, and a hash of facts about them.
--
-- KEYS  the start of counting, the last reservation number, facts for all processes, then entries and facts of budgets
-- ARGV  the command, its argument, then limit, window in microseconds and units of each budget
-- An entry is named w7:5 while reservation 7 waits for its 5 units, and g7:5 once its request may be sent. Requests of
-- process 3 without the store are named s3-9:5, and usage that is assumed after a loss of data u:5.

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
local DAY = 24 * 60 * 60 * 1000

local function text(number)
  return string.format('%.17g', number)
end

-- Earlier requests are unknown here. If the start of counting is missing, data was lost just now.
local counts_since = tonumber(redis.call('GET', KEYS[1]) or nil)
if not counts_since then
  counts_since = now
  -- Earlier reservations may still be waiting, so new ones get higher numbers.
  for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('SET', key, text(now)) end
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'lost', text(now))
  redis.call('PEXPIRE', KEYS[3], DAY)
end

local function parse_units(entry)
  return tonumber(string.match(entry, ':(.*)$'))
end

-- Return the number in the queue. Entries whose requests may be sent precede all waiting ones.
local function queue_number(entry)
  return tonumber(string.match(entry, '^w(%d+)') or 0)
end

local function between(ledger, after, before)
  return redis.call('ZRANGEBYSCORE', ledger.entries, '(' .. text(after), before, 'WITHSCORES')
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
  local entries, facts = KEYS[2 + 2 * number], KEYS[3 + 2 * number]
  local known = redis.call('HMGET', facts, 'sum', 'closed', 'full', 'full_until', 'tail', 'window')
  local ledger = {
    entries = entries, facts = facts,
    limit = tonumber(ARGV[3 * number]), window = tonumber(ARGV[1 + 3 * number]), units = tonumber(ARGV[2 + 3 * number]),
    sum = tonumber(known[1] or 0), closed = tonumber(known[2] or 0),
    full = tonumber(known[3] or 'inf'), full_until = tonumber(known[4] or 0),
  }
  ledger.tail = tonumber(known[6]) == ledger.window and tonumber(known[5]) or nil
  if not known[1] then assume_usage(ledger) end
  forget(ledger)
  return ledger
end

local function save(ledger, latest)
  ledger.changed = false
  redis.call('HSET', ledger.facts, 'sum', text(ledger.sum), 'closed', text(ledger.closed),
    'full', text(ledger.full), 'full_until', text(ledger.full_until),
    'tail', ledger.tail and text(ledger.tail) or '', 'window', text(ledger.window))
  -- Twice the window after the last entry, because entries are moved if they turn out to have been late.
  local rest = text(math.ceil((math.max(latest, ledger.closed, now) - now + 2 * ledger.window) / 1000))
  for _, key in ipairs({ledger.entries, ledger.facts}) do
    if redis.call('PEXPIRE', key, rest, 'NX') == 0 then redis.call('PEXPIRE', key, rest, 'GT') end
  end
end

-- Return the time of the first entry that does not fit its window together with the units placed now.
local function find_overflow(ledger, times, units, first, index, at, taken)
  for last = index, #times do
    if times[last] >= at + ledger.window then return nil end
    taken = taken + units[last]
    while times[first] + ledger.window <= times[last] do
      taken = taken - units[first]
      first = first + 1
    end
    if taken > ledger.limit - ledger.units then return times[last] end
  end
end

-- Return the first time from *at* on at which the units fit, and the units in the window then, if no entry follows.
-- It passes over the entries once.
local function search(ledger, at)
  local capacity, times, units = ledger.limit - ledger.units, {}, {}
  local matches = between(ledger, at - ledger.window, '+inf')
  for index = 1, #matches, 2 do
    times[#times + 1], units[#units + 1] = tonumber(matches[index + 1]), parse_units(matches[index])
  end
  local first, index, taken = 1, 1, 0
  while true do
    while index <= #times and times[index] <= at do
      taken = taken + units[index]
      index = index + 1
    end
    while first < index and times[first] + ledger.window <= at do
      taken = taken - units[first]
      first = first + 1
    end
    local later
    if taken > capacity then
      local expiring = first
      while taken > capacity do
        taken = taken - units[expiring]
        expiring = expiring + 1
      end
      first, later = expiring, times[expiring - 1] + ledger.window
    else
      later = find_overflow(ledger, times, units, first, index, at, taken)
    end
    if not later then return at, index > #times and taken or nil end
    at = later
  end
end

-- Search at the end of a queue that is longer than a window. No request in its last window has been sent, so the units
-- in it are known. The cost does not depend on the length of the queue.
local function search_tail(ledger)
  local at, taken, capacity = ledger.full_until, ledger.tail, ledger.limit - ledger.units
  while taken > capacity do
    local after = '(' .. text(at - ledger.window)
    local next_ = redis.call('ZRANGEBYSCORE', ledger.entries, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', ledger.entries, after, next_)) do
      taken = taken - parse_units(entry)
    end
    at = next_ + ledger.window
  end
  return at, taken
end

-- Discard the units of the queue's last window if the change at *at* is inside it.
local function invalidate_tail(ledger, at)
  if at > ledger.full_until - ledger.window then ledger.tail = nil end
end

-- Return the first time at which the units fit.
local function earliest(ledger, not_before)
  local at = math.max(now, not_before, ledger.closed)
  if ledger.sum + ledger.units <= ledger.limit then return at end
  -- In a long queue each newcomer would search all of it again. Requests of this size do not fit before this time.
  if ledger.units >= ledger.full then at = math.max(at, ledger.full_until) end
  local tail
  if ledger.tail and at == ledger.full_until and at - ledger.window >= now then
    at, tail = search_tail(ledger)
  else
    at, tail = search(ledger, at)
  end
  if not_before <= now then
    ledger.full, ledger.full_until, ledger.tail, ledger.changed = ledger.units, at, tail, true
  end
  return at
end

-- Return when a reservation may be used, after those before it and the requests that have been sent already.
local function due(ledger, turn)
  local capacity, at = ledger.limit - ledger.units, math.max(now, ledger.closed)
  while true do
    local matches, before, taken = between(ledger, at - ledger.window, text(at)), {}, 0
    for index = 1, #matches, 2 do
      if queue_number(matches[index]) < turn and matches[index] ~= ledger.gone then
        before[#before + 1] = index
        taken = taken + parse_units(matches[index])
      end
    end
    if taken <= capacity then return at end
    for _, index in ipairs(before) do
      taken = taken - parse_units(matches[index])
      if taken <= capacity then
        at = matches[index + 1] + ledger.window
        break
      end
    end
  end
end

local ledgers = {}
for number = 1, (#KEYS - 3) / 2 do
  ledgers[number] = open_ledger(number)
end

local function name_entries(ledger, turn)
  ledger.waiting = string.format('w%.0f:%.17g', turn, ledger.units)
  ledger.gone = string.format('g%.0f:%.17g', turn, ledger.units)
end

local function insert(at, turn)
  for _, ledger in ipairs(ledgers) do
    name_entries(ledger, turn)
    redis.call('ZADD', ledger.entries, text(at), at > now and ledger.waiting or ledger.gone)
    ledger.sum = ledger.sum + ledger.units
    if ledger.tail and at == ledger.full_until then
      ledger.tail = ledger.tail + ledger.units
    else
      invalidate_tail(ledger, at)
    end
    save(ledger, at)
  end
end

local function remaining(ledger)
  return math.floor(math.max(0, ledger.limit - ledger.sum))
end

local function save_changed()
  for _, ledger in ipairs(ledgers) do
    if ledger.changed then save(ledger, now) end
  end
end

local commands = {}

function commands.spend()
  local at, turn = earliest(ledgers[1], 0), 0
  if at <= now then
    turn = redis.call('INCR', KEYS[2])
    insert(now, turn)
  end
  return {at - now, remaining(ledgers[1]), turn}
end

function commands.peek()
  return {0, remaining(ledgers[1])}
end

function commands.reserve(max_wait)
  local at, later = now, now
  -- All budgets have to fit at the same time. Moving one may break another, so this repeats until none moves.
  repeat
    at = later
    for _, ledger in ipairs(ledgers) do
      later = math.max(later, earliest(ledger, at))
    end
  until later == at
  if at > now and at - now > tonumber(max_wait) then return {0, at - now, 0} end
  local turn = redis.call('INCR', KEYS[2])
  insert(at, turn)
  return {1, at - now, turn}
end

function commands.spare()
  local at = now
  for _, ledger in ipairs(ledgers) do
    local units = ledger.units
    ledger.units = math.min(units + math.max(1, ledger.limit * ROOM), ledger.limit)
    at = math.max(at, earliest(ledger, 0))
    ledger.units = units
  end
  if at > now then return {0, at - now, 0} end
  local turn = redis.call('INCR', KEYS[2])
  insert(now, turn)
  return {1, 0, turn}
end

function commands.confirm(turn)
  local at = now
  for _, ledger in ipairs(ledgers) do
    name_entries(ledger, turn)
    at = math.max(at, due(ledger, tonumber(turn)))
  end
  for _, ledger in ipairs(ledgers) do
    local planned = redis.call('ZSCORE', ledger.entries, ledger.waiting)
    -- A request that was delayed after its confirmation confirms again.
    local before = planned or redis.call('ZSCORE', ledger.entries, ledger.gone)
    if before then
      redis.call('ZREM', ledger.entries, ledger.waiting, ledger.gone)
      ledger.sum = ledger.sum - ledger.units
      invalidate_tail(ledger, tonumber(before))
    end
    -- An entry that moves to an earlier time frees its later one.
    if not planned or at < tonumber(planned) then ledger.full, ledger.full_until, ledger.tail = math.huge, 0, nil end
  end
  insert(at, turn)
  return {1, at - now, 0}
end

function commands.release(turn)
  for _, ledger in ipairs(ledgers) do
    name_entries(ledger, turn)
    if redis.call('ZREM', ledger.entries, ledger.waiting, ledger.gone) > 0 then
      ledger.sum, ledger.full, ledger.full_until, ledger.tail = ledger.sum - ledger.units, math.huge, 0, nil
      save(ledger, now)
    end
  end
  return {1, 0, 0}
end

-- Count a request later, because it may have arrived so many microseconds after it was let through. Its response has
-- arrived by now, and a future time would be in no window yet.
function commands.late(argument)
  local ledger, turn, late = ledgers[1], string.match(argument, '(%d+) (%d+)')
  name_entries(ledger, turn)
  local at = redis.call('ZSCORE', ledger.entries, ledger.gone)
  if at then redis.call('ZADD', ledger.entries, text(math.min(at + late, now)), ledger.gone) end
  return {1, 0, 0}
end

-- Count the requests that a process has sent, each with its age in microseconds. Repeated reports count once.
function commands.recount(entries)
  local ledger = ledgers[1]
  for age, entry in string.gmatch(entries, '(%d+) (%S+)') do
    local at = now - age
    if at > now - ledger.window and redis.call('ZADD', ledger.entries, 'NX', text(at), entry) == 1 then
      ledger.sum, ledger.changed = ledger.sum + parse_units(entry), true
      invalidate_tail(ledger, at)
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
    save(ledger, now)
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
