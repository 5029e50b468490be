"""A request that cannot leave soon after its turn waits for it again: it would be in a window of others."""

from typing import Any

import pytest

from connector_gateway.core.pacing.request_pacer import ConnectionPacer
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport, UpstreamResponse
from connector_gateway.storage.shared.memory import LocalCounters
from gateway.tests.kit.third import Door, Third
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement


class Frozen(Transport):
    """The pool of a process that stands still before its first request leaves; others use the budget meanwhile."""

    def __init__(self, clock: ManualClock, pacer: ConnectionPacer, seconds: float, others: int) -> None:
        super().__init__(5.0)
        self._clock = clock
        self._pacer = pacer
        self._before = [(seconds, others)]

    async def send(self, *arguments: Any, **named: Any) -> UpstreamResponse:
        for seconds, others in self._before:
            self._clock.at += seconds
            await self._pacer.acquire([Charge("all", units=others)], Deadline(self._clock.at))
        self._before = []
        return await super().send(*arguments, **named)


async def sent(third: Third, frozen: float, others: int) -> tuple[float, UpstreamClient]:
    """How many seconds after noon a write was answered whose process stood still for so long."""
    third.answers.append(b"HTTP/1.1 204 No Content\r\n\r\n")
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(3, 1)}, "account", LocalCounters(clock), clock)
    async with Frozen(clock, pacer, frozen, others) as transport:
        third_party = UpstreamService(
            {"base": third.address}, lambda _: {}, parse_throttle, transport, clock, clock.now
        )
        upstream = UpstreamClient(third_party, Door(), pacer, Timeouts(), UpstreamLog())
        await upstream.send("POST", "/pages", Charge("all"), writes=True, json={})
    return clock.at - NOON, upstream


@requirement("common-220")
@pytest.mark.parametrize(("frozen", "others", "left_at"), [(0, 2, 0), (0.5, 2, 0.5), (8, 2, 8), (8, 3, 9)])
async def test_a_request_of_a_paused_process_leaves_in_a_window_with_capacity(
    third: Third, frozen: float, others: int, left_at: float
) -> None:
    left, upstream = await sent(third, frozen, others)

    assert left_at == left
    assert (1, 1) == (len(third.requests), len(upstream.log.requests))


async def test_a_request_whose_process_stood_still_for_too_long_is_not_sent(third: Third) -> None:
    with pytest.raises(UpstreamRateLimited):
        await sent(third, 31, 3)

    assert [] == third.requests
