"""Histories side by side: a process per core, and a fork per history, so that each begins with exactly the same."""

import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from simulation.history import Installation, happen
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


BATCH = 12
"""Stories of one fork, which costs as much as half a story."""


def one(installation: Installation, story: Story) -> Outcome:
    """What becomes of *story*, in a fork of this process."""
    ((outcome,),) = _forked(installation, [[story]], 1)
    return outcome


def many(installation: Installation, stories: Iterable[Story], workers: int) -> Iterator[Outcome]:
    """What becomes of each of *stories*, as they end.

    Several happen in one fork, one after the other; one that breaks a promise there is told as it is in its own.
    """
    for outcomes in _forked(installation, batched(stories), workers):
        for outcome in outcomes:
            yield one(installation, outcome.story) if outcome.broken else outcome


def batched(stories: Iterable[Story]) -> Iterator[Sequence[Story]]:
    """*stories*, a fork's worth at a time."""
    coming = iter(stories)
    while batch := list(islice(coming, BATCH)):
        yield batch


def _forked(
    installation: Installation, batches: Iterable[Sequence[Story]], workers: int
) -> Iterator[Sequence[Outcome]]:
    gc.collect()
    gc.freeze()
    waiting: dict[Connection[Any, Any], tuple[int, Sequence[Story]]] = {}
    coming = iter(batches)
    more = True
    while more or waiting:
        while more and len(waiting) < workers:
            stories = next(coming, None)
            if stories is None:
                more = False
                break
            receiving, process_id = _fork(installation, stories)
            waiting[receiving] = process_id, stories
        for ready in wait(list(waiting)) if waiting else ():
            assert isinstance(ready, Connection)
            process_id, stories = waiting.pop(ready)
            yield _received(ready, process_id, stories)


def _fork(installation: Installation, stories: Sequence[Story]) -> tuple["Connection[Any, Any]", int]:
    receiving, sending = Pipe(duplex=False)
    process_id = os.fork()
    if process_id == 0:
        _child(sending, installation, stories)
    sending.close()
    return receiving, process_id


def _child(sending: "Connection[Any, Any]", installation: Installation, stories: Sequence[Story]) -> None:
    """Let stories happen and end at once: nothing is cleaned up that the parent still needs."""
    sys.unraisablehook = lambda _: None  # what dead processes leave behind complains when it is freed
    gc.disable()
    outcomes: list[tuple[list[str], list[str]]] = []
    for story in stories:
        signal.alarm(LONGEST_SECONDS)
        try:
            broken, lines = happen(installation, story)
        except BaseException:  # noqa: BLE001  # it is reported by the parent
            broken, lines = [f"I0 the simulation failed: {traceback.format_exc()}"], []
        outcomes.append((broken, lines if broken or len(stories) == 1 else []))
    sending.send_bytes(pickle.dumps(outcomes))
    os._exit(0)


def _received(receiving: "Connection[Any, Any]", process_id: int, stories: Sequence[Story]) -> Sequence[Outcome]:
    try:
        outcomes = pickle.loads(receiving.recv_bytes())
    except EOFError:
        outcomes = [([f"I0 it took more than {LONGEST_SECONDS} s, or the process died"], [])] * len(stories)
    receiving.close()
    os.waitpid(process_id, 0)
    return [Outcome(story, broken, lines) for story, (broken, lines) in zip(stories, outcomes, strict=True)]


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
