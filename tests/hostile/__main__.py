"""``python -m hostile``: attack a gateway, and report the effects on other clients."""

import sys
import tempfile
import time
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

from harness.gateway_process import Installation, run_installation
from harness.sandbox_server import run_emulators
from hostile.attacks import ATTACKS
from hostile.bystander_effects import Seen, watch_bystander
from hostile.outcome_cases import every_case, failures, run_cases
from hostile.token_attempts import RATE, compare
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

WRONG_TOKENS = "wrong_tokens"
SAMPLED = 401
"""The divisor of tried responses to writes during the attacks: a prime, so that all kinds are met."""

ROW = "{:<20} {:>8} {:>8} {:>8} {:>8} {:>8}"


def main() -> None:
    """Run the named attacks, or all of them; ``outcomes`` alone tries every response to every write."""
    if sys.argv[1:] == ["outcomes"]:
        _walk(every=1)
        return
    names = sys.argv[1:] or [*ATTACKS, WRONG_TOKENS]
    print(ROW.format("attack", "median", "longest", "blocked", "growth", "seconds"))
    with _stand_ins() as sandbox, tempfile.TemporaryDirectory() as folder:
        for name in ["nothing", *(name for name in names if name != WRONG_TOKENS)]:
            with run_installation(sandbox, Path(folder), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20") as installation:
                began = time.perf_counter()
                with watch_bystander(installation) as seen:
                    ATTACKS.get(name, _wait)(installation)
                _print_row(name, seen, time.perf_counter() - began)
        if WRONG_TOKENS in names:
            _print_delays(Path(folder))
    if not sys.argv[1:]:
        _walk(every=SAMPLED)


def _walk(every: int) -> None:
    """Try a fraction of the responses that a write can get."""
    tried, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder, run_cases(Path(folder)) as walk:
        for case in islice(every_case(), 0, None, every):
            tried += 1
            for failure in failures(walk, [case]):
                failed += 1
                print(failure, flush=True)
    print(f"{tried} responses to writes, {failed} failures")


def _print_delays(folder: Path) -> None:
    """Print the effects of wrong tokens on operator and key requests from the same address."""
    token = {"GATEWAY_METRICS_TOKEN": "Qm7TzX2bLf9Kd4WvR8hNcY5sJg1PeUa6"}
    with _stand_ins() as sandbox, run_installation(sandbox, folder, **token) as installation:
        noticed = compare(installation)
    print(f"\n{RATE} wrong tokens a second: {dict(noticed.wrong)}; correct ones: {dict(noticed.statuses)}")
    for name, (idle, attacked) in noticed.medians_ms().items():
        print(f"{name:<26} {idle:.2f} ms idle, {attacked:.2f} ms beside")


def _stand_ins() -> AbstractContextManager[Sandbox]:
    return run_emulators(mail=MailEmulator, notes=NotesEmulator, tables=TablesEmulator)


def _wait(_: Installation) -> None:
    time.sleep(3)


def _print_row(name: str, seen: Seen, seconds: float) -> None:
    figures = (
        f"{seen.median_ms:.1f} ms",
        f"{seen.longest_ms:.0f} ms",
        f"{seen.blocked_ms:.0f} ms",
        f"{seen.grown_mib:.0f} MiB",
        f"{seconds:.1f}",
    )
    print(ROW.format(name, *figures), flush=True)


if __name__ == "__main__":
    main()
