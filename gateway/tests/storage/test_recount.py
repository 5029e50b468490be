"""What a shared store counts that has lost its data: half of a window as used, and what processes tell it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.degraded_mode import LOCAL_QUOTA, PROBE_SECONDS, FallbackCounters
from connector_gateway.storage.shared.interface import ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.memory import LocalCounters
from connector_gateway.storage.shared.recovery import LATE_SECONDS
from connector_gateway.storage.shared.sliding_window import LogEntry
from connector_gateway.storage.shared.valkey import COUNTING, ValkeyCounters
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

MINUTE = Budget(20, 60)
KEY = ResolvedCharge("key:1", MINUTE)
NOTES = ResolvedCharge("upstream:notes:all:account", MINUTE)
TELLING = 1.5
"""For how many seconds after a loss nothing is taken, so that all can tell what they have sent."""


class Process(FallbackCounters):
    """One process on the store; it tells the store something when a test says so."""

    def __init__(self, store: ValkeyCounters, clock: ManualClock) -> None:
        super().__init__(store, LocalCounters(clock), clock, lambda: 2)

    async def left(self, take: ResolvedCharge = NOTES) -> int:
        return (await self.peek(take)).remaining


@pytest.fixture
def clock(valkey_of_tests: Server) -> StoreClock:
    return StoreClock(valkey_of_tests)


@pytest.fixture
async def processes(valkey_of_tests: Server, clock: StoreClock) -> AsyncIterator[list[Process]]:
    """Two processes that have used six and three of twenty; then the store lost its data."""
    async with together(valkey_of_tests, clock, 2) as (one, other):
        for process, times in ((one, 6), (other, 3)):
            for _ in range(times):
                await process.reserve([NOTES], 0)
        clock.at += 1
        forget(valkey_of_tests, clock)
        yield [one, other]


@asynccontextmanager
async def together(server: Server, clock: StoreClock, count: int) -> AsyncIterator[list[Process]]:
    """So many processes on one store."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(store_of(server, clock))
        processes = []
        for _ in range(count):
            store = ValkeyCounters(
                server.url, clock, seconds=20, script=first.script, connectors=["notes"], prefix=first.prefix
            )
            processes.append(Process(await stack.enter_async_context(store), clock))
        yield processes


def forget(server: Server, clock: StoreClock) -> None:
    server.client.flushall()
    clock.at += 1


async def tell(*processes: Process) -> None:
    for process in processes:
        await process.recount.replay()


@requirement("common-199")
async def test_after_a_loss_half_of_a_budget_counts_as_used_beside_what_is_told(processes: list[Process]) -> None:
    one, other = processes
    before = await one.left()
    await one.recount.replay()
    meanwhile = await other.left()
    await other.recount.replay()

    assert (10, 4, 1) == (before, meanwhile, await one.left())


@requirement("common-199")
async def test_a_window_after_the_loss_all_of_a_budget_can_be_used(processes: list[Process], clock: StoreClock) -> None:
    await tell(*processes)
    clock.at += 57.5
    before = await processes[0].left()
    clock.at += 1
    meanwhile = await processes[0].left()
    clock.at += 2

    # What was told leaves when it would have without the loss, and the half a window after it.
    assert (1, 10, 20) == (before, meanwhile, await processes[0].left())


@requirement("common-199")
async def test_of_a_long_window_half_counts_as_used_for_a_minute(processes: list[Process], clock: StoreClock) -> None:
    day = ResolvedCharge("upstream:notes:day:account", Budget(20, 86_400))
    before = await processes[0].left(day)
    clock.at += 60

    assert (10, 20) == (before, await processes[0].left(day))


@requirement("common-199")
async def test_all_of_a_short_window_counts_as_used(processes: list[Process], clock: StoreClock) -> None:
    tables = ResolvedCharge("upstream:notes:base:account", Budget(5, 2))
    before = await processes[0].left(tables)
    await tell(*processes)
    clock.at += 2

    assert (0, 5) == (before, await processes[0].left(tables))


@requirement("common-199")
async def test_nothing_is_taken_of_budgets_until_all_that_live_have_told(processes: list[Process]) -> None:
    one, other = processes
    turns = [await one.reserve([NOTES], 100), await other.try_reserve_idle([NOTES])]

    assert [(True, TELLING), (False, TELLING)] == [(turn.granted, turn.wait) for turn in turns]
    assert (9, 0) == ((allowance := await one.consume(KEY)).remaining, allowance.retry_after)


SENT = st.tuples(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.sampled_from([0.1, 0.6, 1.1, 4.0]))
"""How much each process tries to send, and how long it is since it did before."""


@requirement("common-199")
@given(st.sampled_from([1, 10, 60]), st.lists(SENT, min_size=2, max_size=4), st.lists(SENT, min_size=3, max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_window_holds_too_much_after_a_loss(
    valkey_of_tests: Server,
    per_seconds: int,
    before: Sequence[tuple[list[int], float]],
    after: Sequence[tuple[list[int], float]],
) -> None:
    clock, sent = StoreClock(valkey_of_tests), list[float]()
    take = ResolvedCharge("upstream:notes:base:account", Budget(8, per_seconds))

    async def send(processes: Sequence[Process], rounds: Sequence[tuple[list[int], float]]) -> None:
        for times, seconds in rounds:
            clock.at += seconds
            for process, most in zip(processes, times, strict=True):
                turns = [await process.reserve([take], 0) for _ in range(most)]
                sent.extend(clock.at for turn in turns if turn.wait <= 0)
                # As twice a second.
                await process.recount.replay()

    async with together(valkey_of_tests, clock, 3) as processes:
        await send(processes, before)
        valkey_of_tests.client.flushall()
        clock.at += 0.1
        await send(processes, after)

    assert max([sum(1 for other in sent if at - per_seconds < other <= at) for at in sent], default=0) <= 8


@requirement("common-219")
async def test_a_budget_that_a_third_party_closed_stays_closed_when_the_data_is_lost(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    one, other = processes
    await tell(one, other)
    await one.block([NOTES], 30)
    forget(valkey_of_tests, clock)
    await tell(one, other)

    assert 29 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("common-219")
async def test_a_budget_that_was_closed_while_the_store_was_away_is_closed_in_it_when_it_is_back(
    processes: list[Process],
) -> None:
    one, other = processes
    await tell(one, other)
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    await one.block([NOTES], 30)
    await tell(one)

    assert 30 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("common-219")
@pytest.mark.parametrize("used", [True, False])
async def test_what_another_process_was_told_is_closed_stays_closed_while_the_store_is_away(
    processes: list[Process], clock: StoreClock, *, used: bool
) -> None:
    one, other = processes
    room = NOTES if used else ResolvedCharge("upstream:notes:all:elsewhere", MINUTE)
    await one.block([room], 30)
    await tell(other)
    other.enter_degraded_mode(StoreUnavailable("for a test"))
    clock.at += 10

    assert 20 == round((await other.reserve([room], 0)).wait, 3)


@requirement("common-219")
async def test_each_process_knows_what_any_was_told_is_closed(processes: list[Process]) -> None:
    one, other = processes
    await one.block([NOTES], 30)
    before = [round(process.blocked_seconds(NOTES.name), 3) for process in processes]
    await tell(other)

    assert [30, 0] == before
    assert 30 == round(other.blocked_seconds(NOTES.name), 3)


async def test_what_left_the_window_half_a_second_ago_is_told_since_it_may_have_arrived_so_late(
    processes: list[Process], clock: StoreClock
) -> None:
    clock.at += 58.25
    just_told = [
        process.recount._to_sent_request(entry, MINUTE)[0] for process in processes for entry in sent_by(process)
    ]

    assert [59.75] * 9 == just_told


def sent_by(process: Process) -> list[LogEntry]:
    found = process._local.recent_requests(NOTES.name, LATE_SECONDS)
    return [] if found is None else found[1]


@requirement("common-196")
@pytest.mark.parametrize(("failed_ago", "held_back"), [(0.2, 0), (1.2, PROBE_SECONDS)], ids=["away", "frozen"])
async def test_the_share_of_a_short_window_is_used_only_while_the_store_is_known_to_be_away(
    processes: list[Process], clock: StoreClock, failed_ago: float, held_back: float
) -> None:
    one, _ = processes
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    turn = await one.reserve([ResolvedCharge("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 1
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    clock.at += failed_ago

    assert held_back == await turn.confirm()


@requirement("common-196")
async def test_the_share_of_a_short_window_is_held_back_while_the_store_may_be_back(
    processes: list[Process], clock: StoreClock
) -> None:
    one, _ = processes
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    turn = await one.reserve([ResolvedCharge("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 0.9
    await one._probe()
    clock.at += 0.2

    # It has waited for longer than the window; others may not have noticed that the store was away.
    assert PROBE_SECONDS == await turn.confirm()


async def test_what_is_told_again_counts_once(processes: list[Process]) -> None:
    one, other = processes
    await tell(one, other)
    for process in processes:
        process.recount._recounted = {}
    await tell(one, other)

    assert 1 == await one.left()


async def test_data_that_is_lost_again_is_told_again(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    await tell(*processes)
    forget(valkey_of_tests, clock)
    await tell(*processes)

    assert 1 == await processes[0].left()


async def test_a_turn_from_before_the_loss_is_not_mistaken_for_another(
    valkey_of_tests: Server, clock: StoreClock, processes: list[Process]
) -> None:
    one, other = processes
    await tell(*processes)
    clock.at += 61
    await one.reserve([ResolvedCharge(NOTES.name, MINUTE, 20)], 0)
    waiting = await other.reserve([NOTES], 100)
    forget(valkey_of_tests, clock)
    later = await one.reserve([NOTES], 100)
    await tell(*processes)
    clock.at += 61

    assert [0, 0] == [await turn.confirm() for turn in (waiting, later)]
    assert 18 == await one.left()


async def test_what_was_used_without_the_store_is_told_once_also_where_data_was_lost(
    processes: list[Process], valkey_of_tests: Server, clock: StoreClock
) -> None:
    one, other = processes
    await tell(*processes)
    clock.at += 61
    other.enter_degraded_mode(StoreUnavailable("for a moment"))
    assert 0 == (await other.reserve([ResolvedCharge(NOTES.name, MINUTE, 5)], 0)).wait
    forget(valkey_of_tests, clock)
    await other._probe()
    await one.recount.replay()

    assert 5 == await one.left()


async def test_what_cannot_be_told_is_told_later(
    processes: list[Process], clock: StoreClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = processes
    await tell(*processes)
    clock.at += 61
    one.enter_degraded_mode(StoreUnavailable("for a moment"))
    await one.consume(KEY)
    with monkeypatch.context() as patched:
        patched.setattr(ValkeyCounters, "recount", _away)
        with pytest.raises(StoreUnavailable):
            await one.recount.replay()
    await tell(*processes)

    assert 19 == await other.left(KEY)


async def _away(*_: object) -> None:
    raise StoreUnavailable("for another moment")


async def test_looking_at_a_budget_leaves_what_it_counts_right(valkey_of_tests: Server, clock: StoreClock) -> None:
    async with store_of(valkey_of_tests, clock) as store:
        await store.consume(ResolvedCharge(KEY.name, MINUTE, 20))
        clock.at += 30
        await store.consume(ResolvedCharge(KEY.name, MINUTE, 0))
        clock.at += 30
        await store.peek(KEY)

        assert 19 == (await store.consume(KEY)).remaining


def test_the_script_counts_as_used_what_processes_share() -> None:
    assert f"local SHARE = {LOCAL_QUOTA}\n" in COUNTING
    assert f"local TELLING = {TELLING} * 1000000\n" in COUNTING
