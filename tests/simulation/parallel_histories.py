"""Parallel histories: a process per core, forked with untouched vendors for a few histories."""

import gc
import os
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, Pipe, wait
from shutil import rmtree
from typing import Any

from simulation.scenarios import Story
from simulation.simulated_history import Installation, install, run_story
from simulation.vendors import Vendors

LONGEST_SECONDS = 60
"""Real seconds for one history, which takes milliseconds unless it loops endlessly."""


BATCH = 16
"""The number of histories per fork, each with its own vendors: a fork copies every page of memory it touches."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a history."""

    story: Story
    broken: Sequence[str]
    lines: Sequence[str]

    @property
    def invariants(self) -> frozenset[str]:
        """The numbers of the broken invariants."""
        return frozenset(sentence.split()[0] for sentence in self.broken)


StoryRunner = Callable[[Story], Outcome]
"""Runs a story and returns its outcome."""


@contextmanager
def runner() -> Iterator[StoryRunner]:
    """Runs histories in forks of a process without threads.

    A fork that copies a lock held by another thread, such as SQLite's own, would wait for it forever.
    """
    here, remote = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_run_received, args=(remote,))
    process.start()
    remote.close()

    def run_stories(story: Story) -> Outcome:
        here.send(story)
        outcome: Outcome = here.recv()
        return outcome

    try:
        yield run_stories
    finally:
        here.close()
        process.join()


def _run_received(requests: "Connection[Any, Any]") -> None:
    """Run each received story and send its outcome, until the connection is closed."""
    installation = install()
    try:
        while True:
            requests.send(run_one(installation, requests.recv()))
    except EOFError:
        pass
    finally:
        rmtree(installation.template.parent)


def run_one(installation: Installation, story: Story) -> Outcome:
    """Return the outcome of *story*, run in a fork of this process."""
    (outcome,) = _forked([installation], [story], 1)
    return outcome


def run_many(installation: Installation, stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    """Yield the outcome of each of *stories*, as they end."""
    return _forked(
        [installation, *(replace(installation, vendors=Vendors()) for _ in range(BATCH - 1))], stories, workers
    )


def _forked(installations: Sequence[Installation], stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    gc.collect()
    gc.freeze()
    coming, again = iter(stories), deque[Story]()
    busy: dict[Connection[Any, Any], _Batch] = {}
    while True:
        while len(busy) < workers and (batch := _take_stories(again, coming, len(installations))):
            receiving, process_id = _fork(installations, batch)
            busy[receiving] = _Batch(process_id, batch)
        if not busy:
            return
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)
            batch_of = busy[ready]
            yield _received(ready, batch_of.left.pop(0))
            if ready.closed or not batch_of.left:
                ready.close()
                os.waitpid(batch_of.process_id, 0)
                again.extend(busy.pop(ready).left)


def _take_stories(again: deque[Story], coming: Iterator[Story], most: int) -> list[Story]:
    """Return the next stories: those left by a fork that died, then new ones."""
    left = [again.popleft() for _ in range(min(most, len(again)))]
    return [*left, *islice(coming, most - len(left))]


@dataclass
class _Batch:
    """Return the stories that one fork has not completed."""

    process_id: int
    left: list[Story]


def _fork(installations: Sequence[Installation], batch: Sequence[Story]) -> tuple["Connection[Any, Any]", int]:
    receiving, sending = Pipe(duplex=False)
    process_id = os.fork()
    if process_id == 0:
        _child(sending, installations, batch)
    sending.close()
    return receiving, process_id


def _child(sending: "Connection[Any, Any]", installations: Sequence[Installation], batch: Sequence[Story]) -> None:
    """Run each story of *batch* on a separate installation, and exit immediately without cleanup."""
    gc.disable()
    for installation, story in zip(installations, batch, strict=False):
        signal.alarm(LONGEST_SECONDS)
        try:
            broken, lines = run_story(installation, story)
        except BaseException:  # noqa: BLE001  # it is reported by the parent
            broken, lines = [f"I0 the simulation failed: {traceback.format_exc()}"], []
        sending.send_bytes(pickle.dumps((broken, lines)))
    os._exit(0)


def _received(receiving: "Connection[Any, Any]", story: Story) -> Outcome:
    try:
        broken, lines = pickle.loads(receiving.recv_bytes())
    except EOFError:
        receiving.close()
        broken, lines = [f"I0 it took more than {LONGEST_SECONDS} s, or the process died"], []
    return Outcome(story, broken, lines)


def minimise(installation: Installation, outcome: Outcome, report: Callable[[str], None]) -> Outcome:
    """Minimise a failing story: items are removed one by one as long as it still fails."""
    index = 0
    while index < len(outcome.story.items):
        tried = run_one(installation, outcome.story.without(index))
        if tried.invariants & outcome.invariants:
            outcome = tried
        else:
            index += 1
    report(f"made smaller: {len(outcome.story.items)} items are left")
    return outcome
