"""What the bridge asks the running gateway through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, Request, Result

R = TypeVar("R", bound=Result)

TIMEOUT = httpx2.Timeout(30.0, read=600.0)
"""Seconds; a call that waits for its turn takes longer than most requests."""

WHEN_AWAY = """\
What to do: Call again in some seconds. A write may have been done: repeat it with the same idempotency_key, \
or look whether it was."""


@asynccontextmanager
async def connect(base_url: str, api_key: str) -> AsyncIterator[Client]:
    """A client of the gateway; ``MCPError`` where it refuses the key, ``httpx2.HTTPError`` where nobody answers."""
    headers = {"Authorization": f"Bearer {api_key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT) as http:
        transport = streamable_http_client(f"{base_url.rstrip('/')}/mcp", http_client=http)
        async with Client(transport, cache=None) as client:
            yield client


class GatewayConnection:
    """A client of the gateway, made again where its connection has broken: agents outlive restarts of the gateway.

    It lives in a task of its own, for the package ends the task that holds a client whose connection breaks.
    """

    def __init__(self, base_url: str, api_key: str) -> None:
        self._base_url, self._api_key = base_url, api_key
        self._making = asyncio.Lock()
        self._held: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _end(self._held)

    async def client(self) -> Client:
        """The client; what ``connected`` ends with where there can be none."""
        async with self._making:
            if self._held is None or self._held.done():
                made: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._held = asyncio.create_task(self._hold(made), name="link")
                self._held.add_done_callback(_seen)
                either: set[asyncio.Future[Any]] = {self._held, made}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not made.done():
                    await self._held
                self._client = made.result()
        return self._client

    async def send(self, request: Request[Any, Any], result: type[R], wanted: Any = None) -> R:
        """The result of *request*; an error of the protocol where the gateway is away."""
        try:
            client = await self.client()
        except (httpx2.HTTPError, ExceptionGroup) as fault:
            raise self._away(fault) from fault
        held = self._held
        try:
            return await client.session.send_request(request, result, progress_callback=wanted)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            await _end(held)
            raise self._away(None) from error

    async def _hold(self, made: asyncio.Future[Client]) -> None:
        async with connect(self._base_url, self._api_key) as client:
            made.set_result(client)
            await asyncio.Event().wait()

    def _away(self, fault: BaseException | None) -> MCPError:
        why = f" ({str(innermost(fault)).rstrip('.')})" if fault else ""
        return MCPError(INTERNAL_ERROR, f"The gateway at {self._base_url} does not answer{why}.\n{WHEN_AWAY}")


def innermost(fault: BaseException) -> BaseException:
    """The first fault of a group, or the fault itself."""
    return innermost(fault.exceptions[0]) if isinstance(fault, BaseExceptionGroup) else fault


async def _end(held: asyncio.Task[None] | None) -> None:
    if held is not None:
        held.cancel()
        await asyncio.wait({held})


def _seen(task: asyncio.Task[None]) -> None:
    """Take note of how *task* ended, which whoever asks next is told."""
    if not task.cancelled():
        task.exception()
