"""Shutdown of a process: waiting and new calls are rejected."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from connector_gateway.kit.errors import GatewayError, Overloaded

T = TypeVar("T")

RETRY_AFTER_SECONDS = 5
"""Seconds until another process usually accepts calls."""


class Shutdown:
    """The shutdown state of this process."""

    def __init__(self) -> None:
        self.started = False
        self.draining = False
        """Whether the process reports not ready. It still accepts calls until ``started``."""

        self.reason = ""
        """The reason if the process initiated the shutdown, otherwise empty."""

        self._waiting: set[asyncio.Timeout] = set()

    def start_draining(self) -> None:
        """Report not ready, so that load balancers stop sending calls to this process."""
        self.draining = True

    def start(self, reason: str = "") -> None:
        """Reject waiting calls, and all later ones."""
        self.reason = self.reason or reason
        if self.started:
            return
        self.started = self.draining = True
        for limit in self._waiting:
            limit.reschedule(asyncio.get_running_loop().time())

    def check(self) -> None:
        """Raise ``Overloaded`` during shutdown."""
        if self.started:
            raise self.error()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await *awaitable*, which is cancelled at shutdown. Raises ``Overloaded`` when shutdown begins."""
        try:
            async with asyncio.timeout(0 if self.started else None) as limit:
                self._waiting.add(limit)
                try:
                    return await awaitable
                finally:
                    self._waiting.discard(limit)
        except TimeoutError as error:
            if limit.expired():
                raise self.error() from error
            raise

    def interrupted_error(self, in_doubt: GatewayError | None = None) -> GatewayError:
        """Return the error for a call that shutdown cancelled. Its task continues, in order to report the error."""
        task = asyncio.current_task()
        if task is not None:
            # Otherwise the next ``await`` would be cancelled too, and the response would never be sent.
            task.uncancel()
        return in_doubt or Overloaded(
            "This service shut down before the call ended; its run shows the completed requests.",
            retry_after=RETRY_AFTER_SECONDS,
        )

    def error(self) -> Overloaded:
        """Return the error for a call that cannot be performed or completed."""
        return Overloaded("This service is shutting down.", retry_after=RETRY_AFTER_SECONDS)
