"""What a shared store counts that has lost its data, once processes tell it what they have sent."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector_gateway.kit.budget import Budget
from connector_gateway.storage.ledger import LedgerEntry
from connector_gateway.storage.memory import InMemory
from connector_gateway.storage.recount import AGAIN_SECONDS, LATE_SECONDS, Peers
from connector_gateway.storage.share import PROBE_SECONDS, SHARE, WithFallback
from connector_gateway.storage.shared import StoreAway, Take
from connector_gateway.storage.valkey import COUNTING, Valkey
from harness.clocks import HandClock
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

MINUTE = Budget(20, 60)
KEY = Take("key:1", MINUTE)
NOTES = Take("upstream:notes:all:account", MINUTE)
LONG = 1_000.0
"""For how long a process has watched who lives, where a test says nothing else."""


class Process(WithFallback):
    """One process on the store, and what it knows of others; it tells the store something when a test says so."""

    def __init__(self, store: Valkey, clock: HandClock, name: str) -> None:
        self.silent: Mapping[str, float] = {}
        self.watched = LONG
        super().__init__(store, InMemory(clock), clock, lambda: 2, lambda: Peers(name, self.watched, self.silent))

    async def left(self, take: Take = NOTES) -> int:
        return (await self.peek(take)).remaining


@pytest.fixture
def clock(valkey_of_tests: Server) -> StoreClock:
    return StoreClock(valkey_of_tests)


@pytest.fixture
async def processes(valkey_of_tests: Server, clock: StoreClock) -> AsyncIterator[list[Process]]:
    """Two processes that have used six and three of twenty, and know of each other; then the store lost its data."""
    async with together(valkey_of_tests, clock, "one", "other") as (one, other):
        for process, times in ((one, 6), (other, 3)):
            for _ in range(times):
                await process.reserve([NOTES], 0)
        clock.at += 1
        forget(valkey_of_tests, clock)
        yield [one, other]


@asynccontextmanager
async def together(server: Server, clock: StoreClock, *names: str) -> AsyncIterator[list[Process]]:
    """Processes on one store that know of each other."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(store_of(server, clock))
        processes = []
        for name in names:
            store = Valkey(
                server.url, clock, seconds=20, script=first.script, connectors=["notes"], prefix=first.prefix
            )
            process = Process(await stack.enter_async_context(store), clock, name)
            process.silent = dict.fromkeys({*names} - {name}, 0)
            processes.append(process)
        yield processes


def forget(server: Server, clock: StoreClock) -> None:
    server.client.flushall()
    clock.at += 1


async def tell(*processes: Process) -> None:
    for process in processes:
        await process.recount.tell()


@requirement("shared:lost-data")
async def test_until_all_have_told_half_of_a_budget_counts_as_used(processes: list[Process]) -> None:
    one, other = processes
    before = await one.left()
    await one.recount.tell()
    meanwhile = await other.left()
    await other.recount.tell()

    # Of the half, six are what the first has told; that of the second is not known yet.
    assert (10, 10, 11) == (before, meanwhile, await one.left())


@requirement("shared:lost-data")
async def test_what_was_sent_leaves_the_window_when_it_would_have_without_the_loss(
    processes: list[Process], clock: StoreClock
) -> None:
    await tell(*processes)
    clock.at += 57
    before = await processes[0].left()
    clock.at += 2

    assert (11, 20) == (before, await processes[0].left())


@requirement("shared:lost-data")
async def test_all_of_a_short_window_counts_as_used_until_all_have_told(
    processes: list[Process],
) -> None:
    tables = Take("upstream:notes:base:account", Budget(5, 2))
    before = await processes[0].left(tables)
    await tell(*processes)

    assert (0, 5) == (before, await processes[0].left(tables))


@requirement("shared:lost-data")
async def test_what_had_left_a_short_window_before_the_loss_takes_no_place_of_what_others_sent_in_it(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    one, other = processes
    tables = Take("upstream:notes:base:account", Budget(5, 1))
    await tell(one, other)
    for process, after in ((one, 0), (one, 0), (one, 0), (one, 1.1), (other, 0), (other, 0), (other, 0), (other, 0)):
        clock.at += after
        assert 0 == (await process.reserve([tables], 0)).wait
    valkey_of_tests.client.flushall()
    clock.at += 0.1
    await one.recount.tell()
    clock.at += 0.45

    # The three that were sent first have left by now, however late they arrived; four of the others are not known.
    assert 0 == await one.left(tables)


BEFORE = st.tuples(st.lists(st.integers(0, 3), min_size=3, max_size=3), st.sampled_from([0.1, 0.6, 1.1]))
"""How much each process sends, and how long it is until the next."""

AFTER = st.tuples(st.sets(st.integers(0, 2), max_size=2), st.sampled_from([0.1, 0.3, 0.5]))
"""Which processes tell what they have sent, and after how long all try to send more."""


@requirement("shared:lost-data")
@given(st.lists(BEFORE, min_size=2, max_size=4), st.lists(AFTER, min_size=2, max_size=4))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_short_window_holds_too_much_whoever_has_told_what_was_lost(
    valkey_of_tests: Server, before: Sequence[tuple[list[int], float]], after: Sequence[tuple[set[int], float]]
) -> None:
    clock, tables, sent = StoreClock(valkey_of_tests), Take("upstream:notes:base:account", Budget(5, 1)), []

    async def send(process: Process) -> None:
        if (await process.reserve([tables], 0)).wait <= 0:
            sent.append(clock.at)

    async with together(valkey_of_tests, clock, "one", "two", "three") as processes:
        for times, seconds in before:
            clock.at += seconds
            for process, most in zip(processes, times, strict=True):
                for _ in range(most):
                    await send(process)
        valkey_of_tests.client.flushall()
        for told, seconds in after:
            clock.at += seconds
            for number in told:
                await processes[number].recount.tell()
            for process in 3 * processes:
                await send(process)

    assert max([sum(1 for other in sent if at - 1 < other <= at) for at in sent], default=0) <= 5


@requirement("shared:closed")
async def test_a_budget_that_a_third_party_closed_stays_closed_when_the_data_is_lost(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    one, other = processes
    await tell(one, other)
    await one.close([NOTES], 30)
    forget(valkey_of_tests, clock)
    await tell(one, other)

    assert 29 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("shared:closed")
async def test_a_budget_that_was_closed_while_the_store_was_away_is_closed_in_it_when_it_is_back(
    processes: list[Process],
) -> None:
    one, other = processes
    await tell(one, other)
    one.lost(StoreAway("for a test"))
    await one.close([NOTES], 30)
    await tell(one)

    assert 30 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("shared:closed")
@pytest.mark.parametrize("used", [True, False])
async def test_what_another_process_was_told_is_closed_stays_closed_while_the_store_is_away(
    processes: list[Process], clock: StoreClock, *, used: bool
) -> None:
    one, other = processes
    room = NOTES if used else Take("upstream:notes:all:elsewhere", MINUTE)
    await one.close([room], 30)
    await tell(other)
    other.lost(StoreAway("for a test"))
    clock.at += 10

    assert 20 == round((await other.reserve([room], 0)).wait, 3)


@requirement("shared:closed")
async def test_each_process_knows_what_any_was_told_is_closed(processes: list[Process]) -> None:
    one, other = processes
    await one.close([NOTES], 30)
    before = [round(process.closed_seconds(NOTES.name), 3) for process in processes]
    await tell(other)

    assert [30, 0] == before
    assert 30 == round(other.closed_seconds(NOTES.name), 3)


async def test_what_left_the_window_half_a_second_ago_is_told_since_it_may_have_arrived_so_late(
    processes: list[Process], clock: StoreClock
) -> None:
    clock.at += 58.25
    just_told = [process.recount._sent(entry, MINUTE)[0] for process in processes for entry in sent_by(process)]

    assert [59.75] * 9 == just_told


def sent_by(process: Process) -> list[LedgerEntry]:
    found = process._local.gone(NOTES.name, LATE_SECONDS)
    return [] if found is None else found[1]


@requirement("shared:local-share")
@pytest.mark.parametrize(("failed_ago", "held_back"), [(0.2, 0), (1.2, PROBE_SECONDS)], ids=["away", "frozen"])
async def test_the_share_of_a_short_window_is_used_only_while_the_store_is_known_to_be_away(
    processes: list[Process], clock: StoreClock, failed_ago: float, held_back: float
) -> None:
    one, _ = processes
    one.lost(StoreAway("for a test"))
    turn = await one.reserve([Take("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 1
    one.lost(StoreAway("for a test"))
    clock.at += failed_ago

    assert held_back == await turn.confirm()


@requirement("shared:local-share")
async def test_the_share_of_a_short_window_is_held_back_while_the_store_may_be_back(
    processes: list[Process], clock: StoreClock
) -> None:
    one, _ = processes
    one.lost(StoreAway("for a test"))
    turn = await one.reserve([Take("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 0.9
    await one._probe()
    clock.at += 0.2

    # It has waited for longer than the window; others may not have noticed that the store was away.
    assert PROBE_SECONDS == await turn.confirm()


async def test_what_is_told_again_counts_once(processes: list[Process], valkey_of_tests: Server) -> None:
    one, other = processes
    await one.reserve([NOTES], 0)
    await tell(one, other)
    one.recount._recounted.clear()
    other.recount._recounted.clear()
    await tell(one, other)

    assert 10 == await one.left()


async def test_data_that_is_lost_again_is_told_again(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    await tell(*processes)
    await processes[0].reserve([NOTES], 0)
    forget(valkey_of_tests, clock)
    await tell(*processes)

    assert 10 == await processes[0].left()


@requirement("shared:lost-data")
async def test_what_is_not_told_by_one_that_died_counts_until_its_window_is_over(
    processes: list[Process], clock: StoreClock
) -> None:
    one, _ = processes
    await one.left()
    one.silent = {"other": 40}
    await one.recount.tell()
    meanwhile = await one.left()
    clock.at += 20

    # It lived until 40 seconds ago, and a window has 60.
    assert (10, 14) == (meanwhile, await one.left())


async def test_who_knows_only_of_the_last_seconds_who_lived_does_not_vouch_for_more(
    processes: list[Process], clock: StoreClock
) -> None:
    processes[0].watched = processes[1].watched = 50
    await tell(*processes)
    meanwhile = await processes[0].left()
    clock.at += 10

    assert (10, 11) == (meanwhile, await processes[0].left())


async def test_who_does_not_know_who_lives_tells_only_what_it_has_sent(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = processes
    one.recount._peers = lambda: None
    await tell(*processes)
    before = await one.left()
    one.recount._peers = lambda: Peers("one", LONG, {})
    await one.recount.tell()

    assert (10, 11) == (before, await one.left())


async def test_of_each_key_half_counts_as_used_too(processes: list[Process]) -> None:
    one, _ = processes
    allowances = [await one.spend(KEY) for _ in range(11)]
    await tell(*processes)

    assert [9, 0, 0] == [allowance.remaining for allowance in (allowances[0], *allowances[-2:])]
    assert AGAIN_SECONDS == allowances[-1].retry_after
    assert 10 == await one.left(KEY)


async def test_a_turn_comes_sooner_once_all_is_known(processes: list[Process], clock: StoreClock) -> None:
    one, other = processes
    await one.reserve([Take(NOTES.name, MINUTE, 10)], 0)
    turn = await other.reserve([NOTES], 100)
    told = turn.wait
    clock.at += AGAIN_SECONDS
    still = await turn.confirm()
    await tell(*processes)
    clock.at += AGAIN_SECONDS

    assert (AGAIN_SECONDS, AGAIN_SECONDS, 0) == (told, still, await turn.confirm())


async def test_a_call_that_cannot_wait_for_what_is_supposed_asks_again_once_all_is_known(
    processes: list[Process],
) -> None:
    one, _ = processes
    await one.reserve([Take(NOTES.name, MINUTE, 10)], 0)
    at_once = await one.reserve([NOTES], AGAIN_SECONDS / 2)
    turn = await one.reserve([NOTES], 2 * AGAIN_SECONDS)
    await tell(*processes)

    assert (False, True, AGAIN_SECONDS) == (at_once.granted, turn.granted, turn.wait)
    assert 0 == await turn.confirm()


async def test_a_poll_asks_again_soon_while_not_all_is_known(processes: list[Process]) -> None:
    await processes[0].reserve([Take(NOTES.name, MINUTE, 10)], 0)
    turn = await processes[0].reserve_if_spare([NOTES])

    assert (False, AGAIN_SECONDS) == (turn.granted, turn.wait)


async def test_a_turn_from_before_the_loss_is_not_mistaken_for_another(
    valkey_of_tests: Server, clock: StoreClock, processes: list[Process]
) -> None:
    one, other = processes
    await tell(*processes)
    await one.reserve([Take(NOTES.name, MINUTE, 11)], 0)
    waiting = await other.reserve([NOTES], 100)
    forget(valkey_of_tests, clock)
    later = [await one.reserve([Take(NOTES.name, MINUTE, 10)], 0), await one.reserve([NOTES], 100)]
    await tell(*processes)
    clock.at += 61

    assert [0, 0] == [await turn.confirm() for turn in (waiting, later[1])]
    assert 18 == await one.left()


async def test_what_was_used_without_the_store_is_told_once_also_where_data_was_lost(
    processes: list[Process], valkey_of_tests: Server, clock: StoreClock
) -> None:
    one, other = processes
    await tell(*processes)
    other.lost(StoreAway("for a moment"))
    # Three of its share of five were used before.
    assert 0 == (await other.reserve([Take(NOTES.name, MINUTE, 2)], 0)).wait
    forget(valkey_of_tests, clock)
    await other._probe()
    await one.recount.tell()

    assert 9 == await one.left()


async def test_what_cannot_be_told_is_told_later(processes: list[Process], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = processes
    one.lost(StoreAway("for a moment"))
    await one.spend(KEY)
    with monkeypatch.context() as patched:
        patched.setattr(Valkey, "recount", _away)
        with pytest.raises(StoreAway):
            await one.recount.tell()
    await tell(*processes)

    assert 19 == await other.left(KEY)


async def _away(*_: object) -> None:
    raise StoreAway("for another moment")


async def test_looking_at_a_budget_leaves_what_it_counts_right(valkey_of_tests: Server, clock: StoreClock) -> None:
    async with store_of(valkey_of_tests, clock) as store:
        await store.spend(Take(KEY.name, MINUTE, 20))
        clock.at += 30
        await store.spend(Take(KEY.name, MINUTE, 0))
        clock.at += 30
        await store.peek(KEY)

        assert 19 == (await store.spend(KEY)).remaining


def test_the_script_counts_as_used_what_processes_share() -> None:
    assert f"local SHARE = {SHARE}\n" in COUNTING
