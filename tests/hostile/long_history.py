"""``python -m hostile.long_history`` in ``tests``: delays of other clients while a long history is searched in vain.

Prints the delays of ``/healthz`` and of a call, idle and during the searches, as a figure of an attack, not a test.
"""

import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import httpx

from connector_gateway.kit.identifiers import ulid
from harness.gateway_server import OPERATOR
from harness.installation import Installation, run_installation
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

RUNS = 500_000
SEARCHERS = 16
MEASURED = 200
ROW = (
    "INSERT INTO runs (run_id, workspace_id, key_id, connector, operation, surface, status, started_at, upstream)"
    " VALUES (?, 'ws_other', 'key', 'notes', 'create_page', 'http', 'ok', ?, '[]')"
)


def fill(folder: Path) -> None:
    """Fill the history while no process is serving it."""
    began = time.time() - 86_400
    rows = ((f"run_{ulid(int((began + n / 100) * 1000) << 80 | n)}", began + n / 100) for n in range(RUNS))
    with closing(sqlite3.connect(folder / "gateway.db")) as database, database:
        database.executemany(ROW, rows)


def search(installation: Installation, ended: threading.Event) -> None:
    """Search the runs of all workspaces in vain, repeatedly."""
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    with httpx.Client(headers=headers, timeout=60) as http:
        while not ended.is_set():
            http.get(f"{installation.base_url}/v1/runs", params={"operation": "nowhere"})


def delays(ask: Callable[[], object]) -> list[float]:
    """Return the milliseconds of each request."""
    measured = []
    for _ in range(MEASURED):
        began = time.perf_counter()
        ask()
        measured.append((time.perf_counter() - began) * 1e3)
    return sorted(measured)


def report(what: str, measured: Sequence[float]) -> None:
    """Print the measurements."""
    middle, most, worst = statistics.median(measured), measured[int(0.95 * MEASURED)], measured[-1]
    sys.stdout.write(f"{what}: median {middle:.1f} ms, 95 % {most:.1f} ms, worst {worst:.1f} ms\n")


def measure(installation: Installation, when: str) -> None:
    with httpx.Client(timeout=60) as http:
        report(f"/healthz, {when}", delays(lambda: http.get(f"{installation.base_url}/healthz")))
        strangers = {"Authorization": "Bearer nobody"}
        report(f"401, {when}", delays(lambda: http.get(f"{installation.base_url}/v1/runs", headers=strangers)))


def main() -> None:
    """Measure first idle, then during the searches."""
    with (
        tempfile.TemporaryDirectory() as name,
        run_emulators(notes=NotesEmulator) as sandbox,
        run_installation(sandbox, Path(name)) as installation,
    ):
        installation.end()
        fill(Path(name))
        installation.start()
        measure(installation, "quiet")
        ended = threading.Event()
        searchers = [threading.Thread(target=search, args=(installation, ended)) for _ in range(SEARCHERS)]
        for searcher in searchers:
            searcher.start()
        measure(installation, f"beside {SEARCHERS} who search {RUNS:,} runs")
        ended.set()
        for searcher in searchers:
            searcher.join()


if __name__ == "__main__":
    main()
