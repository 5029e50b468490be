"""Requests that callers write themselves are sent again only if nothing was done."""

from collections.abc import AsyncIterator, Mapping

import pytest

from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import OutcomeUnknown, ResponseTooLarge, UpstreamError, UpstreamFailure
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import VendorServer
from harness.clocks import ManualClock
from harness.requirement import requirement

EXPIRED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
REJECTED = ErrorTable(parse_reason=lambda _: Reason("expired"), rejections=[VendorRejection({401}, "the test")])
NO_TABLE = ErrorTable()


class RefreshedCredentials:
    """A token that can be refreshed any number of times."""

    def __init__(self) -> None:
        self.number = 1

    async def credentials(self) -> Mapping[str, str]:
        return {"token": f"token-{self.number}"}

    async def refresh(self, _: Mapping[str, str]) -> bool:
        self.number += 1
        return True


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport(5.0) as transport:
        yield transport


def client(vendor: VendorServer, transport: Transport, table: ErrorTable) -> UpstreamClient:
    clock = ManualClock()
    pacer = ConnectionPacer("notes", {"all": Budget(100, 1)}, "account", LocalCounters(clock), clock)
    service = UpstreamService(
        {"base": vendor.url},
        lambda secrets: {"Authorization": secrets["token"]},
        parse_throttle,
        transport,
        clock,
        clock.now,
        error_table=table,
    )
    return UpstreamClient(service, RefreshedCredentials(), pacer, Timeouts(), UpstreamLog())


@requirement("requests-4")
@pytest.mark.parametrize(
    ("writes", "table", "attempts"), [(False, NO_TABLE, 2), (True, REJECTED, 2), (True, NO_TABLE, 1)]
)
async def test_a_request_is_sent_again_once_with_a_new_token(
    vendor: VendorServer, transport: Transport, table: ErrorTable, attempts: int, *, writes: bool
) -> None:
    vendor.responses += [EXPIRED] * 3
    response = await client(vendor, transport, table).send_verbatim("POST", "/a", Charge("all"), writes=writes)

    assert 401 == response.status
    assert attempts == len(vendor.requests)
    assert f"token-{attempts}".encode() in vendor.requests[-1]


@requirement("requests-8")
async def test_a_request_without_a_response_is_sent_once(vendor: VendorServer, transport: Transport) -> None:
    vendor.closes_after_response = True
    vendor.responses += [b"HTTP/1.1 "] * 2
    upstream = client(vendor, transport, NO_TABLE)

    with pytest.raises(OutcomeUnknown):
        await upstream.send_verbatim("POST", "/a", Charge("all"), writes=True)
    with pytest.raises(UpstreamError):
        await upstream.send_verbatim("GET", "/a", Charge("all"), writes=False)
    assert 2 == len(vendor.requests)


@requirement("requests-7")
@pytest.mark.parametrize(("writes", "error"), [(False, ResponseTooLarge), (True, OutcomeUnknown)])
async def test_a_response_of_50_mib_is_not_read(
    vendor: VendorServer, transport: Transport, error: type[UpstreamFailure], *, writes: bool
) -> None:
    size = 50 * 1024 * 1024
    vendor.responses.append(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))

    with pytest.raises(error):
        await client(vendor, transport, NO_TABLE).send_verbatim("POST", "/a", Charge("all"), writes=writes)
    assert 1 == len(vendor.requests)
