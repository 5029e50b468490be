-- The windows and turns of one connector, or of keys, counted by the store's own clock. It is `ledger.py` over sorted
-- sets: a budget has its entries by time in microseconds, and a hash with what is known of them (decision 56).
--
-- KEYS  since when it counts, the number of the last turn, what processes are told, then entries and facts of budgets
-- ARGV  what to do, its own argument, then limit, microseconds and units of each budget
-- An entry is called w7:5 while turn 7 waits for its 5 units, and g7:5 once it may go. What process 3 used without the
-- store is s3-9:5, and what counts as used after a loss of data u:5 (decision 80).

local CLOCK = redis.call('TIME')
local now = CLOCK[1] * 1000000 + CLOCK[2]

-- What all processes go on with together after a loss of data, and windows that are over so soon that nothing is taken
-- meanwhile: `share.py` has the same.
local SHARE = 0.5
local SHORT = 2 * 1000000
-- How long a window counts as partly used after a loss, at most, and in how much of that each process that lives has
-- told what it sent: nothing is taken of a budget until then.
local MINUTE = 60 * 1000000
local TELLING = 1.5 * 1000000
-- What polls leave to calls of a budget: `shared.py` has the same.
local ROOM = 0.2
local DAY = 24 * 60 * 60 * 1000

local function text(number)
  return string.format('%.17g', number)
end

-- What was sent before is not known here. Where nobody says since when it counts, data was lost just now.
local counts_since = tonumber(redis.call('GET', KEYS[1]) or nil)
if not counts_since then
  counts_since = now
  -- Turns of before may still be waited for, so the new ones have numbers above theirs.
  for _, key in ipairs({KEYS[1], KEYS[2]}) do redis.call('SET', key, text(now)) end
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'lost', text(now))
  redis.call('PEXPIRE', KEYS[3], DAY)
end

local function units_of(entry)
  return tonumber(string.match(entry, ':(.*)$'))
end

-- Its number in the queue; whoever may go is before all who wait.
local function place_of(entry)
  return tonumber(string.match(entry, '^w(%d+)') or 0)
end

local function between(ledger, after, before)
  return redis.call('ZRANGEBYSCORE', ledger.entries, '(' .. text(after), before, 'WITHSCORES')
end

-- Drops what has left the window which ends now.
local function forget(ledger)
  local until_ = text(now - ledger.window)
  local left = redis.call('ZRANGEBYSCORE', ledger.entries, '-inf', until_)
  if #left == 0 then return end
  for _, entry in ipairs(left) do
    ledger.sum = ledger.sum - units_of(entry)
  end
  redis.call('ZREMRANGEBYSCORE', ledger.entries, '-inf', until_)
  ledger.changed = true
end

-- Counts part of a window as used that data was lost of. It leaves the window a minute after the loss, if not before.
local function suppose(ledger)
  local lost = math.min(ledger.window, MINUTE)
  if counts_since <= now - lost then return end
  local units = ledger.limit * (ledger.window > SHORT and SHARE or 1)
  redis.call('ZADD', ledger.entries, text(counts_since + lost - ledger.window), 'u:' .. text(units))
  ledger.sum, ledger.changed = units, true
  -- Windows of keys are our own: whoever calls need not wait, and a key may get half a window too much.
  if not string.find(KEYS[1], '{keys-', 1, true) then ledger.closed = counts_since + TELLING end
end

local function opened(number)
  local entries, facts = KEYS[2 + 2 * number], KEYS[3 + 2 * number]
  local known = redis.call('HMGET', facts, 'sum', 'closed', 'full', 'full_until', 'tail', 'window')
  local ledger = {
    entries = entries, facts = facts,
    limit = tonumber(ARGV[3 * number]), window = tonumber(ARGV[1 + 3 * number]), units = tonumber(ARGV[2 + 3 * number]),
    sum = tonumber(known[1] or 0), closed = tonumber(known[2] or 0),
    full = tonumber(known[3] or 'inf'), full_until = tonumber(known[4] or 0),
  }
  ledger.tail = tonumber(known[6]) == ledger.window and tonumber(known[5]) or nil
  if not known[1] then suppose(ledger) end
  forget(ledger)
  return ledger
end

local function save(ledger, latest)
  ledger.changed = false
  redis.call('HSET', ledger.facts, 'sum', text(ledger.sum), 'closed', text(ledger.closed),
    'full', text(ledger.full), 'full_until', text(ledger.full_until),
    'tail', ledger.tail and text(ledger.tail) or '', 'window', text(ledger.window))
  -- Twice the window after the last entry, since entries move when they turn out to have been late.
  local rest = text(math.ceil((math.max(latest, ledger.closed, now) - now + 2 * ledger.window) / 1000))
  for _, key in ipairs({ledger.entries, ledger.facts}) do
    if redis.call('PEXPIRE', key, rest, 'NX') == 0 then redis.call('PEXPIRE', key, rest, 'GT') end
  end
end

-- The first entry that, together with those before it in its window, leaves too little room for what is placed now.
local function clash(ledger, times, units, first, place, at, taken)
  for last = place, #times do
    if times[last] >= at + ledger.window then return nil end
    taken = taken + units[last]
    while times[first] + ledger.window <= times[last] do
      taken = taken - units[first]
      first = first + 1
    end
    if taken > ledger.limit - ledger.units then return times[last] end
  end
end

-- The first instant from this one on at which the units fit, and what is in the window then, if nothing comes after it.
-- It is one way through the entries.
local function search(ledger, at)
  local room, times, units = ledger.limit - ledger.units, {}, {}
  local found = between(ledger, at - ledger.window, '+inf')
  for place = 1, #found, 2 do
    times[#times + 1], units[#units + 1] = tonumber(found[place + 1]), units_of(found[place])
  end
  local first, place, taken = 1, 1, 0
  while true do
    while place <= #times and times[place] <= at do
      taken = taken + units[place]
      place = place + 1
    end
    while first < place and times[first] + ledger.window <= at do
      taken = taken - units[first]
      first = first + 1
    end
    local later
    if taken > room then
      local leaving = first
      while taken > room do
        taken = taken - units[leaving]
        leaving = leaving + 1
      end
      first, later = leaving, times[leaving - 1] + ledger.window
    else
      later = clash(ledger, times, units, first, place, at, taken)
    end
    if not later then return at, place > #times and taken or nil end
    at = later
  end
end

-- The same at the end of a queue that is longer than a window. Nobody in its last window has gone yet, so what is in
-- there is known: newcomers cost the same however long the queue is.
local function behind(ledger)
  local at, taken, room = ledger.full_until, ledger.tail, ledger.limit - ledger.units
  while taken > room do
    local after = '(' .. text(at - ledger.window)
    local next_ = redis.call('ZRANGEBYSCORE', ledger.entries, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', ledger.entries, after, next_)) do
      taken = taken - units_of(entry)
    end
    at = next_ + ledger.window
  end
  return at, taken
end

-- Forgets what is in the last window of the queue if that is where something has changed.
local function changed_at(ledger, at)
  if at > ledger.full_until - ledger.window then ledger.tail = nil end
end

-- The first instant at which the units fit.
local function earliest(ledger, not_before)
  local at = math.max(now, not_before, ledger.closed)
  if ledger.sum + ledger.units <= ledger.limit then return at end
  -- In a long queue each newcomer would search all of it again. So many units do not fit before this instant.
  if ledger.units >= ledger.full then at = math.max(at, ledger.full_until) end
  local tail
  if ledger.tail and at == ledger.full_until and at - ledger.window >= now then
    at, tail = behind(ledger)
  else
    at, tail = search(ledger, at)
  end
  if not_before <= now then
    ledger.full, ledger.full_until, ledger.tail, ledger.changed = ledger.units, at, tail, true
  end
  return at
end

-- When a turn may really go ahead, after those before it and those that have gone already.
local function due(ledger, turn)
  local room, at = ledger.limit - ledger.units, math.max(now, ledger.closed)
  while true do
    local found, before, taken = between(ledger, at - ledger.window, text(at)), {}, 0
    for place = 1, #found, 2 do
      if place_of(found[place]) < turn and found[place] ~= ledger.gone then
        before[#before + 1] = place
        taken = taken + units_of(found[place])
      end
    end
    if taken <= room then return at end
    for _, place in ipairs(before) do
      taken = taken - units_of(found[place])
      if taken <= room then
        at = found[place + 1] + ledger.window
        break
      end
    end
  end
end

local ledgers = {}
for number = 1, (#KEYS - 3) / 2 do
  ledgers[number] = opened(number)
end

local function named(ledger, turn)
  ledger.waiting = string.format('w%.0f:%.17g', turn, ledger.units)
  ledger.gone = string.format('g%.0f:%.17g', turn, ledger.units)
end

local function insert(at, turn)
  for _, ledger in ipairs(ledgers) do
    named(ledger, turn)
    redis.call('ZADD', ledger.entries, text(at), at > now and ledger.waiting or ledger.gone)
    ledger.sum = ledger.sum + ledger.units
    if ledger.tail and at == ledger.full_until then
      ledger.tail = ledger.tail + ledger.units
    else
      changed_at(ledger, at)
    end
    save(ledger, at)
  end
end

local function remaining(ledger)
  return math.floor(math.max(0, ledger.limit - ledger.sum))
end

local function saved_if_changed()
  for _, ledger in ipairs(ledgers) do
    if ledger.changed then save(ledger, now) end
  end
end

local act = {}

function act.spend()
  local at, turn = earliest(ledgers[1], 0), 0
  if at <= now then
    turn = redis.call('INCR', KEYS[2])
    insert(now, turn)
  end
  return {at - now, remaining(ledgers[1]), turn}
end

function act.peek()
  return {0, remaining(ledgers[1])}
end

function act.reserve(max_wait)
  local at, later = now, now
  -- All budgets have to fit at the same instant. Moving one may break another, so it is tried until none moves.
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

function act.spare()
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

function act.confirm(turn)
  local at = now
  for _, ledger in ipairs(ledgers) do
    named(ledger, turn)
    at = math.max(at, due(ledger, tonumber(turn)))
  end
  for _, ledger in ipairs(ledgers) do
    local planned = redis.call('ZSCORE', ledger.entries, ledger.waiting)
    -- Who was held up after it had come confirms it once more.
    local before = planned or redis.call('ZSCORE', ledger.entries, ledger.gone)
    if before then
      redis.call('ZREM', ledger.entries, ledger.waiting, ledger.gone)
      ledger.sum = ledger.sum - ledger.units
      changed_at(ledger, tonumber(before))
    end
    -- Moved to earlier, it leaves room where it was.
    if not planned or at < tonumber(planned) then ledger.full, ledger.full_until, ledger.tail = math.huge, 0, nil end
  end
  insert(at, turn)
  return {1, at - now, 0}
end

function act.release(turn)
  for _, ledger in ipairs(ledgers) do
    named(ledger, turn)
    if redis.call('ZREM', ledger.entries, ledger.waiting, ledger.gone) > 0 then
      ledger.sum, ledger.full, ledger.full_until, ledger.tail = ledger.sum - ledger.units, math.huge, 0, nil
      save(ledger, now)
    end
  end
  return {1, 0, 0}
end

-- A request may have arrived so many microseconds after it was let through, but was answered by now. Counted from an
-- instant to come, it would be in no window yet.
function act.late(argument)
  local ledger, turn, late = ledgers[1], string.match(argument, '(%d+) (%d+)')
  named(ledger, turn)
  local at = redis.call('ZSCORE', ledger.entries, ledger.gone)
  if at then redis.call('ZADD', ledger.entries, text(math.min(at + late, now)), ledger.gone) end
  return {1, 0, 0}
end

-- What a process has sent: how many microseconds ago, and the entry. Told twice, it counts once.
function act.recount(entries)
  local ledger = ledgers[1]
  for age, entry in string.gmatch(entries, '(%d+) (%S+)') do
    local at = now - age
    if at > now - ledger.window and redis.call('ZADD', ledger.entries, 'NX', text(at), entry) == 1 then
      ledger.sum, ledger.changed = ledger.sum + units_of(entry), true
      changed_at(ledger, at)
    end
  end
  return {1, 0, 0}
end

-- When data was lost, if it was, and which budgets are closed for how long.
function act.look()
  local known, closed = redis.call('HMGET', KEYS[3], 'lost', 'closed'), {}
  if tonumber(known[2] or 0) > now then
    local found = redis.call('HGETALL', KEYS[3])
    for place = 1, #found, 2 do
      local entries = string.match(found[place], '^closed:(.*)')
      if entries and tonumber(found[place + 1]) > now then
        closed[#closed + 1], closed[#closed + 2] = entries, tonumber(found[place + 1]) - now
      elseif entries then
        redis.call('HDEL', KEYS[3], found[place])
      end
    end
  end
  return {tonumber(known[1] or 0), closed}
end

function act.close(microseconds)
  for _, ledger in ipairs(ledgers) do
    ledger.closed = math.max(ledger.closed, now + microseconds)
    save(ledger, now)
    -- Each process is told: it may have to go on without the store.
    local latest = math.max(ledger.closed, tonumber(redis.call('HGET', KEYS[3], 'closed') or 0))
    redis.call('HSET', KEYS[3], 'closed:' .. ledger.entries, text(ledger.closed), 'closed', text(latest))
  end
  redis.call('PEXPIRE', KEYS[3], DAY)
  return {1, 0, 0}
end

local answer = act[ARGV[1]](ARGV[2])
saved_if_changed()
return answer
