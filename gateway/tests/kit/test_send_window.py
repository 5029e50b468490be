"""A request that misses its send window waits for another, because others have used the first."""

from typing import Any

import pytest

from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport, UpstreamResponse
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import StaticCredentials, VendorServer
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement


class PausedTransport(Transport):
    """The pool of a process that is paused before its first request is sent, while others use the budget."""

    def __init__(self, clock: ManualClock, pacer: ConnectionPacer, seconds: float, other_units: int) -> None:
        super().__init__(5.0)
        self._clock = clock
        self._pacer = pacer
        self._pauses = [(seconds, other_units)]

    async def send(self, *arguments: Any, **named: Any) -> UpstreamResponse:
        for seconds, other_units in self._pauses:
            self._clock.at += seconds
            await self._pacer.acquire([Charge("all", units=other_units)], Deadline(self._clock.at))
        self._pauses = []
        return await super().send(*arguments, **named)


async def send_write(vendor: VendorServer, pause_seconds: float, other_units: int) -> tuple[float, UpstreamClient]:
    """Return how many seconds after noon a write of the paused process was sent, and its client."""
    vendor.responses.append(b"HTTP/1.1 204 No Content\r\n\r\n")
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(3, 1)}, "account", LocalCounters(clock), clock)
    async with PausedTransport(clock, pacer, pause_seconds, other_units) as transport:
        service = UpstreamService({"base": vendor.url}, lambda _: {}, parse_throttle, transport, clock, clock.now)
        upstream = UpstreamClient(service, StaticCredentials(), pacer, Timeouts(), UpstreamLog())
        await upstream.send("POST", "/pages", Charge("all"), writes=True, json={})
    return clock.at - NOON, upstream


@requirement("common-220")
@pytest.mark.parametrize(
    ("pause_seconds", "other_units", "expected_at"), [(0, 2, 0), (0.5, 2, 0.5), (8, 2, 8), (8, 3, 9)]
)
async def test_a_paused_process_sends_its_request_in_a_window_with_capacity(
    vendor: VendorServer, pause_seconds: float, other_units: int, expected_at: float
) -> None:
    sent_at, upstream = await send_write(vendor, pause_seconds, other_units)

    assert expected_at == sent_at
    assert (1, 1) == (len(vendor.requests), len(upstream.log.requests))


async def test_a_process_paused_for_too_long_does_not_send_its_request(vendor: VendorServer) -> None:
    with pytest.raises(UpstreamRateLimited):
        await send_write(vendor, 31, 3)

    assert [] == vendor.requests
