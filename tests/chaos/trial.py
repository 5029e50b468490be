"""One trial: load, faults, quiet, and what is true then."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from chaos.faults import Faults
from chaos.installation import installed
from chaos.load import BOUND_SECONDS, Load
from chaos.verdict import refused, verdict
from harness.valkey import Server
from simulation.process import Reply
from simulation.story import ByHand
from simulation.writes import KINDS

CALLERS = 8
BY_HAND_SECONDS = 2.0
OBSERVED_SECONDS = 20.0
"""How long after the last change its event may come: two polls, behind what else is to be done."""

RECOVERY_SECONDS = 10.0
SLOW_SECONDS = 2.0


@dataclass(frozen=True)
class Outcome:
    """How a trial ended."""

    broken: Sequence[str]
    answers: Counter[str]
    reads: Counter[str]
    objects: int
    refused: Counter[str]
    recovery_seconds: float
    """From the last fault until every gateway had answered a read of every room."""


async def trial(
    postgres_server: str,
    store: Server,
    seconds: float,
    seed: int,
    *,
    callers: int = CALLERS,
    tell: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Let faults happen for so long under load, and judge."""
    random = Random(seed)
    async with installed(postgres_server, store) as installation:
        load, faults = Load(installation, random), Faults(installation, postgres_server, random, tell)
        by_hand: list[ByHand] = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(load.caller(number)) for number in range(callers)]
            tasks.append(group.create_task(_colleague(load, by_hand)))
            await faults.go_on(seconds)
            faults.note("all is put right")
            recovery = await _recovered(load, faults)
            faults.note("reads of all rooms succeed")
            load.stopping = True
            _, late = await asyncio.wait(tasks, timeout=BOUND_SECONDS)
            for task in late:
                task.cancel()
        faults.note(f"callers have ended, {len(late)} of them without an answer")
        await asyncio.sleep(OBSERVED_SECONDS)
        broken = await verdict(load, faults, by_hand)
        if recovery > RECOVERY_SECONDS:
            broken.append(f"recovery took {recovery:.1f} s")
        return Outcome(
            broken,
            Counter(_told(asked.reply) for asked in load.asked),
            load.reads,
            len({asked.write.content for asked in load.asked if asked.reply and asked.reply.status == 200}),
            refused(load, faults),
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
    """How long it takes until a read of every room succeeds twice running."""
    began = time.monotonic()
    succeeded = 0
    while succeeded < 2 and time.monotonic() - began < BOUND_SECONDS:
        replies = await asyncio.gather(*(_timed(load, faults, room) for room in load.installation.connections))
        failed = [
            f"{room} {_told(reply)}"
            for room, reply in zip(load.installation.connections, replies, strict=True)
            if reply.status != 200
        ]
        succeeded = 0 if failed else succeeded + 1
        if failed:
            faults.note(f"not yet: {', '.join(failed)}")
        await asyncio.sleep(0.5)
    return time.monotonic() - began


async def _timed(load: Load, faults: Faults, room: str) -> Reply:
    """A read, which is told of where it takes long."""
    began = time.monotonic()
    reply = await load.read(room)
    if (took := time.monotonic() - began) >= SLOW_SECONDS:
        waited = reply.body.get("meta") if reply.status else None
        faults.note(f"a read of {room} took {took:.1f} s: {_told(reply)} {waited or ''}")
    return reply


def _told(reply: Reply | None) -> str:
    if reply is None:
        return "nothing"
    return {0: "cut", 200: "200"}.get(reply.status, f"{reply.status} {reply.code}")
