"""``python -m hostile.health_probe URL PID``: measure delays of ``/healthz`` and the size of a process until stopped.

A separate process, so that the cost of the attack does not delay the measurement.
Attacker and other programs use the processors too. The time that the kernel kept the gateway, or this process,
waiting for a processor is therefore reported separately from delays by the gateway itself: by its event loop, or by
another of its threads that holds the interpreter lock.
"""

import http.client
import json
import os
import select
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.005
WARM_UP = 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure until a line arrives, then report the result."""
    target, process = urlsplit(sys.argv[1]), Path("/proc") / sys.argv[2]
    here = Path("/proc/thread-self/schedstat")
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
    delays: list[float] = []
    waits: list[float] = []
    sizes: list[int] = []
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        waited, threads = _waited(here), _threads(process)
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        delays.append(time.perf_counter() - began)
        waits.append(_waited(here) - waited + _waiting_seconds(sys.argv[2], threads, _threads(process)))
        sizes.append(int((process / "statm").read_text().split()[1]) * PAGE_BYTES)
        if len(delays) == WARM_UP:
            sys.stdout.write("begin\n")
            sys.stdout.flush()
    json.dump({"delays": delays, "waits": waits, "sizes": sizes}, sys.stdout)


def _waiting_seconds(loop: str, before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return the seconds that the event loop's thread has waited, and those of the longest-waiting other thread."""
    waited = {thread: seconds - before.get(thread, 0.0) for thread, seconds in after.items()}
    return waited.pop(loop, 0.0) + max(waited.values(), default=0.0)


def _threads(process: Path) -> Mapping[str, float]:
    """Return the seconds that each thread has waited for a processor."""
    threads = {}
    for thread in (process / "task").iterdir():
        # It may have ended meanwhile.
        with suppress(OSError):
            threads[thread.name] = _waited(thread / "schedstat")
    return threads


def _waited(schedstat: Path) -> float:
    """Return the seconds that a thread has waited for a processor."""
    return int(schedstat.read_text().split()[1]) / 1e9


if __name__ == "__main__":
    main()
