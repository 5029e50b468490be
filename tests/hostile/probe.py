"""``python -m hostile.probe URL PID``: how long ``/healthz`` takes, and how large a process is, until stopped.

It is a process of its own, so that what an attack costs the attacker delays no measurement.
Attacker and other programs use the processors too. How long the kernel kept the gateway, or this process, waiting for
one is therefore told apart from what the gateway itself took: its event loop, or another of its threads, for which the
loop waits while that has the interpreter to itself.
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
    """Measure until a line comes in, then report it."""
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
    """Seconds that the thread of the event loop has waited, and of the others the one that has waited longest."""
    waited = {thread: seconds - before.get(thread, 0.0) for thread, seconds in after.items()}
    return waited.pop(loop, 0.0) + max(waited.values(), default=0.0)


def _threads(process: Path) -> Mapping[str, float]:
    """The seconds for which each thread has waited for a processor since it began."""
    threads = {}
    for thread in (process / "task").iterdir():
        # It may have ended meanwhile.
        with suppress(OSError):
            threads[thread.name] = _waited(thread / "schedstat")
    return threads


def _waited(schedstat: Path) -> float:
    """Seconds that a thread has waited for a processor since it began."""
    return int(schedstat.read_text().split()[1]) / 1e9


if __name__ == "__main__":
    main()
