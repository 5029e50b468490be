"""Recorded requests to the emulators and their responses."""

import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox import sandbox
from workspace_sandbox.kit.emulator import Emulator

LIBRARIES = ("sdk.py", "guides/")
"""Test files in which the vendors' SDKs send the requests."""


@dataclass(frozen=True)
class Exchange:
    """A request to an emulator, and its response."""

    application: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    request_type: str
    request: bytes
    status: int
    answer_type: str
    answer: bytes
    is_authorised: bool
    """True if the request has an Authorization header."""
    is_from_sdk: bool
    """True if a vendor's SDK sent the request. Other tests may send invalid ones."""

    @cached_property
    def request_json(self) -> Any:
        """The body of the request, if it is JSON."""
        return _json(self.request) if "json" in self.request_type else None

    @cached_property
    def form(self) -> tuple[tuple[str, str], ...]:
        """The fields of a form."""
        is_form = self.request_type == "application/x-www-form-urlencoded"
        return tuple(parse_qsl(self.request.decode(), keep_blank_values=True)) if is_form else ()

    @cached_property
    def response_json(self) -> Any:
        """The body of the response, if it is JSON."""
        return _json(self.answer) if "json" in self.answer_type else None

    @property
    def is_accepted(self) -> bool:
        """True if the request succeeded. Slack's errors have status 200."""
        is_error = isinstance(self.response_json, dict) and self.response_json.get("ok") is False
        return 200 <= self.status < 300 and not is_error


@contextmanager
def record_exchanges() -> Iterator[list[Exchange]]:
    """Record the exchanges of all sandboxes created inside, without injected faults."""
    exchanges: list[Exchange] = []
    # Recordings can be nested.
    original = vars(sandbox)["with_faults_and_log"]

    def with_recording(emulator: Emulator, application: web.Application) -> web.Application:
        @web.middleware
        async def record(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            # The emulators read multipart bodies as streams, which cannot be read twice.
            body = b"" if request.content_type.startswith("multipart/") else await request.read()
            response = await handler(request)
            if isinstance(response, web.Response):
                exchanges.append(_exchange(emulator, request, body, response))
            return response

        application.middlewares.insert(0, record)
        prepared: web.Application = original(emulator, application)
        return prepared

    # The sandbox wraps its emulators here, so no route has to be changed.
    with patch("workspace_sandbox.sandbox.with_faults_and_log", with_recording):
        yield exchanges


def _exchange(emulator: Emulator, request: web.Request, body: bytes, answer: web.Response) -> Exchange:
    return Exchange(
        type(emulator).__module__.split(".")[1],
        request.headers.get("X-HTTP-Method-Override", request.method),
        request.rel_url.raw_path,
        tuple(request.query.items()),
        request.content_type,
        body,
        answer.status,
        answer.content_type,
        answer.body if isinstance(answer.body, bytes) else b"",
        "Authorization" in request.headers,
        any(name in os.environ.get("PYTEST_CURRENT_TEST", "") for name in LIBRARIES),
    )


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
