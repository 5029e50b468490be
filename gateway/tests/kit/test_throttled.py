"""A third party that tells when to come back: who has written something waits for that, and others are told."""

import pytest

from connector_gateway.core.pacing.request_pacer import ConnectionPacer
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.errors.table import ErrorTable, Reason, Rejection
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.memory import LocalCounters
from gateway.tests.kit.third import Door, Third
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement

TIMES = Timeouts(queue_seconds=30, run_seconds=120)
TABLE = ErrorTable(lambda _: Reason(), rejections=(Rejection({429}, "this test"),))
DONE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def throttled_response(seconds: int) -> bytes:
    return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n" % seconds


async def second(third: Third, *, first_writes: bool, seconds: int) -> float:
    """How long a call's second request, which writes, has waited when a vendor tells it to come back later."""
    third.answers += [DONE, throttled_response(seconds), DONE]
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(100, 1)}, "account", LocalCounters(clock), clock)
    async with Transport(5.0) as transport:
        third_party = UpstreamService(
            {"base": third.address}, lambda _: {}, parse_throttle, transport, clock, clock.now, error_table=TABLE
        )
        upstream = UpstreamClient(third_party, Door(), pacer, TIMES, UpstreamLog())
        await upstream.send("POST", "/search", Charge("all"), writes=first_writes, json={})
        await upstream.send("POST", "/pages", Charge("all"), writes=True, json={})
    return clock.at - NOON


@requirement("common-75")
@pytest.mark.parametrize("seconds", [30, 90])
async def test_a_read_only_call_fails_immediately_on_a_long_wait(third: Third, seconds: int) -> None:
    with pytest.raises(UpstreamRateLimited) as error:
        await second(third, first_writes=False, seconds=seconds)

    assert seconds == error.value.retry_after
    assert 2 == len(third.requests)


@requirement("common-75")
@pytest.mark.parametrize(("first_writes", "seconds"), [(False, 29), (True, 29), (True, 90)])
async def test_a_short_wait_and_half_a_write_are_waited_for(third: Third, *, first_writes: bool, seconds: int) -> None:
    assert seconds == await second(third, first_writes=first_writes, seconds=seconds)
    assert 3 == len(third.requests)


async def test_half_a_write_is_not_waited_for_for_ever(third: Third) -> None:
    with pytest.raises(UpstreamRateLimited):
        await second(third, first_writes=True, seconds=120)
