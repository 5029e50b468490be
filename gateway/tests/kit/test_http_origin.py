"""Requests on the pool's connections, to a server that sends plain bytes."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import aiohttp
import pytest
from yarl import URL

from connector_gateway.kit.upstream import http_origin
from connector_gateway.kit.upstream.http_origin import HttpOrigin, SendWindowMissed
from connector_gateway.kit.upstream.memory_budget import unmetered
from connector_gateway.kit.upstream.pool import ConnectionLost, NotSent, TimedOut, TooLarge, Transport, UpstreamResponse
from gateway.tests.kit.vendor_server import OK, VendorServer, server_url

BEARER = {"Authorization": "Bearer t"}


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport(5.0) as transport:
        yield transport


def split_request(request: bytes) -> tuple[str, set[str], bytes]:
    """Return the first line, the headers without order and case, and the body."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *fields = head.decode().split("\r\n")
    return (
        first,
        {f"{name.lower()}:{value}" for name, _, value in (field.partition(":") for field in fields)},
        body,
    )


@pytest.mark.parametrize(
    ("method", "headers", "body"),
    [
        ("GET", BEARER, None),
        ("DELETE", BEARER, None),
        ("POST", BEARER, None),
        ("POST", {**BEARER, "Content-Type": "application/json"}, b'{"a": 1}'),
        ("PATCH", {"User-Agent": "another", "accept": "text/html"}, b""),
        ("PUT", {"X-Name": "größer", "X-Tab": "a\tb"}, b"\x00\r\n\xff"),
    ],
)
async def test_a_request_equals_that_of_a_session(
    vendor: VendorServer, transport: Transport, method: str, headers: dict[str, str], body: bytes | None
) -> None:
    url = f"{vendor.url}/a%2Fb?q=%20x&q=1"
    await transport.send(method, url, headers, body)
    async with aiohttp.ClientSession(headers={"User-Agent": "connector-gateway"}) as session:
        await session.request(method, URL(url, encoded=True), headers=headers, data=body)

    assert split_request(vendor.requests[1]) == split_request(vendor.requests[0])


async def test_a_response_has_status_headers_and_body(vendor: VendorServer, transport: Transport) -> None:
    vendor.responses = [b"HTTP/1.1 404 Gone\r\ncontent-length: 3\r\nDate: now\r\n\r\nno!"]
    response = await transport.send("GET", f"{vendor.url}/x", BEARER, None)

    assert (404, "now", b"no!") == (response.status, response.headers.get("date"), response.body)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + gzip.compress(b"ok", mtime=0),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
    ids=["chunked", "compressed", "announced"],
)
async def test_a_response_is_read_with_any_framing(vendor: VendorServer, transport: Transport, response: bytes) -> None:
    vendor.responses = [response]
    responses = [await transport.send("GET", f"{vendor.url}/x", BEARER, None) for _ in range(2)]

    assert [(200, b"ok"), (200, b"ok")] == [(response.status, response.body) for response in responses]
    assert 1 == vendor.connections


@pytest.mark.parametrize("size", [1, 2 * 1024 * 1024])
async def test_a_request_that_is_late_after_connecting_is_not_sent(
    vendor: VendorServer, transport: Transport, size: int
) -> None:
    with pytest.raises(SendWindowMissed):
        await transport.send("POST", f"{vendor.url}/late", BEARER, b"x" * size, begin=lambda: False)
    await transport.send("GET", f"{vendor.url}/next", BEARER, None)

    assert (1, 1) == (vendor.connections, len(vendor.requests))


async def test_a_response_without_length_ends_with_its_connection(vendor: VendorServer, transport: Transport) -> None:
    vendor.responses, vendor.closes_after_response = [b"HTTP/1.1 200 OK\r\n\r\nok"], True
    responses = [await transport.send("GET", f"{vendor.url}/x", BEARER, None) for _ in range(2)]

    assert [b"ok", b"ok"] == [response.body for response in responses]
    assert 2 == vendor.connections


@pytest.mark.parametrize(
    "response", [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK + OK], ids=["close", "extra"]
)
async def test_a_connection_is_not_reused_after_extra_bytes_or_connection_close(
    vendor: VendorServer, transport: Transport, response: bytes
) -> None:
    vendor.responses = [response]
    await transport.send("GET", f"{vendor.url}/1", BEARER, None)
    await transport.send("GET", f"{vendor.url}/2", BEARER, None)

    assert 2 == vendor.connections


async def send(transport: Transport, url: str) -> UpstreamResponse:
    return await transport.send("POST", url, BEARER, b"{}")


@pytest.mark.parametrize(
    "response",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", b"HELLO\r\n\r\n", b"HTTP/1.1 200 OK\r\nA\r\n\r\n"],
)
async def test_an_incomplete_or_invalid_response_is_a_lost_connection(
    vendor: VendorServer, transport: Transport, response: bytes
) -> None:
    vendor.responses, vendor.closes_after_response = [response], True

    with pytest.raises(ConnectionLost):
        await send(transport, f"{vendor.url}/x")


@pytest.mark.parametrize(
    ("body", "is_json"),
    [(b'{"a": "\xc3\xa4"}', True), (b"5", True), (b" null ", False), (b"", False), (b"[1,", False), (b'"\xff"', False)],
)
def test_is_json_reports_whether_the_body_is_json(body: bytes, *, is_json: bool) -> None:
    assert is_json == UpstreamResponse(200, {}, body).is_json


async def test_a_request_to_a_closed_port_was_not_sent(vendor: VendorServer, transport: Transport) -> None:
    with pytest.raises(NotSent):
        await send(transport, "http://127.0.0.1:1/x")


async def test_a_silent_request_times_out_and_closes_its_connection(vendor: VendorServer) -> None:
    vendor.responses = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"]
    async with Transport(0.05) as transport:
        with pytest.raises(TimedOut):
            await send(transport, f"{vendor.url}/x")
        await send(transport, f"{vendor.url}/x")

    assert 2 == vendor.connections


@pytest.mark.parametrize("framing", ["Content-Length: 4000", "X-None: 1"], ids=["length", "no length"])
async def test_a_too_large_response_is_rejected(
    vendor: VendorServer, transport: Transport, monkeypatch: pytest.MonkeyPatch, framing: str
) -> None:
    monkeypatch.setattr(http_origin, "MAX_RESPONSE_BYTES", 1000)
    vendor.responses, vendor.closes_after_response = (
        [f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode() + b"x" * 3000],
        True,
    )

    with pytest.raises(TooLarge):
        await send(transport, f"{vendor.url}/x")


@pytest.mark.parametrize("text", ["a\r\nX-More: b", "a\nb", "a\rb", "a\x00b", "a\x7fb"])
@pytest.mark.parametrize("position", ["header", "target", "method"])
async def test_control_characters_in_a_request_are_rejected(
    vendor: VendorServer, transport: Transport, text: str, position: str
) -> None:
    headers = {"X-Value": text if position == "header" else "v"}
    target = text if position == "target" else "v"

    with pytest.raises(ValueError, match="control characters"):
        await transport.send(text if position == "method" else "GET", f"{vendor.url}/{target}", headers, None)
    assert [] == vendor.requests


async def test_a_connection_is_not_reused_before_its_request_is_sent(vendor: VendorServer) -> None:
    gate = asyncio.Event()

    async def respond_early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        vendor.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await gate.wait()
        writer.close()

    server = await asyncio.start_server(respond_early, "127.0.0.1", 0, limit=1024)
    url = server_url(server)
    async with aiohttp.ClientSession() as session:
        origin = HttpOrigin(session, url)
        await origin.send("POST", "/x", {}, b"x" * 16 * 1024 * 1024, unmetered())
        await origin.send("GET", "/x", {}, None, unmetered())
    gate.set()
    server.close()

    assert 2 == vendor.connections
