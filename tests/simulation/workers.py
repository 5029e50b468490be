"""Histories side by side: a process per core, each forked with untouched vendors for a few histories."""

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

from simulation.history import Installation, happen, install
from simulation.story import Story
from simulation.vendors import Vendors

LONGEST_SECONDS = 60
"""Real time that one history may take; it takes milliseconds, unless something goes round in circles."""


BATCH = 16
"""Histories that one fork runs, each with vendors of its own: a fork copies every page of memory it touches."""


@dataclass(frozen=True)
class Outcome:
    """The result of a history."""

    story: Story
    broken: Sequence[str]
    lines: Sequence[str]

    @property
    def invariants(self) -> frozenset[str]:
        """The numbers of what is broken."""
        return frozenset(sentence.split()[0] for sentence in self.broken)


Stage = Callable[[Story], Outcome]
"""Runs a story and returns its outcome."""


@contextmanager
def stage() -> Iterator[Stage]:
    """Lets histories happen in forks of a process without threads, whatever the present one has.

    What is forked while another thread holds a lock, such as SQLite's own, waits for that lock without end.
    """
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_perform, args=(there,))
    process.start()
    there.close()

    def performed(story: Story) -> Outcome:
        here.send(story)
        outcome: Outcome = here.recv()
        return outcome

    try:
        yield performed
    finally:
        here.close()
        process.join()


def _perform(requests: "Connection[Any, Any]") -> None:
    """Tell what becomes of each story that comes, until no more can."""
    installation = install()
    try:
        while True:
            requests.send(one(installation, requests.recv()))
    except EOFError:
        pass
    finally:
        rmtree(installation.template.parent)


def one(installation: Installation, story: Story) -> Outcome:
    """The outcome of *story*, in a fork of this process."""
    (outcome,) = _forked([installation], [story], 1)
    return outcome


def many(installation: Installation, stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    """The outcome of each of *stories*, as they end."""
    return _forked(
        [installation, *(replace(installation, vendors=Vendors()) for _ in range(BATCH - 1))], stories, workers
    )


def _forked(installations: Sequence[Installation], stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    gc.collect()
    gc.freeze()
    coming, again = iter(stories), deque[Story]()
    busy: dict[Connection[Any, Any], _Batch] = {}
    while True:
        while len(busy) < workers and (batch := _taken(again, coming, len(installations))):
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


def _taken(again: deque[Story], coming: Iterator[Story], most: int) -> list[Story]:
    """Take the next stories: those that a fork left when it died, then new ones."""
    left = [again.popleft() for _ in range(min(most, len(again)))]
    return [*left, *islice(coming, most - len(left))]


@dataclass
class _Batch:
    """The stories that one fork has still to tell."""

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
    """Let each story of *batch* happen to an installation of its own, and end at once: nothing is cleaned up."""
    gc.disable()
    for installation, story in zip(installations, batch, strict=False):
        signal.alarm(LONGEST_SECONDS)
        try:
            broken, lines = happen(installation, story)
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


def smaller(installation: Installation, outcome: Outcome, report: Callable[[str], None]) -> Outcome:
    """The same failure with as little story as possible: items are left out one by one as long as it still fails."""
    index = 0
    while index < len(outcome.story.items):
        tried = one(installation, outcome.story.without(index))
        if tried.invariants & outcome.invariants:
            outcome = tried
        else:
            index += 1
    report(f"made smaller: {len(outcome.story.items)} items are left")
    return outcome
