"""A call that loses a response on purpose loses that of its first write, after the vendor has received it."""

from collections.abc import AsyncIterator

import pytest

from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import OutcomeUnknown
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.lost_responses import ResponseLosingClient
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import StaticCredentials, VendorServer
from harness.clocks import ManualClock
from harness.requirement import requirement


@pytest.fixture
async def client(vendor: VendorServer) -> AsyncIterator[ResponseLosingClient]:
    clock = ManualClock()
    async with Transport(5.0) as transport:
        pacer = ConnectionPacer("notes", {"all": Budget(100, 1)}, "account", LocalCounters(clock), clock)
        service = UpstreamService({"base": vendor.url}, lambda _: {}, parse_throttle, transport, clock, clock.now)
        yield ResponseLosingClient(service, StaticCredentials(), pacer, Timeouts(), UpstreamLog())


@requirement("requests-17")
async def test_the_response_to_the_first_write_is_lost_after_it_was_sent(
    client: ResponseLosingClient, vendor: VendorServer
) -> None:
    vendor.responses = [b"HTTP/1.1 204 No Content\r\n\r\n"] * 3

    await client.send("GET", "/read", Charge("all"), writes=False)
    with pytest.raises(OutcomeUnknown) as caught:
        await client.send("POST", "/write", Charge("all"), writes=True, content=b"a" * 100_000)
    response = await client.send("POST", "/write", Charge("all"), writes=True)

    assert ("cut", 204) == (caught.value.doubt, response.status)
    assert [b"GET /read", b"POST /write", b"POST /write"] == [one.partition(b" HTTP")[0] for one in vendor.requests]
    assert [0, 100_000, 0] == [one.count(b"a" * 100_000) * 100_000 for one in vendor.requests]


@requirement("requests-17")
async def test_a_response_that_proves_that_nothing_was_done_is_lost_too(
    client: ResponseLosingClient, vendor: VendorServer
) -> None:
    vendor.responses = [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]

    with pytest.raises(OutcomeUnknown):
        await client.send("POST", "/write", Charge("all"), writes=True)
