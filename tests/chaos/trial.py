"""One trial: load, faults, a quiet period, and checks."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos.faults import KINDS as FAULTS
from chaos.faults import Faults
from chaos.final_checks import check_outcome
from chaos.installation import run_installation
from chaos.load import BOUND_SECONDS, Load
from chaos.read_latency import Speed
from chaos.window_usage import Windows
from harness.valkey import Server
from simulation.scenarios import ByHand
from simulation.writes import KINDS

CALLERS = 10
BY_HAND_SECONDS = 2.0
RECOVERY_SECONDS = 10.0
HALF_SPEED_SECONDS = 60.0
"""The time for which a store that lost its data can admit half of the usual calls."""

AFTERWARDS_SECONDS = 5.0
"""The time for which the load continues after the last fault."""


@dataclass(frozen=True)
class Outcome:
    """The result of a trial."""

    broken: Sequence[str]
    answers: Counter[str]
    reads: Counter[str]
    faults: Counter[str]
    objects: int
    throttled: Counter[str]
    """Vendor requests that were throttled while the store was unavailable or shortly after."""

    max_admitted: int
    """The maximum number of calls of the small key in a minute."""

    durations: Sequence[float]
    recovery_seconds: float
    """The time from the last fault until reads of every connector are at full speed at each gateway."""


async def run_trial(
    postgres_server: str,
    store: Server,
    folder: Path,
    seconds: float,
    seed: int,
    *,
    kinds: Collection[str] = FAULTS,
    last: Collection[str] = (),
    callers: int = CALLERS,
    report: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Inject faults for *seconds* under load, and check the result. The gateways' logs are in *folder*."""
    random = Random(seed)
    async with run_installation(postgres_server, store, folder) as installation:
        load = Load(installation, random)
        faults = Faults(installation, postgres_server, Random(seed), kinds, report, last=last)
        windows = Windows(load, faults)
        by_hand: list[ByHand] = []
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(load.run_caller(number)) for number in range(callers)]
            tasks += [group.create_task(load.run_small_caller()), group.create_task(_act_as_colleague(load, by_hand))]
            watching = group.create_task(windows.sample_loop())
            speed = Speed(load)
            slow_before = await speed.check_before_faults()
            await faults.inject(seconds)
            faults.log("all faults have ended")
            recovery = await speed.measure_recovery(faults)
            faults.log(f"all connectors are at full speed again after {recovery:.1f} s")
            await asyncio.sleep(AFTERWARDS_SECONDS)
            load.stopping = True
            _, late = await asyncio.wait(tasks, timeout=BOUND_SECONDS)
            for task in [*late, watching]:
                task.cancel()
        faults.log(f"callers have ended, {len(late)} of them without a response")
        broken = [*await check_outcome(load, faults, windows, by_hand), *slow_before]
        if recovery > RECOVERY_SECONDS + max(0.0, faults.data_lost_at + HALF_SPEED_SECONDS - faults.ended_at):
            broken.append(f"recovery took {recovery:.1f} s")
        return Outcome(
            broken,
            Counter(call.reply.summary if call.reply else "nothing" for call in load.calls),
            load.reads,
            faults.done,
            len({call.write.content for call in load.calls if call.reply and call.reply.status == 200}),
            windows.caused_by_store,
            windows.max_admitted,
            sorted(load.durations),
            recovery,
        )


async def _act_as_colleague(load: Load, by_hand: list[ByHand]) -> None:
    """Act as a colleague at the observed vendors."""
    await asyncio.sleep(2 * BY_HAND_SECONDS)
    for number in range(1_000_000):
        if load.stopping:
            break
        for kind in ("notes.create_page", "chat.post_message"):
            content = f"By hand {number}"
            KINDS[kind].colleague(load.world, content)
            by_hand.append(ByHand(float(number), kind, content))
        await asyncio.sleep(BY_HAND_SECONDS)
