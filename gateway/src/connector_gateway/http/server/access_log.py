"""The access log: one line for every response, without data that only the caller may see."""

import re
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from time import perf_counter
from typing import Any

import structlog
from starlette.types import Message, Receive, Scope, Send

from connector_gateway.http.asgi import AsgiApp

MAX_PATH = 200
REDACTED = "…"

GENERATED_ID = re.compile(r"[a-z]{1,8}_[0-9A-HJKMNP-TV-Z]{26}")
"""Identifiers that this service generates, which grant no access."""

log = structlog.get_logger()


class AccessLogMiddleware:
    """ASGI middleware that logs every response."""

    def __init__(self, application: AsgiApp) -> None:
        self.shutdown = application.shutdown
        self.clients = application.clients
        self.fixed_segments = application.fixed_segments
        self._application = application

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Return the lifespan of the wrapped application."""
        return self._application.lifespan()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and log its response."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        response = _ResponseRecorder(send)
        started = perf_counter()
        try:
            await self._application(scope, receive, response.send)
        finally:
            log.info(
                "answered",
                run_id=response.run_id,
                client=(scope.get("client") or ("",))[0],
                method=scope["method"],
                path=redact_path(scope["path"], self.fixed_segments),
                status=response.status,
                complete=response.complete,
                duration_ms=round((perf_counter() - started) * 1000, 1),
            )


def redact_path(path: str, words: Collection[str]) -> str:
    """Return *path* with a placeholder for each segment that is neither one of *words* nor a generated identifier.

    Paths may contain tokens even if they match no route: ``//connect/T``, ``/Connect/T``. The rule therefore lists the
    segments that may be logged, and not the positions of tokens.
    """
    segments = path[:MAX_PATH].split("/")
    redacted = [segment if segment in words or GENERATED_ID.fullmatch(segment) else REDACTED for segment in segments]
    return "/".join(redacted) + (REDACTED if len(path) > MAX_PATH and redacted[-1] != REDACTED else "")


class _ResponseRecorder:
    """A response being sent, and the fields of its log line."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.run_id: str | None = None
        self.complete = False

    async def send(self, message: Message) -> None:
        """Forward *message* and record its fields."""
        await self._send(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            run_id = dict(message["headers"]).get(b"x-run-id")
            self.run_id = run_id.decode() if run_id else None
        elif not message.get("more_body"):
            self.complete = True
