"""A pipelined connection to the shared store. Commands of one loop iteration are sent together, with short timeouts.

Only this module and ``valkey`` import the driver, and only if a shared store is configured.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from valkey.asyncio.connection import AbstractConnection
from valkey.exceptions import ResponseError, ValkeyError

from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.storage.shared.interface import StoreUnavailable

BACKOFF_SECONDS = 0.25
"""Seconds between a failure and the next attempt to connect."""

Abandoned = Callable[[Any], None]
"""A function that receives the response to a cancelled command."""


@dataclass(slots=True, eq=False)
class _PendingCommand:
    """A command, the future of its response, and the time at which it was sent."""

    command: tuple[Any, ...]
    future: asyncio.Future[Any]
    abandoned: Abandoned | None
    at: float = 0.0


class ValkeyPipeline:
    """Commands and their responses, in order. Raises ``StoreUnavailable`` immediately while there is no connection."""

    def __init__(self, connect: Callable[[], AbstractConnection], seconds: float) -> None:
        self._connect = connect
        self._seconds = seconds
        self._unsent: list[_PendingCommand] = []
        self._sent: deque[_PendingCommand] = deque()
        self._has_unsent = asyncio.Event()
        self._attempted = asyncio.Event()
        self._connected = False
        self._last_error = "not connected yet"

    async def __aenter__(self) -> Self:
        self._connection_task = asyncio.create_task(self._connection_loop(), name="shared store")
        await self._attempted.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._connection_task)

    @property
    def why(self) -> str:
        """The reason why there is no connection, or an empty text if there is one."""
        return "" if self._connected else self._last_error

    def send(self, *command: Any, abandoned: Abandoned | None = None) -> asyncio.Future[Any]:
        """Send a command with all others of this loop iteration.

        *abandoned* receives the response if the future is cancelled.
        """
        future = asyncio.get_running_loop().create_future()
        if self._connected:
            self._unsent.append(_PendingCommand(command, future, abandoned))
            self._has_unsent.set()
        else:
            future.set_exception(StoreUnavailable(self._last_error))
        return future

    def send_no_reply(self, *command: Any) -> None:
        """Send a command without waiting for its response."""
        if self._connected:
            self.send(*command).add_done_callback(_retrieve_outcome)

    async def _connection_loop(self) -> None:
        """Connect, and reconnect whenever the connection ends."""
        while True:
            connection = self._connect()
            try:
                async with asyncio.timeout(self._seconds):
                    await connection.connect()
                self._connected = True
                self._attempted.set()
                await self._serve(connection)
            except (ValkeyError, OSError, TimeoutError) as error:
                self._last_error = f"{type(error).__name__}: {error}"
            finally:
                self._fail_pending()
                await connection.disconnect(nowait=True)
                self._attempted.set()
            # Without a delay, a store that rejects connections immediately would be contacted in a tight loop.
            await asyncio.sleep(BACKOFF_SECONDS)

    async def _serve(self, connection: AbstractConnection) -> None:
        """Send, receive and watch until one of them fails."""
        works = (self._send(connection), self._receive(connection), self._watch_timeouts())
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            # None of them may still read or write when the connection is closed.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, connection: AbstractConnection) -> None:
        while True:
            await self._has_unsent.wait()
            self._has_unsent.clear()
            pending, self._unsent = self._unsent, []
            # The time in the queue is not the store's delay.
            now = asyncio.get_running_loop().time()
            for command in pending:
                command.at = now
            self._sent.extend(pending)
            await connection.send_packed_command(connection.pack_commands([command.command for command in pending]))

    async def _receive(self, connection: AbstractConnection) -> None:
        while True:
            response: Any = None
            try:
                response = await connection.read_response()
            except ResponseError as error:
                # An error is the response to one command. The connection is still usable.
                response = error
            _resolve(self._sent.popleft(), response)

    async def _watch_timeouts(self) -> None:
        """Raise ``TimeoutError`` if no responses arrive.

        It needs two consecutive observations, because this process itself may have been suspended.
        """
        overdue = None
        while True:
            await asyncio.sleep(self._seconds / 2)
            oldest = self._sent[0] if self._sent else None
            late = oldest is not None and asyncio.get_running_loop().time() - oldest.at >= self._seconds / 2
            if late and oldest is overdue:
                raise TimeoutError(f"no response within {self._seconds} seconds")
            overdue = oldest if late else None

    def _fail_pending(self) -> None:
        """Fail all pending commands, because there will be no response."""
        self._connected = False
        pending = [*self._sent, *self._unsent]
        self._sent.clear()
        self._unsent = []
        for command in pending:
            if not command.future.done():
                command.future.set_exception(StoreUnavailable(self._last_error))


def _resolve(pending: _PendingCommand, response: Any) -> None:
    """Pass *response* to the waiting future, or to the handler of an abandoned command."""
    if not pending.future.done():
        if isinstance(response, Exception):
            pending.future.set_exception(response)
        else:
            pending.future.set_result(response)
    elif pending.abandoned is not None and not isinstance(response, Exception):
        pending.abandoned(response)


def _retrieve_outcome(future: asyncio.Future[Any]) -> None:
    """Retrieve the outcome, because asyncio logs exceptions that are never retrieved."""
    if not future.cancelled():
        future.exception()
