"""The times until ``serve`` and a second ``make run`` are ready and ``--help`` is printed, above an empty Python."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.processes import environment_of, free_port, started

ROUNDS = 5


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with tempfile.TemporaryDirectory() as folder:
        empty = _median(partial(_run, "-c", ""))
        starts: list[tuple[str, Callable[[], float], float]] = [
            ("start of serve to ready", partial(_serve, environment_of({}, Path(folder))), 1.0),
            ("second make run to ready", partial(_make_run, Path(folder) / "data"), 1.5),
            ("connector-gateway --help", partial(_run, "-m", "connector_gateway", "--help"), 0.25),
        ]
        for label, start, bar in starts:
            taken = _median(start) - empty
            yield label, f"{taken:.2f} s (median of {ROUNDS})", f"<= {bar:g} s", taken <= bar


def _median(start: Callable[[], float]) -> float:
    """Return the median time of *start*, without the first, which creates databases and reads files from the disk."""
    start()
    return statistics.median(start() for _ in range(ROUNDS))


def _run(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _serve(environment: dict[str, str]) -> float:
    port = free_port()
    began = time.perf_counter()
    with started("connector_gateway", "serve", "--port", str(port), port=port, ready="/readyz", **environment):
        return time.perf_counter() - began


def _make_run(data: Path) -> float:
    port = free_port()
    options = f"--port {port} --sandbox-port {port + 1} --data {data}"
    began = time.perf_counter()
    with subprocess.Popen(["make", "run", f"ARGS={options}"], stdout=subprocess.PIPE, text=True) as process:
        is_ready = any(line.startswith("ready") for line in process.stdout or ())
        taken = time.perf_counter() - began
        process.terminate()
        process.communicate()
    if not is_ready:
        raise RuntimeError("make run ended before it was ready")
    return taken
