"""Responses as if one registered fact about the vendor were false.

The knob ``lie`` selects one, so that a program which checks the vendor's facts can be tested.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.input_validation import Field


@dataclass
class Exchange:
    """A request and its response, which a false fact changes."""

    query: Mapping[str, str]
    sent: Any
    """The JSON body or form of the request. Empty if it has none."""

    status: int
    headers: dict[str, str]
    body: Any
    """The JSON body of the response, or its text."""


Change = Callable[[Exchange], None]


@dataclass(frozen=True)
class FalseFact:
    """A change of the responses to matching requests, after which they contradict one fact."""

    route: str
    """The method, a blank, and a regular expression of the path."""

    change: Change

    async def apply(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Return the changed response, or *response* if the request does not match."""
        if not re.fullmatch(self.route, f"{request.method} {request.path}") or not isinstance(response, web.Response):
            return response
        exchange = Exchange(
            request.query,
            parse(await request.read(), request.content_type),
            response.status,
            dict(response.headers),
            parse(response.body, response.content_type),
        )
        self.change(exchange)
        exchange.headers.pop("Content-Length", None)
        is_json = exchange.headers.get("Content-Type", "").partition(";")[0].endswith("json")
        text = json.dumps(exchange.body) if is_json else exchange.body
        return web.Response(status=exchange.status, headers=exchange.headers, body=text.encode())


def parse(content: Any, content_type: str) -> Any:
    """Return the JSON or text of a body. Empty JSON is an empty object."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    if content_type.endswith("json"):
        return json.loads(text or "{}")
    return text or {}


def false_fact_field(false_facts: Mapping[str, FalseFact]) -> Field:
    """Return the reader of the knob ``lie``: the name of a false fact, or empty."""

    def read(value: Any) -> Any:
        if value != "" and value not in false_facts:
            raise ValueError(f"must be empty or one of {', '.join(sorted(false_facts))}")
        return value

    return read


def every(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of every field *name* of the response, at any depth."""

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return {key: change(item) if key == name else walk(item) for key, item in value.items()}
        return value

    def apply(exchange: Exchange) -> None:
        exchange.body = walk(exchange.body)

    return apply


def reply(status: int, body: Any = None) -> Change:
    """Return a change of the status, and of the body unless it is None."""

    def apply(exchange: Exchange) -> None:
        exchange.status = status
        if body is not None:
            exchange.body = body

    return apply


def without_header(name: str) -> Change:
    """Return a change that removes a header of the response."""

    def apply(exchange: Exchange) -> None:
        exchange.headers = {key: value for key, value in exchange.headers.items() if key.lower() != name.lower()}

    return apply


def headers(**values: str) -> Change:
    """Return a change of headers of the response."""

    def apply(exchange: Exchange) -> None:
        exchange.headers |= values

    return apply


def when(condition: Callable[[Exchange], Any], change: Change) -> Change:
    """Return a change that is applied only to exchanges for which *condition* is true."""

    def apply(exchange: Exchange) -> None:
        if condition(exchange):
            change(exchange)

    return apply


def edit(edit_body: Callable[[Any], Any]) -> Change:
    """Return a change of the body of the response in place, or to the value that *edit_body* returns."""

    def apply(exchange: Exchange) -> None:
        changed = edit_body(exchange.body)
        if changed is not None:
            exchange.body = changed

    return apply
