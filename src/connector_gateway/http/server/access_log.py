"""The access log: one line for every answer, without what only the caller may know."""

import re
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from time import perf_counter
from typing import Any

import structlog
from starlette.types import Message, Receive, Scope, Send

from connector_gateway.http.application import AsgiApp

MAX_PATH = 200
UNSEEN = "…"

MINTED = re.compile(r"[a-z]{1,8}_[0-9A-HJKMNP-TV-Z]{26}")
"""Identifiers that this service makes, by which nobody is let in."""

log = structlog.get_logger()


class AccessLogMiddleware:
    """Serves an application, and logs each of its answers."""

    def __init__(self, application: AsgiApp) -> None:
        self.stopping = application.stopping
        self.clients = application.clients
        self.words = application.words
        self._application = application

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """The application's."""
        return self._application.lifespan()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log how it was answered."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        answer = _Answer(send)
        began = perf_counter()
        try:
            await self._application(scope, receive, answer.send)
        finally:
            log.info(
                "answered",
                run_id=answer.run_id,
                client=(scope.get("client") or ("",))[0],
                method=scope["method"],
                path=redact_path(scope["path"], self.words),
                status=answer.status,
                complete=answer.complete,
                duration_ms=round((perf_counter() - began) * 1000, 1),
            )


def redact_path(path: str, words: Collection[str]) -> str:
    """Return *path* with a placeholder for each segment that is neither one of *words* nor an identifier of ours.

    Tokens stand in paths, also in those that are nearly right: ``//connect/T``, ``/Connect/T``. So the rule names what
    may be shown, and not where tokens are expected.
    """
    segments = path[:MAX_PATH].split("/")
    shown = [segment if segment in words or MINTED.fullmatch(segment) else UNSEEN for segment in segments]
    return "/".join(shown) + (UNSEEN if len(path) > MAX_PATH and shown[-1] != UNSEEN else "")


class _Answer:
    """What is sent, and what there is to tell of it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.run_id: str | None = None
        self.complete = False

    async def send(self, message: Message) -> None:
        """Send on, and note what it is."""
        await self._send(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            run_id = dict(message["headers"]).get(b"x-run-id")
            self.run_id = run_id.decode() if run_id else None
        elif not message.get("more_body"):
            self.complete = True
