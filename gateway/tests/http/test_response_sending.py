"""Sending of response bodies, in one or several pieces."""

from typing import Any

import pytest
from starlette.types import Message

from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.responses import HttpResponse, send_response
from harness.requirement import requirement


class RecordingClient:
    """A client that records its reserved bytes."""

    body_overdue = False

    def __init__(self) -> None:
        self.noted: list[int] = []

    def reserve_buffer(self, size_bytes: int) -> None:
        self.noted.append(size_bytes)

    def release(self) -> None:
        self.noted.append(0)

    async def drain(self) -> None:
        """Return immediately, like a client that reads everything."""


async def send_to_list(
    answer: HttpResponse, method: str = "GET", client: RecordingClient | None = None
) -> list[dict[str, Any]]:
    """Return the messages in which *answer* is sent."""
    messages: list[dict[str, Any]] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        messages.append(dict(message))

    scope = {"type": "http", "method": method, "headers": [], "state": {"client": client or RecordingClient()}}
    await send_response(RequestContext(scope, receive), answer, send)
    return messages


async def test_a_body_in_one_piece_is_sent_in_one_message() -> None:
    start, *bodies = await send_to_list(HttpResponse(200, b"{}"))

    assert (b"content-length", b"3") in start["headers"]
    assert [{"type": "http.response.body", "body": b"{}\n"}] == bodies


async def test_a_body_in_pieces_is_sent_in_pieces() -> None:
    start, *bodies = await send_to_list(HttpResponse(200, b'{"a":"', more=[b"long", b'"}']))

    assert (b"content-length", b"13") in start["headers"]
    assert [(b'{"a":"', True), (b"long", True), (b'"}', True), (b"\n", True), (b"", False)] == [
        (bytes(message["body"]), message.get("more_body", False)) for message in bodies
    ]


@pytest.mark.parametrize("more", [[], [b"long"]])
async def test_the_response_to_head_has_a_length_and_no_body(more: list[bytes]) -> None:
    response = HttpResponse(200, b"{}", more=more)
    start, *bodies = await send_to_list(response, "HEAD")

    assert (b"content-length", b"%d" % len(b"".join([b"{}", *more, b"\n"]))) in start["headers"]
    assert [{"type": "http.response.body", "body": b""}] == bodies


@requirement("common-176")
async def test_a_large_body_is_counted_while_it_is_sent() -> None:
    client = RecordingClient()
    _, *bodies = await send_to_list(HttpResponse(200, b"x" * 150_000, more=[b"y" * 70_000]), client=client)

    assert [220_001, 0] == client.noted
    assert b"x" * 150_000 + b"y" * 70_000 + b"\n" == b"".join(message["body"] for message in bodies)
    assert [65536, 65536, 18928, 65536, 4464, 1, 0] == [len(message["body"]) for message in bodies]


@pytest.mark.parametrize(("size", "method"), [(1000, "GET"), (200_000, "HEAD")])
async def test_small_or_unrequested_bodies_are_not_counted(size: int, method: str) -> None:
    client = RecordingClient()
    await send_to_list(HttpResponse(200, b"x" * size), method, client)

    assert [] == client.noted
