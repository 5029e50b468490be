"""What was looked up in the database and is trusted for a few seconds, so that not every call asks again."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from connector_gateway.kit.clock import Clock

N = TypeVar("N")
T = TypeVar("T")

REMEMBER_SECONDS = 3.0
"""How long after a look-up began its result is trusted: what is changed elsewhere holds here within that time."""

MOST = 10_000


@dataclass(slots=True)
class _LookUp(Generic[T]):
    """When it began, in seconds since the epoch, who is at it until it ends, and what was found."""

    began: float
    finding: asyncio.Task[T | None] | None = None
    found: T | None = None


class Remembered(Generic[N, T]):
    """What was found under names, or was not: looked up once for all who ask at the same time, and bounded."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[N, _LookUp[T]] = OrderedDict()

    async def get(self, name: N, look_up: Callable[[N], Awaitable[T | None]]) -> T | None:
        """What is remembered under *name*, otherwise what *look_up* finds; what it raises is not remembered."""
        known = self._known.get(name)
        if known is None or self._clock.now() - known.began > REMEMBER_SECONDS:
            known = self._begin(name, look_up)
        return known.found if known.finding is None else await asyncio.shield(known.finding)

    def forget(self, name: N) -> None:
        """Look it up again from now on, since it was changed here; who waits for a look-up still gets its result."""
        self._known.pop(name, None)

    def _begin(self, name: N, look_up: Callable[[N], Awaitable[T | None]]) -> _LookUp[T]:
        """Look *name* up, whether those who wait for it are still there in the end or not."""
        begun: _LookUp[T] = _LookUp(self._clock.now())

        async def find() -> T | None:
            try:
                begun.found = await look_up(name)
            except BaseException:
                self.forget(name)
                raise
            begun.finding = None
            return begun.found

        begun.finding = asyncio.create_task(find())
        self._known[name] = begun
        self._known.move_to_end(name)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return begun
