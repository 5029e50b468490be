"""The time that a call may take: from its arrival for requests that change nothing, without an end for half a write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import UpstreamRateLimited, UpstreamTimeout
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import StaticCredentials, VendorServer
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement

SUCCESS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Caller:
    """A call that arrived at noon, and others that use the budget of one request in ten seconds."""

    def __init__(self, upstream: UpstreamClient, pacer: ConnectionPacer, clock: ManualClock) -> None:
        self.upstream = upstream
        self.clock = clock
        self._pacer = pacer

    async def send(self, *, writes: bool = False) -> float:
        """Send a request and return the seconds since noon."""
        await self.upstream.send("POST", "/pages", Charge("all"), writes=writes, json={})
        return self.clock.at - NOON

    async def block(self, seconds: float) -> None:
        await self._pacer.block([Charge("all")], seconds)


@asynccontextmanager
async def arrived_call(vendor: VendorServer) -> AsyncIterator[Caller]:
    vendor.responses += [SUCCESS] * 4
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(1, 10)}, "account", LocalCounters(clock), clock)
    async with Transport(5.0) as transport:
        service = UpstreamService({"base": vendor.url}, lambda _: {}, parse_throttle, transport, clock, clock.now)
        timeouts = Timeouts(queue_seconds=30, run_seconds=120)
        upstream = UpstreamClient(service, StaticCredentials(), pacer, timeouts, UpstreamLog(), arrived_at=NOON)
        yield Caller(upstream, pacer, clock)


@requirement("common-234")
async def test_requests_of_a_call_may_take_the_queue_time_in_all_and_their_own(vendor: VendorServer) -> None:
    async with arrived_call(vendor) as caller:
        await caller.block(25)
        sent_at = [await caller.send(), await caller.send()]
        await caller.block(9)
        sent_at.append(await caller.send())
        await caller.block(25)
        with pytest.raises(UpstreamRateLimited) as raised:
            await caller.send()

    assert [25, 35, 45] == sent_at
    assert 25 == raised.value.retry_after
    assert 45 == caller.clock.at - NOON


@requirement("common-234")
async def test_waiting_for_the_vendor_and_for_other_calls_on_the_object_does_not_count(vendor: VendorServer) -> None:
    async with arrived_call(vendor) as caller:
        caller.clock.at += 50
        caller.upstream.locked_seconds = 50
        await caller.block(28)

        assert 78 == await caller.send()


@requirement("common-234")
async def test_a_call_that_has_taken_too_long_sends_nothing_more(vendor: VendorServer) -> None:
    async with arrived_call(vendor) as caller:
        await caller.send()
        caller.clock.at = NOON + 120
        with pytest.raises(UpstreamTimeout):
            await caller.send()

    assert 1 == len(vendor.requests)


@requirement("common-234")
async def test_a_write_that_has_changed_something_continues(vendor: VendorServer) -> None:
    async with arrived_call(vendor) as caller:
        await caller.send(writes=True)
        caller.clock.at = NOON + 120
        await caller.block(100)

        assert 220 == await caller.send(writes=True)
