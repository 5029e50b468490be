"""Requests that go out straight on the pool's connections, against a server that speaks plain bytes."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import aiohttp
import pytest
from yarl import URL

from connector_gateway.kit.upstream import http_origin as origins
from connector_gateway.kit.upstream.http_origin import HttpOrigin, SendWindowMissed
from connector_gateway.kit.upstream.memory_budget import unmetered
from connector_gateway.kit.upstream.pool import ConnectionLost, NotSent, TimedOut, TooLarge, Transport, UpstreamResponse
from gateway.tests.kit.third import OK, Third, address_of

BEARER = {"Authorization": "Bearer t"}


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    async with Transport(5.0) as transport:
        yield transport


def fields_of(request: bytes) -> tuple[str, set[str], bytes]:
    """The first line, the headers in any order and spelling, and the body."""
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
async def test_a_request_is_that_which_the_session_would_send(
    third: Third, transport: Transport, method: str, headers: dict[str, str], body: bytes | None
) -> None:
    url = f"{third.address}/a%2Fb?q=%20x&q=1"
    await transport.send(method, url, headers, body)
    async with aiohttp.ClientSession(headers={"User-Agent": "connector-gateway"}) as session:
        await session.request(method, URL(url, encoded=True), headers=headers, data=body)

    assert fields_of(third.requests[1]) == fields_of(third.requests[0])


async def test_an_answer_has_status_headers_and_body(third: Third, transport: Transport) -> None:
    third.answers = [b"HTTP/1.1 404 Gone\r\ncontent-length: 3\r\nDate: now\r\n\r\nno!"]
    answer = await transport.send("GET", f"{third.address}/x", BEARER, None)

    assert (404, "now", b"no!") == (answer.status, answer.headers.get("date"), answer.body)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + gzip.compress(b"ok", mtime=0),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
    ids=["chunked", "compressed", "announced"],
)
async def test_an_answer_is_read_however_it_is_framed(third: Third, transport: Transport, answer: bytes) -> None:
    third.answers = [answer]
    answers = [await transport.send("GET", f"{third.address}/x", BEARER, None) for _ in range(2)]

    assert [(200, b"ok"), (200, b"ok")] == [(answer.status, answer.body) for answer in answers]
    assert 1 == third.connections


@pytest.mark.parametrize("size", [1, 2 * 1024 * 1024])
async def test_a_request_late_after_connecting_is_not_sent(third: Third, transport: Transport, size: int) -> None:
    with pytest.raises(SendWindowMissed):
        await transport.send("POST", f"{third.address}/late", BEARER, b"x" * size, stale=lambda: True)
    await transport.send("GET", f"{third.address}/next", BEARER, None)

    assert (1, 1) == (third.connections, len(third.requests))


async def test_an_answer_without_length_ends_with_its_connection(third: Third, transport: Transport) -> None:
    third.answers, third.closes = [b"HTTP/1.1 200 OK\r\n\r\nok"], True
    answers = [await transport.send("GET", f"{third.address}/x", BEARER, None) for _ in range(2)]

    assert [b"ok", b"ok"] == [answer.body for answer in answers]
    assert 2 == third.connections


@pytest.mark.parametrize(
    "answer", [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK + OK], ids=["end", "more"]
)
async def test_a_connection_is_not_used_again_after_more_than_an_answer_or_its_end(
    third: Third, transport: Transport, answer: bytes
) -> None:
    third.answers = [answer]
    await transport.send("GET", f"{third.address}/1", BEARER, None)
    await transport.send("GET", f"{third.address}/2", BEARER, None)

    assert 2 == third.connections


async def exchanged(transport: Transport, url: str) -> UpstreamResponse:
    return await transport.send("POST", url, BEARER, b"{}")


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", b"HELLO\r\n\r\n", b"HTTP/1.1 200 OK\r\nA\r\n\r\n"],
)
async def test_an_answer_that_breaks_off_or_is_none_is_a_cut(third: Third, transport: Transport, answer: bytes) -> None:
    third.answers, third.closes = [answer], True

    with pytest.raises(ConnectionLost):
        await exchanged(transport, f"{third.address}/x")


@pytest.mark.parametrize(
    ("body", "is_json"),
    [(b'{"a": "\xc3\xa4"}', True), (b"5", True), (b" null ", False), (b"", False), (b"[1,", False), (b'"\xff"', False)],
)
def test_a_body_is_json_or_not(body: bytes, *, is_json: bool) -> None:
    assert is_json == UpstreamResponse(200, {}, body).is_json


async def test_nothing_was_sent_to_a_closed_port(third: Third, transport: Transport) -> None:
    with pytest.raises(NotSent):
        await exchanged(transport, "http://127.0.0.1:1/x")


async def test_a_silent_request_times_out_and_closes_its_connection(third: Third) -> None:
    third.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"]
    async with Transport(0.05) as transport:
        with pytest.raises(TimedOut):
            await exchanged(transport, f"{third.address}/x")
        await exchanged(transport, f"{third.address}/x")

    assert 2 == third.connections


@pytest.mark.parametrize("framing", ["Content-Length: 4000", "X-None: 1"], ids=["told", "untold"])
async def test_a_too_large_response_is_rejected(
    third: Third, transport: Transport, monkeypatch: pytest.MonkeyPatch, framing: str
) -> None:
    monkeypatch.setattr(origins, "MAX_RESPONSE_BYTES", 1000)
    third.answers, third.closes = [f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode() + b"x" * 3000], True

    with pytest.raises(TooLarge):
        await exchanged(transport, f"{third.address}/x")


@pytest.mark.parametrize("text", ["a\r\nX-More: b", "a\nb", "a\rb", "a\x00b", "a\x7fb"])
@pytest.mark.parametrize("position", ["header", "target", "method"])
async def test_no_value_becomes_a_line_of_its_own(third: Third, transport: Transport, text: str, position: str) -> None:
    headers = {"X-Value": text if position == "header" else "v"}
    target = text if position == "target" else "v"

    with pytest.raises(ValueError, match="control characters"):
        await transport.send(text if position == "method" else "GET", f"{third.address}/{target}", headers, None)
    assert [] == third.requests


async def test_a_connection_on_which_a_request_still_goes_out_is_not_used_again(third: Third) -> None:
    gate = asyncio.Event()

    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        third.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await gate.wait()
        writer.close()

    server = await asyncio.start_server(early, "127.0.0.1", 0, limit=1024)
    address = address_of(server)
    async with aiohttp.ClientSession() as session:
        origin = HttpOrigin(session, address)
        await origin.send("POST", "/x", {}, b"x" * 16 * 1024 * 1024, unmetered())
        await origin.send("GET", "/x", {}, None, unmetered())
    gate.set()
    server.close()

    assert 2 == third.connections
