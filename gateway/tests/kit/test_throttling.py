"""Delays that a throttling vendor demands: half a write waits for them, and other calls get an error."""

import pytest

from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import StaticCredentials, VendorServer
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement

TIMEOUTS = Timeouts(queue_seconds=30, run_seconds=120)
TABLE = ErrorTable(lambda _: Reason(), rejections=(VendorRejection({429}, "this test"),))
SUCCESS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def throttled_response(seconds: int) -> bytes:
    return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n" % seconds


async def send_second_request(vendor: VendorServer, *, first_writes: bool, seconds: int) -> float:
    """Return how long the second request of a call, a write, waited for a throttling vendor."""
    vendor.responses += [SUCCESS, throttled_response(seconds), SUCCESS]
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(100, 1)}, "account", LocalCounters(clock), clock)
    async with Transport(5.0) as transport:
        service = UpstreamService(
            {"base": vendor.url}, lambda _: {}, parse_throttle, transport, clock, clock.now, error_table=TABLE
        )
        upstream = UpstreamClient(service, StaticCredentials(), pacer, TIMEOUTS, UpstreamLog())
        await upstream.send("POST", "/search", Charge("all"), writes=first_writes, json={})
        await upstream.send("POST", "/pages", Charge("all"), writes=True, json={})
    return clock.at - NOON


@requirement("common-75")
@pytest.mark.parametrize("seconds", [31, 90])
async def test_a_read_only_call_does_not_wait_for_a_long_delay(vendor: VendorServer, seconds: int) -> None:
    with pytest.raises(UpstreamRateLimited) as error:
        await send_second_request(vendor, first_writes=False, seconds=seconds)

    assert seconds == error.value.retry_after
    assert 2 == len(vendor.requests)


@requirement("common-75")
@pytest.mark.parametrize(("first_writes", "seconds"), [(False, 29), (True, 29), (True, 90)])
async def test_a_short_delay_or_half_a_write_is_waited_for(
    vendor: VendorServer, *, first_writes: bool, seconds: int
) -> None:
    assert seconds == await send_second_request(vendor, first_writes=first_writes, seconds=seconds)
    assert 3 == len(vendor.requests)


async def test_half_a_write_does_not_wait_longer_than_the_limit(vendor: VendorServer) -> None:
    with pytest.raises(UpstreamRateLimited):
        await send_second_request(vendor, first_writes=True, seconds=121)
