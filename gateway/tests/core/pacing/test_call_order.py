"""Calls of several requests in one queue, in virtual time: their order, their waits, and what they are told."""

import asyncio
from collections.abc import Callable

import pytest

from connector_gateway.core.pacing.call_costs import CallCost
from connector_gateway.core.pacing.pacer import BackgroundPacer
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Deadline
from connector_gateway.storage.shared.interface import CallPosition
from gateway.tests.core.pacing.paced_vendor import BURST, ONE, QUEUE_SECONDS, VENDOR_SECONDS, PacedVendor
from harness.clocks import NOON, run_in_virtual_time
from harness.requirement import requirement


def run(scenario: Callable[[PacedVendor], object], vendor: PacedVendor | None = None) -> PacedVendor:
    vendor = vendor or PacedVendor()
    run_in_virtual_time(scenario(vendor))  # type: ignore[arg-type]
    return vendor


@requirement("common-76")
def test_the_next_request_of_a_running_call_precedes_later_calls() -> None:
    vendor = run(lambda vendor: vendor.start_calls(*[4] * 10))

    spans = [
        (min(times), max(times))
        for call in vendor.calls
        if (times := [at for number, at in vendor.sent if number == call.number])
    ]
    running = [sum(first <= at <= last for first, last in spans) for _, at in vendor.sent]

    assert 10 == len(vendor.served)
    assert sorted(spans) == spans
    assert [last for _, last in spans] == sorted(last for _, last in spans)
    # While responses are awaited, the next calls use the budget.
    assert max(running) <= 4


@requirement("common-77")
def test_a_burst_is_served_in_time_or_rejected_immediately_with_the_true_wait() -> None:
    vendor = run(lambda vendor: vendor.start_calls(*BURST))

    vendor.check_burst(len(BURST))


@requirement("common-76")
def test_calls_are_served_sooner_than_in_a_queue_of_requests() -> None:
    by_call, by_request = (
        run(lambda vendor: vendor.start_calls(*[4] * 20), PacedVendor(by_request=by_request, queue_seconds=1000))
        for by_request in (False, True)
    )

    assert (20, 20) == (len(by_call.served), len(by_request.served))
    assert by_call.mean_seconds < 0.7 * by_request.mean_seconds


@requirement("common-77")
def test_later_calls_do_not_delay_earlier_ones() -> None:
    async def arrive(vendor: PacedVendor) -> None:
        first = [asyncio.create_task(vendor.call(4)) for _ in range(10)]
        await vendor.clock.sleep(1)
        rest = [asyncio.create_task(_endless_calls(vendor)) for _ in range(5)]
        await asyncio.gather(*first)
        for task in rest:
            task.cancel()

    vendor = run(arrive)
    ends = [call.ended_at for call in vendor.calls[:10]]

    assert sorted(ends) == ends
    # Others use the budget while a response is awaited, so that each request may miss one window.
    assert vendor.calls[9].seconds <= 40 / 3 + 4


async def _endless_calls(vendor: PacedVendor) -> None:
    while True:
        await vendor.call(1)
        await vendor.clock.sleep(0.01)


@requirement("common-77")
def test_a_call_delayed_by_more_requests_than_expected_is_rejected_before_it_sends_any() -> None:
    async def arrive(vendor: PacedVendor) -> None:
        await asyncio.gather(*(vendor.call(10, expected=1) for _ in range(30)))

    vendor = run(arrive)
    senders = {number for number, _ in vendor.sent}

    assert max(call.seconds for call in vendor.calls) <= QUEUE_SECONDS + 10 / 3 + 10 * VENDOR_SECONDS
    assert len([call for call in vendor.rejected if call.number in senders]) <= 3
    assert len(vendor.rejected) >= 19


@requirement("common-76")
def test_a_caller_that_disconnects_releases_its_place_at_once() -> None:
    async def leave(vendor: PacedVendor) -> None:
        tasks = [asyncio.create_task(vendor.call(1)) for _ in range(12)]
        await vendor.clock.sleep(0.5)
        for number in (3, 4, 7):
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    vendor = run(leave)

    assert [0, 1, 2, 5, 6, 8, 9, 10, 11] == [number for number, _ in vendor.sent]
    assert vendor.sent[-1][1] < 2.5


@requirement("common-236")
@pytest.mark.parametrize("end", ["the caller disconnects", "the look-up fails"])
def test_a_call_that_waits_for_a_look_up_is_counted_until_that_ends(end: str) -> None:
    async def leave(vendor: PacedVendor) -> None:
        lookup: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await asyncio.gather(*(vendor.call(1) for _ in range(3)))
        pacer = vendor.pacer(CallCost(CallPosition(vendor.clock.now()), typical={"all": 300}))
        waiting = asyncio.ensure_future(pacer.wait_for_lookup(lookup, Deadline(vendor.clock.now() + QUEUE_SECONDS)))
        await vendor.clock.sleep(0.5)
        await vendor.call(1)
        if end == "the look-up fails":
            lookup.set_exception(UpstreamRateLimited("The queue is full."))
        else:
            waiting.cancel()
        await asyncio.wait({waiting})
        await vendor.call(1)

    vendor = run(leave)

    assert [3] == [call.number for call in vendor.rejected]
    assert 100 <= (vendor.calls[3].retry_after or 0) <= 102


@requirement("common-75")
def test_a_block_ends_calls_that_cannot_wait_for_it_and_keeps_the_order_of_others() -> None:
    async def block(vendor: PacedVendor) -> None:
        running = [asyncio.create_task(vendor.call(4)) for _ in range(5)]
        await vendor.clock.sleep(0.5)
        impatient = asyncio.create_task(vendor.call(1, queue_seconds=15))
        await vendor.block(20)
        await asyncio.gather(*running, impatient)

    vendor = run(block)
    resumed = [number for number, at in vendor.sent if at >= 20.5]
    ends = [call.ended_at for call in vendor.calls[:5]]

    assert [0, 1, 2] == resumed[:3]
    assert sorted(ends) == ends
    assert [5] == [call.number for call in vendor.rejected]
    assert vendor.calls[5].seconds == 0
    # The block, and then 17 requests of the calls before it.
    assert 25 <= (vendor.calls[5].retry_after or 0) <= 27


@requirement("common-75")
def test_queued_calls_learn_of_a_block_at_once() -> None:
    async def block(vendor: PacedVendor) -> None:
        calls = [asyncio.create_task(vendor.call(4)) for _ in range(10)]
        await vendor.clock.sleep(0.5)
        await vendor.block(60)
        await asyncio.gather(*calls)

    vendor = run(block)

    assert 10 == len(vendor.rejected)
    assert max(call.seconds for call in vendor.rejected) <= 1
    assert all(59 <= (call.retry_after or 0) <= 60 for call in vendor.rejected)


@requirement("common-108")
def test_a_poll_that_joins_the_queue_is_behind_the_calls_in_it() -> None:
    async def poll(vendor: PacedVendor) -> None:
        pacer = BackgroundPacer("notes", vendor.budgets, "account", vendor.processes[0], vendor.clock)
        calls = asyncio.create_task(vendor.start_calls(*[2] * 43))
        await vendor.clock.sleep(0.5)
        await pacer.acquire([ONE], Deadline(NOON + 300))
        vendor.sent.append((-1, vendor.clock.now() - NOON))
        await calls

    vendor = run(poll)
    polled_at = next(at for number, at in vendor.sent if number == -1)

    # A call whose response is awaited can miss one window.
    assert [] == [number for number, at in vendor.sent if at > polled_at + 1]
