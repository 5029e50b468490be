"""Group commit: writers that wait at the same time share a transaction.

That is what makes a durable record per call cheap: the cost of a commit is divided by the calls that wait for it.
An embedded database has one lane. On a server several transactions are on their way at a time; what is written about
one thing is still written in order.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from connector_gateway.kit.clock import monotonic_seconds
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.storage.sql.availability import storage_unavailable
from connector_gateway.storage.sql.pending_writes import Writer, set_outcome

GATHER_FROM = 4
GATHER_ROUNDS = 8
"""When the last commit served at least four writers, the next waits for so many rounds of the event loop.

All that is about to be handed over joins it; a loop that has nothing else to do is round at once (decision 98).
"""

Commit = Callable[[Sequence[Writer]], list[Any]]
"""Commits writers, and tells the outcome of each; runs in a thread."""


class GroupCommitter:
    """Gives what waits to be written to threads that commit it, each of *executors* one transaction at a time.

    A wait for a commit ends after *seconds*: half of them for the commit under way, half for one's own.
    """

    def __init__(self, commit: Commit, executors: Sequence[Executor], seconds: float) -> None:
        self._commit = commit
        self._lanes = [_WriterThread(executor) for executor in executors]
        self._seconds = seconds
        self._waiting: list[Writer] = []
        self._in_flight: set[str | None] = set()
        """What is being written about."""

        self._idle: list[_WriterThread] = []
        self._gathering = 0
        self._last = 0
        """How many writers the last commit served."""

        self.took = DurationHistogram()
        """The time of each commit."""

        self.served = 0
        """How many writers all commits served."""

        self._closing = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def waiting(self) -> int:
        """How many wait that are not being committed."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to commit."""
        self._tasks = [asyncio.create_task(self._serve_lane(lane), name="group commit") for lane in self._lanes]

    async def close(self) -> bool:
        """Wait, though not without end, until all was committed; whether it was."""
        self._closing = True
        self._wake_all()
        if not self._tasks:
            return True
        _, late = await asyncio.wait(self._tasks, timeout=self._seconds)
        for task in late:
            task.cancel()
        await asyncio.wait(self._tasks)
        return not late

    def add(self, writer: Writer) -> None:
        """Have *writer* committed with the next transaction that may write about the same thing."""
        self._waiting.append(writer)
        # Whoever gathers takes this one too; another transaction would only be a smaller one.
        if self._idle and not self._gathering:
            self._idle.pop().called.set()

    async def _serve_lane(self, lane: "_WriterThread") -> None:
        while not (self._closing and not self._waiting):
            if self._last >= GATHER_FROM and self._waiting:
                await self._gather()
            if batch := self._taken():
                await self._serve(lane, batch)
            else:
                await self._rest(lane)
        self._wake_all()

    async def _gather(self) -> None:
        self._gathering += 1
        for _ in range(GATHER_ROUNDS):
            await asyncio.sleep(0)
        self._gathering -= 1

    async def _rest(self, lane: "_WriterThread") -> None:
        lane.called.clear()
        self._idle.append(lane)
        await lane.called.wait()

    def _wake_all(self) -> None:
        for lane in self._idle:
            lane.called.set()
        self._idle.clear()

    def _taken(self) -> Sequence[Writer]:
        """Those who wait, but for whom another transaction, or an earlier place in this one, has to come first."""
        if len(self._lanes) == 1:
            taken, self._waiting = self._waiting, []
            return taken
        taken, left, about = [], [], set[str]()
        for writer in self._waiting:
            if writer.about in self._in_flight or writer.about in about:
                left.append(writer)
                continue
            taken.append(writer)
            if writer.about is not None:
                about.add(writer.about)
        self._waiting = left
        return taken

    async def _serve(self, lane: "_WriterThread", batch: Sequence[Writer]) -> None:
        # One lane keeps everything in order by itself, and every call on SQLite comes by here.
        things = {writer.about for writer in batch} if len(self._lanes) > 1 else set()
        self._in_flight |= things
        self._expect(lane, batch)
        began = monotonic_seconds()
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(lane.executor, self._commit, batch)
        finally:
            self._in_flight -= things
            if lane.overdue:
                lane.overdue.cancel()
        self.took.observe(monotonic_seconds() - began)
        self.served += len(batch)
        self._last = len(batch)
        for writer, outcome in zip(batch, outcomes, strict=True):
            set_outcome(writer.committed, outcome)

    def _expect(self, lane: "_WriterThread", writers: Sequence[Writer]) -> None:
        """Let *writers* wait no longer than half of the time from now on."""
        lane.overdue = asyncio.get_running_loop().call_later(self._seconds / 2, self._give_up, lane, writers)

    def _give_up(self, lane: "_WriterThread", late: Sequence[Writer]) -> None:
        """Tell *late* ones that their outcome is not known; those behind them wait as long again, and are not begun."""
        for writer in late:
            set_outcome(writer.committed, storage_unavailable("the commit took too long"))
        self._waiting = [writer for writer in self._waiting if not writer.committed.done()]
        self._expect(lane, list(self._waiting))


class _WriterThread:
    """A thread that commits, one transaction after the other."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.called = asyncio.Event()
        self.overdue: asyncio.TimerHandle | None = None
