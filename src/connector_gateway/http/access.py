"""The access log: one line for every answer, without what only the caller may know."""

from contextlib import AbstractAsyncContextManager
from time import perf_counter
from typing import Any

import structlog
from starlette.types import Message, Receive, Scope, Send

from connector_gateway.http.application import Served

MAX_PATH = 200
HOOKS = "/hooks"
CONNECT = "/connect"
UNSEEN = "…"

log = structlog.get_logger()


class AccessLog:
    """Serves an application, and logs each of its answers."""

    def __init__(self, application: Served, download_path: str) -> None:
        self.stopping = application.stopping
        self.clients = application.clients
        self._application = application
        self._downloads = f"{download_path}/"

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
                path=shown_path(scope["path"], self._downloads),
                status=answer.status,
                complete=answer.complete,
                duration_ms=round((perf_counter() - began) * 1000, 1),
            )


def shown_path(path: str, downloads: str) -> str:
    """*path* without the token of a download or connect link, and what follows the name of a hook."""
    if path.startswith(downloads):
        return downloads + UNSEEN
    if path.startswith(f"{CONNECT}/") and not path.endswith("/callback"):
        return f"{CONNECT}/{UNSEEN}"
    if path.startswith(f"{HOOKS}/"):
        name, _, rest = path.removeprefix(f"{HOOKS}/").partition("/")
        path = f"{HOOKS}/{name}/{UNSEEN}" if rest else path
    return path if len(path) <= MAX_PATH else path[:MAX_PATH] + UNSEEN


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
