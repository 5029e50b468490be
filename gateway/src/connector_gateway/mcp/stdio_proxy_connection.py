"""The connection from the proxy on standard input and output to the running gateway."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, ElicitResult, Request, Result
from pydantic import TypeAdapter

R = TypeVar("R", bound=Result)

TIMEOUT = httpx2.Timeout(30.0, read=600.0)
"""Timeouts in seconds. Calls that wait for a rate limit take longer than other requests."""

NO_SELECTION: Mapping[str, str] = {}

WHEN_AWAY = """\
What to do: Call again in a few seconds. A write might have taken effect: repeat it with the same \
idempotency_key, or check first."""


@asynccontextmanager
async def connect(
    base_url: str, api_key: str, selection: Mapping[str, str], *, shows_forms: bool = False
) -> AsyncIterator[Client]:
    """Open a client of the gateway for the tools that *selection* selects, as the URL's query.

    Raises ``MCPError`` if the gateway rejects the key, and ``httpx2.HTTPError`` if it does not respond.
    """
    headers = {"Authorization": f"Bearer {api_key}"}
    url = httpx2.URL(f"{base_url.rstrip('/')}/mcp", params=dict(selection))
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT) as http:
        transport = streamable_http_client(str(url), http_client=http)
        # The callback only declares the capability: the proxy passes questions on itself.
        answer = _cancel_question if shows_forms else None
        async with Client(transport, cache=None, elicitation_callback=answer) as client:
            yield client


class GatewayConnection:
    """A client of the gateway that reconnects after a broken connection: agents outlive restarts of the gateway.

    The client runs in a separate task, because the package cancels the task of a client whose connection breaks.
    """

    def __init__(
        self, base_url: str, api_key: str, selection: Mapping[str, str] = NO_SELECTION, *, shows_forms: bool = False
    ) -> None:
        self._base_url, self._api_key, self._selection = base_url, api_key, selection
        self._shows_forms = shows_forms
        self._connect_lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _cancel(self._task)

    async def client(self) -> Client:
        """Return the client, connecting first if needed. Raises the errors of ``connect``."""
        async with self._connect_lock:
            if self._task is None or self._task.done():
                connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(self._run(connected), name="link")
                self._task.add_done_callback(_retrieve_exception)
                either: set[asyncio.Future[Any]] = {self._task, connected}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not connected.done():
                    await self._task
                self._client = connected.result()
        return self._client

    async def send(self, request: Request[Any, Any], result: type[R] | TypeAdapter[R], on_progress: Any = None) -> R:
        """Return the result of *request*. Raises ``MCPError`` if the gateway is unavailable."""
        try:
            client = await self.client()
        except (httpx2.HTTPError, ExceptionGroup) as error:
            raise self._unavailable_error(error) from error
        task = self._task
        try:
            return await client.session.send_request(request, result, progress_callback=on_progress)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            await _cancel(task)
            raise self._unavailable_error(None) from error

    async def _run(self, connected: asyncio.Future[Client]) -> None:
        async with connect(self._base_url, self._api_key, self._selection, shows_forms=self._shows_forms) as client:
            connected.set_result(client)
            await asyncio.Event().wait()

    def _unavailable_error(self, error: BaseException | None) -> MCPError:
        why = f" ({str(find_root_error(error)).rstrip('.')})" if error else ""
        return MCPError(INTERNAL_ERROR, f"The gateway at {self._base_url} does not respond{why}.\n{WHEN_AWAY}")


def find_root_error(error: BaseException) -> BaseException:
    """Return the first leaf of an exception group, or *error* itself."""
    return find_root_error(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _cancel_question(*_: object, **__: object) -> ElicitResult:
    return ElicitResult(action="cancel")


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})


def _retrieve_exception(task: asyncio.Task[None]) -> None:
    """Mark the exception of *task* as retrieved. The next request raises it."""
    if not task.cancelled():
        task.exception()
