"""``python -m chaos --minutes 3``: let everything fail under load, and tell what was broken; 1 if anything was."""

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from chaos.trial import Outcome, trial
from harness.postgres import postgres
from harness.valkey import valkey_server


def main() -> int:
    """Run; 1 if a promise was broken."""
    reading = argparse.ArgumentParser()
    reading.add_argument("--minutes", type=float, default=3.0)
    reading.add_argument("--seed", type=int, default=1)
    wanted = reading.parse_args()
    with (
        TemporaryDirectory(prefix="chaos-postgres-") as data,
        TemporaryDirectory(prefix="chaos-valkey-") as kept,
        postgres(Path(data)) as server,
        valkey_server(Path(kept)) as store,
    ):
        outcome = asyncio.run(trial(server, store, wanted.minutes * 60, wanted.seed, tell=partial(print, flush=True)))
    _tell(outcome)
    return 1 if outcome.broken else 0


def _tell(outcome: Outcome) -> None:
    print("answers to writes:", dict(outcome.answers.most_common()))
    print("answers to reads: ", dict(outcome.reads.most_common()))
    print("writes done:", outcome.objects, " refused as too many:", dict(outcome.refused))
    print(f"recovery: {outcome.recovery_seconds:.1f} s")
    print(*outcome.broken, sep="\n")
    print(f"{len(outcome.broken)} broken")


if __name__ == "__main__":
    sys.exit(main())
