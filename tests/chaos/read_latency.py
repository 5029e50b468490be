"""The speed of reads before the first fault and after the last one."""

import asyncio
import time
from dataclasses import dataclass

from chaos.faults import Faults
from chaos.installation import Node
from chaos.load import BOUND_SECONDS, Load
from connector_gateway.connectors import CONNECTOR_NAMES

FULL_SPEED_SECONDS = 3.0
"""The maximum duration of a read at full speed; under load and without faults it was up to 1.8 seconds."""

PAUSE_SECONDS = 1.0
"""The number of seconds between two rounds of reads."""

LEARNING_SECONDS = 10.0
"""The number of rounds until gateways have cached vendor data."""

ROUNDS_BEFORE = 10
"""The number of rounds of reads before the first fault."""


@dataclass
class Speed:
    """Rounds of reads of each connector, each at another gateway."""

    load: Load
    rounds: int = 0

    async def check_before_faults(self) -> list[str]:
        """Return reads that were slow before the first fault; without full speed, no recovery can be measured."""
        await asyncio.sleep(LEARNING_SECONDS)
        slow = [one for _ in range(ROUNDS_BEFORE) for one in await self._round()]
        return [f"not at full speed before the first fault: {one}" for one in slow]

    async def measure_recovery(self, faults: Faults) -> float:
        """Return the seconds from the last fault until every gateway was at full speed in every connector."""
        nodes = len(self.load.installation.nodes)
        reached, good = time.monotonic(), 0
        while good < nodes and time.monotonic() - faults.ended_at < BOUND_SECONDS:
            began = time.monotonic()
            slow = await self._round()
            good, reached = 0 if slow else good + 1, reached if good else began
            if slow:
                faults.log(f"not yet: {', '.join(slow)}")
        return (reached if good == nodes else time.monotonic()) - faults.ended_at

    async def _round(self) -> list[str]:
        """Return the slow or failed reads of one round, in words."""
        nodes = self.load.installation.nodes
        self.rounds += 1
        connectors = enumerate(CONNECTOR_NAMES, self.rounds)
        results = await asyncio.gather(
            *(self._measure(connector, nodes[number % len(nodes)]) for number, connector in connectors)
        )
        await asyncio.sleep(PAUSE_SECONDS)
        return [one for one in results if one]

    async def _measure(self, connector: str, node: Node) -> str:
        began = time.monotonic()
        reply = await self.load.read_cheaply(connector, node)
        elapsed = time.monotonic() - began
        return (
            ""
            if reply.status == 200 and elapsed < FULL_SPEED_SECONDS
            else f"{connector} {reply.summary} in {elapsed:.1f} s"
        )
