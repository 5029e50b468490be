"""One trial: load, faults, quiet, and what is true then."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
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

CALLERS = 12
BY_HAND_SECONDS = 2.0
OBSERVED_SECONDS = 20.0
"""How long after the last change its event may come: two polls, behind what else is to be done."""

RECOVERY_SECONDS = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a trial ended."""

    broken: Sequence[str]
    lines: Sequence[str]
    answers: Counter[str]
    reads: Counter[str]
    objects: int
    refused: Counter[str]
    recovery_seconds: float
    """From the last fault until every gateway had answered a read of every room."""


async def trial(postgres_server: str, store: Server, seconds: float, seed: int, callers: int = CALLERS) -> Outcome:
    """Let faults happen for so long under load, and judge."""
    random = Random(seed)
    async with installed(postgres_server, store) as installation:
        load, faults = Load(installation, random), Faults(installation, postgres_server, random)
        by_hand: list[ByHand] = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(load.caller(number)) for number in range(callers)]
            tasks.append(group.create_task(_colleague(load, by_hand)))
            await faults.go_on(seconds)
            recovery = await _recovered(load)
            load.stopping = True
            _, late = await asyncio.wait(tasks, timeout=BOUND_SECONDS)
            for task in late:
                task.cancel()
        await asyncio.sleep(OBSERVED_SECONDS)
        broken = await verdict(load, faults, by_hand)
        if recovery > RECOVERY_SECONDS:
            broken.append(f"recovery took {recovery:.1f} s")
        return Outcome(
            broken,
            faults.lines,
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


async def _recovered(load: Load) -> float:
    """How long it takes until a read of every room succeeds three times running."""
    began = time.monotonic()
    succeeded = 0
    while succeeded < 3:
        replies = await asyncio.gather(*(load.read(room) for room in load.installation.connections))
        succeeded = succeeded + 1 if all(reply.status == 200 for reply in replies) else 0
        if time.monotonic() - began > BOUND_SECONDS:
            break
    return time.monotonic() - began


def _told(reply: Reply | None) -> str:
    if reply is None:
        return "nothing"
    return {0: "cut", 200: "200"}.get(reply.status, f"{reply.status} {reply.code}")
