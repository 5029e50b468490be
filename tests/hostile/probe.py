"""``python -m hostile.probe URL PID``: how long ``/healthz`` takes, and how large a process is, until told to end.

It is a process of its own, so that what an attack costs the attacker delays no measurement.
Attacker and other programs use the processors too. How long the kernel kept the gateway, or this process, waiting for
one is therefore told apart from what the gateway itself took.
"""

import http.client
import json
import os
import select
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.005
WARM_UP = 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure until a line comes in, then tell what was seen."""
    place, process = urlsplit(sys.argv[1]), Path("/proc") / sys.argv[2]
    runnable = (process / "schedstat", Path("/proc/thread-self/schedstat"))
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    delays: list[float] = []
    waits: list[float] = []
    sizes: list[int] = []
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        waited = sum(map(_waited, runnable))
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        delays.append(time.perf_counter() - began)
        waits.append(sum(map(_waited, runnable)) - waited)
        sizes.append(int((process / "statm").read_text().split()[1]) * PAGE_BYTES)
        if len(delays) == WARM_UP:
            sys.stdout.write("begin\n")
            sys.stdout.flush()
    json.dump({"delays": delays, "waits": waits, "sizes": sizes}, sys.stdout)


def _waited(schedstat: Path) -> float:
    """Seconds that a thread has waited for a processor since it began."""
    return int(schedstat.read_text().split()[1]) / 1e9


if __name__ == "__main__":
    main()
