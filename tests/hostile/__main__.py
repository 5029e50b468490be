"""``python -m hostile``: attack a gateway, and tell what that costs everybody else."""

import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path

from harness.installed import Installation, installed
from harness.playing import playing
from hostile.attacks import ATTACKS
from hostile.beside import Seen, beside
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

ROW = "{:<20} {:>8} {:>8} {:>8} {:>8} {:>8}"


def main() -> None:
    """Make the attacks that are named, or all of them."""
    wanted = sys.argv[1:] or list(ATTACKS)
    print(ROW.format("beside", "median", "longest", "held", "grown", "seconds"))
    with _stand_ins() as sandbox, tempfile.TemporaryDirectory() as folder:
        for name in ["nothing", *wanted]:
            with installed(sandbox, Path(folder), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20") as installation:
                began = time.perf_counter()
                with beside(installation) as seen:
                    ATTACKS.get(name, _wait)(installation)
                _tell(name, seen, time.perf_counter() - began)


def _stand_ins() -> AbstractContextManager[Sandbox]:
    return playing(mail=MailEmulator, notes=NotesEmulator, tables=TablesEmulator)


def _wait(_: Installation) -> None:
    time.sleep(3)


def _tell(name: str, seen: Seen, seconds: float) -> None:
    figures = (
        f"{seen.median_ms:.1f} ms",
        f"{seen.longest_ms:.0f} ms",
        f"{seen.held_ms:.0f} ms",
        f"{seen.grown_mib:.0f} MiB",
        f"{seconds:.1f}",
    )
    print(ROW.format(name, *figures), flush=True)


if __name__ == "__main__":
    main()
