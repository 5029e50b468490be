"""Documents that are the same for everybody, and large."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connector_gateway.http.api.responses import client_of, send_chunked

T = TypeVar("T")


class LazyDocument(Generic[T]):
    """What takes long to make: made in a thread when it is first asked for, while whoever else asks waits as well."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._making: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """It, once it is made."""
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)


class ChunkedResponse(Response):
    """A large answer that leaves in parts, so that many who do not read it cost others nothing."""

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Send it no faster than it is taken."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_chunked(client_of(scope), [] if scope["method"] == "HEAD" else [bytes(self.body)], send)
