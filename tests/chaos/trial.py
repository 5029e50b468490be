"""One trial: load, faults, quiet, and what is true then."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos.faults import KINDS as FAULTS
from chaos.faults import Faults
from chaos.installation import Node, installed
from chaos.load import BOUND_SECONDS, Load
from chaos.verdict import verdict
from chaos.windows import Windows
from harness.valkey import Server
from simulation.process import Reply
from simulation.story import ByHand
from simulation.writes import KINDS

CALLERS = 10
BY_HAND_SECONDS = 2.0
RECOVERY_SECONDS = 10.0
FULL_SPEED_SECONDS = 3.0
"""How long a read takes at most at full speed: in notes it is three requests, of which three fit into a second."""

AFTERWARDS_SECONDS = 5.0
"""How long all goes on when nothing goes wrong any more."""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended."""

    broken: Sequence[str]
    answers: Counter[str]
    reads: Counter[str]
    faults: Counter[str]
    objects: int
    refused: Counter[str]
    """Requests that applications refused as too many, while the store was away or right after."""

    small: int
    """The most calls of the small key in a minute."""

    took: Sequence[float]
    recovery_seconds: float
    """From the last fault until reads of every room are at full speed, at each gateway."""


async def trial(
    postgres_server: str,
    store: Server,
    folder: Path,
    seconds: float,
    seed: int,
    *,
    kinds: Collection[str] = FAULTS,
    last: Collection[str] = (),
    callers: int = CALLERS,
    tell: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Let faults happen for so long under load, and judge; the gateways' logs are in *folder*."""
    random = Random(seed)
    async with installed(postgres_server, store, folder) as installation:
        load = Load(installation, random)
        faults = Faults(installation, postgres_server, Random(seed), kinds, tell, last=last)
        windows = Windows(load, faults)
        by_hand: list[ByHand] = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(load.caller(number)) for number in range(callers)]
            tasks += [group.create_task(load.small_caller()), group.create_task(_colleague(load, by_hand))]
            watching = group.create_task(windows.watch())
            await faults.go_on(seconds)
            faults.note("all is put right")
            recovery = await _recovered(load, faults)
            faults.note(f"all rooms are at full speed again after {recovery:.1f} s")
            await asyncio.sleep(AFTERWARDS_SECONDS)
            load.stopping = True
            _, late = await asyncio.wait(tasks, timeout=BOUND_SECONDS)
            for task in [*late, watching]:
                task.cancel()
        faults.note(f"callers have ended, {len(late)} of them without an answer")
        broken = await verdict(load, faults, windows, by_hand)
        if recovery > RECOVERY_SECONDS:
            broken.append(f"recovery took {recovery:.1f} s")
        return Outcome(
            broken,
            Counter(_told(asked.reply) for asked in load.asked),
            load.reads,
            faults.done,
            len({asked.write.content for asked in load.asked if asked.reply and asked.reply.status == 200}),
            windows.excused,
            windows.small,
            sorted(load.took),
            recovery,
        )


async def _colleague(load: Load, by_hand: list[ByHand]) -> None:
    """Somebody works in the applications that are observed."""
    await asyncio.sleep(2 * BY_HAND_SECONDS)
    for number in range(1_000_000):
        if load.stopping:
            break
        for kind in ("notes.create_page", "chat.post_message"):
            content = f"By hand {number}"
            KINDS[kind].colleague(load.world, content)
            by_hand.append(ByHand(float(number), kind, content))
        await asyncio.sleep(BY_HAND_SECONDS)


async def _recovered(load: Load, faults: Faults) -> float:
    """How long after the last fault reads of all rooms are at full speed, each of every gateway."""
    nodes, rooms = load.installation.nodes, list(load.installation.connections)
    reached = time.monotonic()
    turn = good = 0
    while good < len(nodes) and time.monotonic() - faults.ended_at < BOUND_SECONDS:
        asked_at = time.monotonic()
        places = [(nodes[(turn + number) % len(nodes)], room) for number, room in enumerate(rooms)]
        slow = [one for one in await asyncio.gather(*(_slow(load, node, room) for node, room in places)) if one]
        turn, good, reached = turn + 1, 0 if slow else good + 1, reached if good else asked_at
        if slow:
            faults.note(f"not yet: {', '.join(slow)}")
        await asyncio.sleep(1)
    return (reached if good == len(nodes) else time.monotonic()) - faults.ended_at


async def _slow(load: Load, node: Node, room: str) -> str:
    """What is not right with a read yet, in words."""
    began = time.monotonic()
    reply = await load.read(room, node)
    took = time.monotonic() - began
    return "" if reply.status == 200 and took < FULL_SPEED_SECONDS else f"{room} {_told(reply)} in {took:.1f} s"


def _told(reply: Reply | None) -> str:
    if reply is None:
        return "nothing"
    return {0: "cut", 200: "200"}.get(reply.status, f"{reply.status} {reply.code}")
