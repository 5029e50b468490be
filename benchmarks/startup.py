"""The time until ``serve`` is ready, and the time of a second ``dev``."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import environment_of, free_port, started

ROUNDS = 5


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of({}, Path(folder))
        taken = statistics.median(_start(environment) for _ in range(ROUNDS))
    yield "start of serve to ready", f"{taken:.2f} s (median of {ROUNDS})", "<= 1 s", taken <= 1


def _start(environment: dict[str, str]) -> float:
    port = free_port()
    began = time.perf_counter()
    with started("connector_gateway", "serve", "--port", str(port), port=port, ready="/readyz", **environment):
        return time.perf_counter() - began
