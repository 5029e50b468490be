"""What was asked of a stand-in and how it answered, as it went over the wire."""

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
"""Files of tests in which the vendors' libraries ask."""


@dataclass(frozen=True)
class Exchange:
    """One request that a stand-in served, and its answer."""

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
    """Whether a header carries credentials."""
    is_of_library: bool
    """Whether one of the vendors' own libraries asked, and no test that may ask for anything."""

    @cached_property
    def asked(self) -> Any:
        """The body of the request, where it is JSON."""
        return _json(self.request) if "json" in self.request_type else None

    @cached_property
    def form(self) -> tuple[tuple[str, str], ...]:
        """The fields of a form."""
        is_form = self.request_type == "application/x-www-form-urlencoded"
        return tuple(parse_qsl(self.request.decode(), keep_blank_values=True)) if is_form else ()

    @cached_property
    def answered(self) -> Any:
        """The body of the answer, where it is JSON."""
        return _json(self.answer) if "json" in self.answer_type else None

    @property
    def is_accepted(self) -> bool:
        """Whether the stand-in did what was asked; Slack refuses with status 200."""
        refused = isinstance(self.answered, dict) and self.answered.get("ok") is False
        return 200 <= self.status < 300 and not refused


@contextmanager
def recording() -> Iterator[list[Exchange]]:
    """What every sandbox that is made inside serves: behind the faults, so that what a test plants is not in it."""
    seen: list[Exchange] = []
    # One recording may be inside another.
    staged = vars(sandbox)["with_faults_and_log"]

    def watched(emulator: Emulator, application: web.Application) -> web.Application:
        @web.middleware
        async def record(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            # Files in parts are read by the stand-in as they come, and once.
            body = b"" if request.content_type.startswith("multipart/") else await request.read()
            answer = await handler(request)
            if isinstance(answer, web.Response):
                seen.append(_exchange(emulator, request, body, answer))
            return answer

        application.middlewares.insert(0, record)
        made: web.Application = staged(emulator, application)
        return made

    # The one place where a sandbox puts something in front of its stand-ins; no route of theirs is changed.
    with patch("workspace_sandbox.sandbox.with_faults_and_log", watched):
        yield seen


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
