"""Recovery of a shared store that lost its data: half of a window counts as used, plus reports of processes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.data_loss_recovery import LATE_SECONDS
from connector_gateway.storage.shared.interface import ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.sliding_window import LogEntry
from connector_gateway.storage.shared.unavailable_store import LOCAL_QUOTA, PROBE_SECONDS, FallbackCounters
from connector_gateway.storage.shared.valkey import COUNTING, ValkeyCounters
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

MINUTE = Budget(20, 60)
KEY = ResolvedCharge("key:1", MINUTE)
NOTES = ResolvedCharge("upstream:notes:all:account", MINUTE)
REPORT_WAIT = 1.5
"""Seconds after a data loss during which nothing is granted, so that all processes can report."""


class Process(FallbackCounters):
    """One process on the store. It reports to the store when a test requests it."""

    def __init__(self, store: ValkeyCounters, clock: ManualClock) -> None:
        super().__init__(store, LocalCounters(clock), clock, lambda: 2)

    async def remaining(self, charge: ResolvedCharge = NOTES) -> int:
        return (await self.peek(charge)).remaining


@pytest.fixture
def clock(valkey_of_tests: Server) -> StoreClock:
    return StoreClock(valkey_of_tests)


@pytest.fixture
async def processes(valkey_of_tests: Server, clock: StoreClock) -> AsyncIterator[list[Process]]:
    """Two processes that have used six and three of twenty before the store lost its data."""
    async with open_processes(valkey_of_tests, clock, 2) as (one, other):
        for process, times in ((one, 6), (other, 3)):
            for _ in range(times):
                await process.reserve([NOTES], 0)
        clock.at += 1
        lose_data(valkey_of_tests, clock)
        yield [one, other]


@asynccontextmanager
async def open_processes(server: Server, clock: StoreClock, count: int) -> AsyncIterator[list[Process]]:
    """Yield *count* processes on one store."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(store_of(server, clock))
        processes = []
        for _ in range(count):
            store = ValkeyCounters(
                server.url, clock, seconds=20, script=first.script, connectors=["notes"], prefix=first.prefix
            )
            processes.append(Process(await stack.enter_async_context(store), clock))
        yield processes


def lose_data(server: Server, clock: StoreClock) -> None:
    server.client.flushall()
    clock.at += 1


async def report(*processes: Process) -> None:
    for process in processes:
        await process.recount.replay()


@requirement("common-199")
async def test_after_a_data_loss_half_of_a_budget_counts_as_used_plus_reports(processes: list[Process]) -> None:
    one, other = processes
    before = await one.remaining()
    await one.recount.replay()
    meanwhile = await other.remaining()
    await other.recount.replay()

    assert (10, 4, 1) == (before, meanwhile, await one.remaining())


@requirement("common-199")
async def test_the_full_budget_is_available_a_window_after_a_loss(processes: list[Process], clock: StoreClock) -> None:
    await report(*processes)
    clock.at += 57.5
    before = await processes[0].remaining()
    clock.at += 1
    meanwhile = await processes[0].remaining()
    clock.at += 2

    # Reported requests expire as they would have without the loss, and the half a window after it.
    assert (1, 10, 20) == (before, meanwhile, await processes[0].remaining())


@requirement("common-199")
async def test_half_of_a_long_window_counts_as_used_for_a_minute(processes: list[Process], clock: StoreClock) -> None:
    day = ResolvedCharge("upstream:notes:day:account", Budget(20, 86_400))
    before = await processes[0].remaining(day)
    clock.at += 60

    assert (10, 20) == (before, await processes[0].remaining(day))


@requirement("common-199")
async def test_a_short_window_counts_as_fully_used(processes: list[Process], clock: StoreClock) -> None:
    tables = ResolvedCharge("upstream:notes:base:account", Budget(5, 2))
    before = await processes[0].remaining(tables)
    await report(*processes)
    clock.at += 2

    assert (0, 5) == (before, await processes[0].remaining(tables))


@requirement("common-199")
async def test_budgets_are_not_used_until_all_live_processes_have_reported(processes: list[Process]) -> None:
    one, other = processes
    reservations = [await one.reserve([NOTES], 100), await other.try_reserve_idle([NOTES])]

    assert [(True, REPORT_WAIT), (False, REPORT_WAIT)] == [
        (reservation.granted, reservation.wait) for reservation in reservations
    ]
    assert (9, 0) == ((allowance := await one.consume(KEY)).remaining, allowance.retry_after)


SENT = st.tuples(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.sampled_from([0.1, 0.6, 1.1, 4.0]))
"""The requests that each process tries to send, and the seconds since its previous ones."""


@requirement("common-199")
@given(st.sampled_from([1, 10, 60]), st.lists(SENT, min_size=2, max_size=4), st.lists(SENT, min_size=3, max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_window_exceeds_its_limit_after_a_data_loss(
    valkey_of_tests: Server,
    per_seconds: int,
    before: Sequence[tuple[list[int], float]],
    after: Sequence[tuple[list[int], float]],
) -> None:
    clock, sent = StoreClock(valkey_of_tests), list[float]()
    charge = ResolvedCharge("upstream:notes:base:account", Budget(8, per_seconds))

    async def send(processes: Sequence[Process], rounds: Sequence[tuple[list[int], float]]) -> None:
        for times, seconds in rounds:
            clock.at += seconds
            for process, most in zip(processes, times, strict=True):
                reservations = [await process.reserve([charge], 0) for _ in range(most)]
                sent.extend(clock.at for reservation in reservations if reservation.wait <= 0)
                # As twice a second.
                await process.recount.replay()

    async with open_processes(valkey_of_tests, clock, 3) as processes:
        await send(processes, before)
        valkey_of_tests.client.flushall()
        clock.at += 0.1
        await send(processes, after)

    assert max([sum(1 for other in sent if at - per_seconds < other <= at) for at in sent], default=0) <= 8


@requirement("common-219")
async def test_a_vendors_block_survives_a_data_loss(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    one, other = processes
    await report(one, other)
    await one.block([NOTES], 30)
    lose_data(valkey_of_tests, clock)
    await report(one, other)

    assert 29 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("common-219")
async def test_a_block_during_an_outage_is_reported_to_the_recovered_store(
    processes: list[Process],
) -> None:
    one, other = processes
    await report(one, other)
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    await one.block([NOTES], 30)
    await report(one)

    assert 30 == round((await other.reserve([NOTES], 0)).wait, 3)


@requirement("common-219")
@pytest.mark.parametrize("used", [True, False])
async def test_a_block_reported_to_another_process_applies_during_an_outage(
    processes: list[Process], clock: StoreClock, *, used: bool
) -> None:
    one, other = processes
    charge = NOTES if used else ResolvedCharge("upstream:notes:all:elsewhere", MINUTE)
    await one.block([charge], 30)
    await report(other)
    other.enter_degraded_mode(StoreUnavailable("for a test"))
    clock.at += 10

    assert 20 == round((await other.reserve([charge], 0)).wait, 3)


@requirement("common-219")
async def test_every_process_knows_the_blocks_of_all(processes: list[Process]) -> None:
    one, other = processes
    await one.block([NOTES], 30)
    before = [round(process.blocked_seconds(NOTES.name), 3) for process in processes]
    await report(other)

    assert [30, 0] == before
    assert 30 == round(other.blocked_seconds(NOTES.name), 3)


async def test_recently_expired_requests_are_reported_because_they_may_have_arrived_late(
    processes: list[Process], clock: StoreClock
) -> None:
    clock.at += 58.25
    just_reported = [
        process.recount._to_sent_request(entry, MINUTE)[0] for process in processes for entry in list_recent(process)
    ]

    assert [59.75] * 9 == just_reported


def list_recent(process: Process) -> list[LogEntry]:
    recent = process._local.recent_requests(NOTES.name, LATE_SECONDS)
    return [] if recent is None else recent[1]


@requirement("common-196")
@pytest.mark.parametrize(("failed_ago", "withheld"), [(0.2, 0), (1.2, PROBE_SECONDS)], ids=["away", "frozen"])
async def test_the_share_of_a_short_window_is_used_only_during_a_known_outage(
    processes: list[Process], clock: StoreClock, failed_ago: float, withheld: float
) -> None:
    one, _ = processes
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    reservation = await one.reserve([ResolvedCharge("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 1
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    clock.at += failed_ago

    assert withheld == await reservation.confirm()


@requirement("common-196")
async def test_the_share_of_a_short_window_is_withheld_while_the_store_may_be_available(
    processes: list[Process], clock: StoreClock
) -> None:
    one, _ = processes
    one.enter_degraded_mode(StoreUnavailable("for a test"))
    reservation = await one.reserve([ResolvedCharge("upstream:notes:second:account", Budget(5, 1))], 10)
    clock.at += 0.9
    await one._probe()
    clock.at += 0.2

    # It has waited for longer than the window; others may not have noticed the outage.
    assert PROBE_SECONDS == await reservation.confirm()


async def test_repeated_reports_count_once(processes: list[Process]) -> None:
    one, other = processes
    await report(one, other)
    for process in processes:
        process.recount._recounted = {}
    await report(one, other)

    assert 1 == await one.remaining()


async def test_data_lost_twice_is_reported(
    processes: list[Process], clock: StoreClock, valkey_of_tests: Server
) -> None:
    await report(*processes)
    lose_data(valkey_of_tests, clock)
    await report(*processes)

    assert 1 == await processes[0].remaining()


async def test_a_reservation_from_before_the_loss_is_not_confused_with_another(
    valkey_of_tests: Server, clock: StoreClock, processes: list[Process]
) -> None:
    one, other = processes
    await report(*processes)
    clock.at += 61
    await one.reserve([ResolvedCharge(NOTES.name, MINUTE, 20)], 0)
    waiting = await other.reserve([NOTES], 100)
    lose_data(valkey_of_tests, clock)
    later = await one.reserve([NOTES], 100)
    await report(*processes)
    clock.at += 61

    assert [0, 0] == [await reservation.confirm() for reservation in (waiting, later)]
    assert 18 == await one.remaining()


async def test_local_use_is_reported_once_even_after_a_data_loss(
    processes: list[Process], valkey_of_tests: Server, clock: StoreClock
) -> None:
    one, other = processes
    await report(*processes)
    clock.at += 61
    other.enter_degraded_mode(StoreUnavailable("for a moment"))
    assert 0 == (await other.reserve([ResolvedCharge(NOTES.name, MINUTE, 5)], 0)).wait
    lose_data(valkey_of_tests, clock)
    await other._probe()
    await one.recount.replay()

    assert 5 == await one.remaining()


async def test_a_failed_report_is_repeated_later(
    processes: list[Process], clock: StoreClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = processes
    await report(*processes)
    clock.at += 61
    one.enter_degraded_mode(StoreUnavailable("for a moment"))
    await one.consume(KEY)
    with monkeypatch.context() as patched:
        patched.setattr(ValkeyCounters, "recount", _raise_unavailable)
        with pytest.raises(StoreUnavailable):
            await one.recount.replay()
    await report(*processes)

    assert 19 == await other.remaining(KEY)


async def _raise_unavailable(*_: object) -> None:
    raise StoreUnavailable("for another moment")


async def test_peeking_at_a_budget_does_not_change_its_count(valkey_of_tests: Server, clock: StoreClock) -> None:
    async with store_of(valkey_of_tests, clock) as store:
        await store.consume(ResolvedCharge(KEY.name, MINUTE, 20))
        clock.at += 30
        await store.consume(ResolvedCharge(KEY.name, MINUTE, 0))
        clock.at += 30
        await store.peek(KEY)

        assert 19 == (await store.consume(KEY)).remaining


def test_the_script_counts_the_shares_of_processes_as_used() -> None:
    assert f"local SHARE = {LOCAL_QUOTA}\n" in COUNTING
    assert f"local TELLING = {REPORT_WAIT} * 1000000\n" in COUNTING
