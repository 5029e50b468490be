"""Group commit: writers that wait at the same time share a transaction.

This makes a durable record per call cheap, because the cost of a commit is divided by the calls that wait for it. An
embedded database has one writer thread. On a server several transactions are in flight at a time, and writes about one
subject are still in order.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from connector_gateway.kit.clock import monotonic_seconds
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.storage.sql.group_commit_writers import Writer, set_outcome
from connector_gateway.storage.sql.unavailable_database import storage_unavailable

GATHER_FROM = 4
GATHER_ROUNDS = 8
"""If the last commit served at least four writers, the next waits for this many iterations of the event loop.

All writers that are about to be added join it. An idle event loop iterates immediately.
"""

Commit = Callable[[Sequence[Writer]], list[Any]]
"""Commits writers and returns the outcome of each. It runs in a thread."""


class GroupCommitter:
    """Passes pending writers to threads that commit them, one transaction at a time for each of *executors*.

    A wait for a commit ends after *seconds*: half of them for the commit in progress, half for its own.
    """

    def __init__(self, commit: Commit, executors: Sequence[Executor], seconds: float) -> None:
        self._commit = commit
        self._lanes = [_WriterThread(executor) for executor in executors]
        self._seconds = seconds
        self._waiting: list[Writer] = []
        self._in_flight: set[str | None] = set()
        """The subjects of the writes in progress."""

        self._idle: list[_WriterThread] = []
        self._gathering = 0
        self._last_batch_size = 0
        """The number of writers that the last commit served."""

        self.durations = DurationHistogram()
        """The durations of all commits."""

        self.writers_served = 0
        """The number of writers that all commits served."""

        self._closing = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def waiting(self) -> int:
        """The number of writers whose commit has not started."""
        return len(self._waiting)

    def start(self) -> None:
        """Start committing."""
        self._tasks = [asyncio.create_task(self._serve_lane(lane), name="group commit") for lane in self._lanes]

    async def close(self) -> bool:
        """Wait until all writers are committed, with a timeout. Returns whether they were."""
        self._closing = True
        self._wake_all()
        if not self._tasks:
            return True
        _, unfinished = await asyncio.wait(self._tasks, timeout=self._seconds)
        for task in unfinished:
            task.cancel()
        await asyncio.wait(self._tasks)
        return not unfinished

    def add(self, writer: Writer) -> None:
        """Commit *writer* with the next transaction that may write about its subject."""
        self._waiting.append(writer)
        # A gathering thread will take this writer too. Another transaction would only split the batch.
        if self._idle and not self._gathering:
            self._idle.pop().called.set()

    async def _serve_lane(self, lane: "_WriterThread") -> None:
        while not (self._closing and not self._waiting):
            if self._last_batch_size >= GATHER_FROM and self._waiting:
                await self._gather()
            if batch := self._take_writers():
                await self._serve(lane, batch)
            else:
                await self._wait_for_work(lane)
        self._wake_all()

    async def _gather(self) -> None:
        self._gathering += 1
        for _ in range(GATHER_ROUNDS):
            await asyncio.sleep(0)
        self._gathering -= 1

    async def _wait_for_work(self, lane: "_WriterThread") -> None:
        lane.called.clear()
        self._idle.append(lane)
        await lane.called.wait()

    def _wake_all(self) -> None:
        for lane in self._idle:
            lane.called.set()
        self._idle.clear()

    def _take_writers(self) -> Sequence[Writer]:
        """Take the waiting writers, except those that must follow another write about the same subject."""
        if len(self._lanes) == 1:
            batch, self._waiting = self._waiting, []
            return batch
        batch, remaining, subjects = [], [], set[str]()
        for writer in self._waiting:
            if writer.about in self._in_flight or writer.about in subjects:
                remaining.append(writer)
                continue
            batch.append(writer)
            if writer.about is not None:
                subjects.add(writer.about)
        self._waiting = remaining
        return batch

    async def _serve(self, lane: "_WriterThread", batch: Sequence[Writer]) -> None:
        # A single thread preserves the order, and every call on SQLite passes here.
        subjects = {writer.about for writer in batch} if len(self._lanes) > 1 else set()
        self._in_flight |= subjects
        self._start_timeout(lane, batch)
        started_at = monotonic_seconds()
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(lane.executor, self._commit, batch)
        finally:
            self._in_flight -= subjects
            if lane.overdue:
                lane.overdue.cancel()
        self.durations.observe(monotonic_seconds() - started_at)
        self.writers_served += len(batch)
        self._last_batch_size = len(batch)
        for writer, outcome in zip(batch, outcomes, strict=True):
            set_outcome(writer.committed, outcome)

    def _start_timeout(self, lane: "_WriterThread", writers: Sequence[Writer]) -> None:
        """Limit the wait of *writers* to half of the timeout from now on."""
        lane.overdue = asyncio.get_running_loop().call_later(self._seconds / 2, self._fail_overdue, lane, writers)

    def _fail_overdue(self, lane: "_WriterThread", overdue: Sequence[Writer]) -> None:
        """Fail overdue writers with an unknown outcome.

        Writers queued behind them have not started and wait another period.
        """
        for writer in overdue:
            set_outcome(writer.committed, storage_unavailable("the commit took too long"))
        self._waiting = [writer for writer in self._waiting if not writer.committed.done()]
        self._start_timeout(lane, list(self._waiting))


class _WriterThread:
    """A thread that commits one transaction after the other."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.called = asyncio.Event()
        self.overdue: asyncio.TimerHandle | None = None
