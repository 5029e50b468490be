"""Stopping: refuses calls that still wait when the process has been told to end."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from connector_gateway.kit.errors import GatewayError, Overloaded

T = TypeVar("T")

RETRY_AFTER_SECONDS = 5
"""About how long it takes until another process answers in this one's place."""


class Shutdown:
    """Whether this process is about to end."""

    def __init__(self) -> None:
        self.begun = False
        self.announced = False
        """Whether it is told to those who ask that this process will end, though it takes calls as before."""

        self.reason = ""
        """Why the process has to end, if nobody asked for it."""

        self._waiting: set[asyncio.Timeout] = set()

    def start_draining(self) -> None:
        """Tell those who ask whether calls should be sent here that none should."""
        self.announced = True

    def start(self, reason: str = "") -> None:
        """Refuse the calls that wait, and all later ones."""
        self.reason = self.reason or reason
        if self.begun:
            return
        self.begun = self.announced = True
        for limit in self._waiting:
            limit.reschedule(asyncio.get_running_loop().time())

    def check(self) -> None:
        """Refuse to begin anything new while stopping."""
        if self.begun:
            raise self.error()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """The result of *awaitable*, which may be given up; ``Overloaded`` as soon as the process begins to stop."""
        try:
            async with asyncio.timeout(0 if self.begun else None) as limit:
                self._waiting.add(limit)
                try:
                    return await awaitable
                finally:
                    self._waiting.discard(limit)
        except TimeoutError as fault:
            if limit.expired():
                raise self.error() from fault
            raise

    def interrupted_error(self, in_doubt: GatewayError | None = None) -> GatewayError:
        """The error for a call whose task was cancelled because it took too long; the task goes on to report it."""
        task = asyncio.current_task()
        if task is not None:
            # Otherwise the next ``await`` would be cancelled too, and the answer would never leave.
            task.uncancel()
        return in_doubt or Overloaded(
            "This service had to stop before the call had ended; its run tells how far it came.",
            retry_after=RETRY_AFTER_SECONDS,
        )

    def error(self) -> Overloaded:
        """The error for a call that cannot be carried out, or not to its end."""
        return Overloaded("This service is stopping.", retry_after=RETRY_AFTER_SECONDS)
