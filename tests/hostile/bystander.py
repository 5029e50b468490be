"""What an attack costs other clients: delays of ``/healthz``, and memory of the process, seen from outside."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness.installation import Installation

MEBIBYTE = 1024 * 1024
AFTERWARDS_SECONDS = 0.5
"""For what an attack has begun and not ended."""

TRIES = 5

TESTS = Path(__file__).parent.parent


@dataclass
class Seen:
    """Measurements of a bystander."""

    delays: Sequence[float] = field(default_factory=list)
    waits: Sequence[float] = field(default_factory=list)
    """How much of each delay passed while the gateway or the probe waited for a processor."""

    sizes: Sequence[int] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        """What ``/healthz`` took most of the time."""
        return median(self.delays) * 1000

    @property
    def longest_ms(self) -> float:
        """What it took at the most."""
        return max(self.delays) * 1000

    @property
    def blocked_ms(self) -> float:
        """What the gateway itself kept it waiting at the most, over what it took most of the time."""
        own = [delay - waited for delay, waited in zip(self.delays, self.waits, strict=True)]
        return max(own) * 1000 - self.median_ms

    @property
    def grown_mib(self) -> float:
        """By how much the process was larger at times than at the beginning."""
        return (max(self.sizes) - self.sizes[0]) / MEBIBYTE


@contextmanager
def watch_bystander(installation: Installation) -> Iterator[Seen]:
    """Measure while inside; the figures are there afterwards."""
    assert installation.process is not None
    command = [sys.executable, "-m", "hostile.probe", installation.base_url, str(installation.process.pid)]
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
    """What was *measured* in a few tries; one in which nobody was held up for *most_ms* is the last.

    Work that holds the process does so each time. What holds it now and then is the rest of the machine.
    """
    seen = [measured()]
    while len(seen) < TRIES and seen[-1].blocked_ms >= most_ms:
        seen.append(measured())
    return seen


def least_blocked_ms(installation: Installation, work: Callable[[], None], most_ms: float) -> float:
    """The shortest delay that *work* causes other clients, of a few tries."""

    def measured() -> Seen:
        with watch_bystander(installation) as seen:
            work()
        return seen

    return min(seen.blocked_ms for seen in tries(measured, most_ms))
