"""How answers leave."""

from typing import Any

import pytest
from starlette.types import Message

from connector_gateway.http.answers import HttpExchange, HttpResponse


async def sent(answer: HttpResponse, method: str = "GET") -> list[dict[str, Any]]:
    """The messages that *answer* leaves in."""
    messages: list[dict[str, Any]] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        messages.append(dict(message))

    await HttpExchange({"type": "http", "method": method, "headers": []}, receive).send(answer, send)
    return messages


async def test_a_body_in_one_piece_leaves_at_once() -> None:
    start, *bodies = await sent(HttpResponse(200, b"{}"))

    assert (b"content-length", b"2") in start["headers"]
    assert [{"type": "http.response.body", "body": b"{}"}] == bodies


async def test_a_body_in_pieces_leaves_piece_by_piece() -> None:
    start, *bodies = await sent(HttpResponse(200, b'{"a":"', more=[b"long", b'"}']))

    assert (b"content-length", b"12") in start["headers"]
    assert [(b'{"a":"', True), (b"long", True), (b'"}', False)] == [
        (message["body"], message.get("more_body", False)) for message in bodies
    ]


@pytest.mark.parametrize("more", [[], [b"long"]])
async def test_only_the_length_is_told_of_a_body_that_was_not_asked_for(more: list[bytes]) -> None:
    answer = HttpResponse(200, b"{}", more=more)
    start, *bodies = await sent(answer, "HEAD")

    assert (b"content-length", b"%d" % len(b"".join([b"{}", *more]))) in start["headers"]
    assert [{"type": "http.response.body", "body": b""}] == bodies
