"""The effects of an attack on other clients: delays of ``/healthz``, and memory of the process, seen from outside."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness.gateway_process import Installation

MEBIBYTE = 1024 * 1024
AFTERWARDS_SECONDS = 0.5
"""The time for requests that an attack has not completed."""

TRIES = 5

TESTS = Path(__file__).parent.parent


@dataclass
class Seen:
    """The measurements of a bystander."""

    delays: Sequence[float] = field(default_factory=list)
    waits: Sequence[float] = field(default_factory=list)
    """The part of each delay in which the gateway or the probe waited for a processor."""

    sizes: Sequence[int] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        """The median delay of ``/healthz``."""
        return median(self.delays) * 1000

    @property
    def longest_ms(self) -> float:
        """The longest delay."""
        return max(self.delays) * 1000

    @property
    def blocked_ms(self) -> float:
        """The longest delay caused by the gateway itself, over the median."""
        own = [delay - waited for delay, waited in zip(self.delays, self.waits, strict=True)]
        return max(own) * 1000 - self.median_ms

    @property
    def grown_mib(self) -> float:
        """The growth of the process over its initial size."""
        return (max(self.sizes) - self.sizes[0]) / MEBIBYTE


@contextmanager
def watch_bystander(installation: Installation) -> Iterator[Seen]:
    """Measure during the block; the results are available afterwards."""
    assert installation.process is not None
    command = [sys.executable, "-m", "hostile.health_probe", installation.base_url, str(installation.process.pid)]
    seen = Seen()
    probe = subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert probe.stdout is not None
    try:
        probe.stdout.readline()
        yield seen
        time.sleep(AFTERWARDS_SECONDS)
    finally:
        output, _ = probe.communicate("end\n")
    measured = json.loads(output)
    seen.delays, seen.waits, seen.sizes = measured["delays"], measured["waits"], measured["sizes"]


def tries(measured: Callable[[], Seen], most_ms: float) -> list[Seen]:
    """Return a measurement of a few tries; the first without delays above *most_ms* is the last.

    Work that blocks the process does so each time. Occasional blocks are caused by other programs on the machine.
    """
    seen = [measured()]
    while len(seen) < TRIES and seen[-1].blocked_ms >= most_ms:
        seen.append(measured())
    return seen


def least_blocked_ms(installation: Installation, work: Callable[[], None], most_ms: float) -> float:
    """Return the shortest delay of a few tries that *work* causes other clients."""

    def measured() -> Seen:
        with watch_bystander(installation) as seen:
            work()
        return seen

    return min(seen.blocked_ms for seen in tries(measured, most_ms))
