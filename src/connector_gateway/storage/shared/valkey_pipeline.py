"""One connection to a shared store: what is asked in one turn of the loop travels together, and nobody waits long.

Only this module and ``storage.valkey`` know the driver, which is imported where a shared store is set (decision 56).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from valkey.asyncio.connection import AbstractConnection
from valkey.exceptions import ResponseError, ValkeyError

from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.storage.shared.interface import StoreUnavailable

PAUSE_SECONDS = 0.25
"""How long after a failure the next connection is tried."""

Abandoned = Callable[[Any], None]
"""What is done with an answer that nobody waits for any more."""


@dataclass(slots=True, eq=False)
class _Asked:
    """A command, who waits for its answer, and since when."""

    command: tuple[Any, ...]
    future: asyncio.Future[Any]
    abandoned: Abandoned | None
    at: float = 0.0


class ValkeyPipeline:
    """Commands and their answers, in order; ``StoreAway`` at once while there is no connection."""

    def __init__(self, connect: Callable[[], AbstractConnection], seconds: float) -> None:
        self._connect = connect
        self._seconds = seconds
        self._unsent: list[_Asked] = []
        self._sent: deque[_Asked] = deque()
        self._more = asyncio.Event()
        self._tried = asyncio.Event()
        self._connected = False
        self._why = "it was not connected to yet"

    async def __aenter__(self) -> Self:
        self._keeping = asyncio.create_task(self._keep(), name="shared store")
        await self._tried.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._keeping)

    @property
    def why(self) -> str:
        """Why there is no connection; empty where there is one."""
        return "" if self._connected else self._why

    def send(self, *command: Any, abandoned: Abandoned | None = None) -> asyncio.Future[Any]:
        """Send a command with all others of this turn of the loop; *abandoned* gets what a cancelled future missed."""
        future = asyncio.get_running_loop().create_future()
        if self._connected:
            self._unsent.append(_Asked(command, future, abandoned))
            self._more.set()
        else:
            future.set_exception(StoreUnavailable(self._why))
        return future

    def send_no_reply(self, *command: Any) -> None:
        """Send a command whose answer nobody waits for."""
        if self._connected:
            self.send(*command).add_done_callback(_heard)

    async def _keep(self) -> None:
        """Connect, and connect again whenever the connection has ended."""
        while True:
            connection = self._connect()
            try:
                async with asyncio.timeout(self._seconds):
                    await connection.connect()
                self._connected = True
                self._tried.set()
                await self._serve(connection)
            except (ValkeyError, OSError, TimeoutError) as fault:
                self._why = f"{type(fault).__name__}: {fault}"
            finally:
                self._end()
                await connection.disconnect(nowait=True)
                self._tried.set()
            # A store that refuses at once would otherwise be asked as fast as this process can.
            await asyncio.sleep(PAUSE_SECONDS)

    async def _serve(self, connection: AbstractConnection) -> None:
        """Send, receive and watch until one of them fails."""
        works = (self._send(connection), self._receive(connection), self._watch())
        parts = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for part in parts:
                part.cancel()
            # None of them may still read or write when the connection is closed under it.
            await asyncio.gather(*parts, return_exceptions=True)

    async def _send(self, connection: AbstractConnection) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            asked, self._unsent = self._unsent, []
            # From now on the store has it; what waited before is not the store's lateness.
            now = asyncio.get_running_loop().time()
            for one in asked:
                one.at = now
            self._sent.extend(asked)
            await connection.send_packed_command(connection.pack_commands([one.command for one in asked]))

    async def _receive(self, connection: AbstractConnection) -> None:
        while True:
            answer: Any = None
            try:
                answer = await connection.read_response()
            except ResponseError as refusal:
                # A refusal answers one command; the connection is as good as before.
                answer = refusal
            _tell(self._sent.popleft(), answer)

    async def _watch(self) -> None:
        """Give a connection up whose answers do not come; seen twice, since it may be this process that was held up."""
        overdue = None
        while True:
            await asyncio.sleep(self._seconds / 2)
            oldest = self._sent[0] if self._sent else None
            late = oldest is not None and asyncio.get_running_loop().time() - oldest.at >= self._seconds / 2
            if late and oldest is overdue:
                raise TimeoutError(f"no answer within {self._seconds} seconds")
            overdue = oldest if late else None

    def _end(self) -> None:
        """Tell all who wait that there will be no answer."""
        self._connected = False
        waiting = [*self._sent, *self._unsent]
        self._sent.clear()
        self._unsent = []
        for one in waiting:
            if not one.future.done():
                one.future.set_exception(StoreUnavailable(self._why))


def _tell(asked: _Asked, answer: Any) -> None:
    """Hand *answer* over to who waits for it, or to what is done without him."""
    if not asked.future.done():
        if isinstance(answer, Exception):
            asked.future.set_exception(answer)
        else:
            asked.future.set_result(answer)
    elif asked.abandoned is not None and not isinstance(answer, Exception):
        asked.abandoned(answer)


def _heard(future: asyncio.Future[Any]) -> None:
    """Look at how it ended; asyncio logs failures that nobody has looked at."""
    if not future.cancelled():
        future.exception()
