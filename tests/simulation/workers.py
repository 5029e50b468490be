"""Histories side by side: a process per core, and a fork per history, so that each begins with exactly the same."""

import gc
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, Pipe, wait
from shutil import rmtree
from typing import Any

from simulation.history import Installation, happen, install
from simulation.story import Story

LONGEST_SECONDS = 60
"""Real time that one history may take; it takes milliseconds, unless something goes round in circles."""


@dataclass(frozen=True)
class Outcome:
    """How a history ended."""

    story: Story
    broken: Sequence[str]
    lines: Sequence[str]

    @property
    def invariants(self) -> frozenset[str]:
        """The numbers of what is broken."""
        return frozenset(sentence.split()[0] for sentence in self.broken)


Stage = Callable[[Story], Outcome]
"""Tells what becomes of a story."""


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


def _perform(asked: "Connection[Any, Any]") -> None:
    """Tell what becomes of each story that comes, until no more can."""
    installation = install()
    try:
        while True:
            asked.send(one(installation, asked.recv()))
    except EOFError:
        pass
    finally:
        rmtree(installation.template.parent)


def one(installation: Installation, story: Story) -> Outcome:
    """What becomes of *story*, in a fork of this process."""
    (outcome,) = _forked(installation, [story], 1)
    return outcome


def many(installation: Installation, stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    """What becomes of each of *stories*, as they end."""
    return _forked(installation, stories, workers)


def _forked(installation: Installation, stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    gc.collect()
    gc.freeze()
    waiting: dict[Connection[Any, Any], tuple[int, Story]] = {}
    coming = iter(stories)
    more = True
    while more or waiting:
        while more and len(waiting) < workers:
            story = next(coming, None)
            if story is None:
                more = False
                break
            receiving, process_id = _fork(installation, story)
            waiting[receiving] = process_id, story
        for ready in wait(list(waiting)) if waiting else ():
            assert isinstance(ready, Connection)
            process_id, story = waiting.pop(ready)
            yield _received(ready, process_id, story)


def _fork(installation: Installation, story: Story) -> tuple["Connection[Any, Any]", int]:
    receiving, sending = Pipe(duplex=False)
    process_id = os.fork()
    if process_id == 0:
        _child(sending, installation, story)
    sending.close()
    return receiving, process_id


def _child(sending: "Connection[Any, Any]", installation: Installation, story: Story) -> None:
    """Let a story happen and end at once: nothing is cleaned up that the parent still needs."""

    signal.alarm(LONGEST_SECONDS)
    gc.disable()
    try:
        broken, lines = happen(installation, story)
    except BaseException:  # noqa: BLE001  # it is reported by the parent
        broken, lines = [f"I0 the simulation failed: {traceback.format_exc()}"], []
    sending.send_bytes(pickle.dumps((broken, lines)))
    os._exit(0)


def _received(receiving: "Connection[Any, Any]", process_id: int, story: Story) -> Outcome:
    try:
        broken, lines = pickle.loads(receiving.recv_bytes())
    except EOFError:
        broken, lines = [f"I0 it took more than {LONGEST_SECONDS} s, or the process died"], []
    receiving.close()
    os.waitpid(process_id, 0)
    return Outcome(story, broken, lines)


def smaller(installation: Installation, outcome: Outcome, tell: Callable[[str], None]) -> Outcome:
    """The same failure with as little story as possible: items are left out one by one as long as it still fails."""
    index = 0
    while index < len(outcome.story.items):
        tried = one(installation, outcome.story.without(index))
        if tried.invariants & outcome.invariants:
            outcome = tried
        else:
            index += 1
    tell(f"made smaller: {len(outcome.story.items)} items are left")
    return outcome
