"""Large documents that are the same for all clients."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connector_gateway.http.api.request_context import get_client
from connector_gateway.http.api.responses import send_chunked

T = TypeVar("T")


class LazyDocument(Generic[T]):
    """A document that is built in a thread on first use. Concurrent requests wait for the same build."""

    def __init__(self, build: Callable[[], T]) -> None:
        self._build = build
        self._building: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """Return the document, building it on first use."""
        if self._building is None:
            self._building = asyncio.create_task(asyncio.to_thread(self._build))
        return await asyncio.shield(self._building)


class ChunkedResponse(Response):
    """A large response that is sent in parts, so that slow clients do not delay other requests."""

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Send the response no faster than the client reads it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_chunked(get_client(scope), [] if scope["method"] == "HEAD" else [bytes(self.body)], send)
