"""``python -m chaos --seconds 180``: run a trial under load and faults, and report violations; exits 1 on any."""

import argparse
import asyncio
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from chaos.faults import KINDS
from chaos.installation import SMALL_LIMIT
from chaos.trial import CALLERS, RECOVERY_SECONDS, Outcome, run_trial
from harness.postgres import postgres
from harness.valkey import valkey_server

PROMISES = {
    ("I0", "I1", "I2"): "nothing lost, nothing doubled: as many objects as keys, each its caller's own",
    ("I3",): "every repeated call gets a final response",
    ("I4",): "every run with a response is in the history",
    ("I5",): "no active claim and no running run of a dead process",
    ("I7",): "no window of a vendor or a key exceeded",
    ("I8",): "every change is in the feed once, in order",
    ("left over",): "no process, no task and no connection left over",
}
"""The promises, by the start of the sentences that report a violation."""


def main() -> int:
    """Run a trial. Returns 1 if a promise was broken."""
    reading = argparse.ArgumentParser()
    reading.add_argument("--seconds", type=float, default=180.0, help="seconds with faults")
    reading.add_argument("--seed", type=int, default=1)
    reading.add_argument("--only", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}")
    reading.add_argument("--last", default="", help="kinds that are injected once more at the end, such as empty")
    reading.add_argument("--callers", type=int, default=CALLERS)
    reading.add_argument("--logs", type=Path, help="a folder for the gateways' logs")
    options = reading.parse_args()
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory(prefix=f"chaos-{name}-"))) for name in ("store", "logs")]
        server = stack.enter_context(postgres())
        store = stack.enter_context(valkey_server(folders[0]))
        logs = options.logs or folders[1]
        logs.mkdir(parents=True, exist_ok=True)
        outcome = asyncio.run(
            run_trial(
                server,
                store,
                logs,
                options.seconds,
                options.seed,
                kinds=[kind for kind in KINDS if kind in options.only.split(",")],
                last=[kind for kind in KINDS if kind in options.last.split(",")],
                callers=options.callers,
                report=partial(print, flush=True),
            )
        )
    _print_outcome(outcome)
    return 1 if outcome.broken else 0


def _print_outcome(outcome: Outcome) -> None:
    print("faults:", dict(outcome.faults))
    print("responses to writes:", dict(outcome.answers.most_common()))
    print("responses to reads: ", dict(outcome.reads.most_common()))
    print("writes performed:", outcome.objects, " throttled while the store was unavailable:", dict(outcome.throttled))
    print(f"calls of the small key (limit {SMALL_LIMIT}): at most {outcome.max_admitted} per minute")
    middle, last = (outcome.durations[int(len(outcome.durations) * part)] for part in (0.5, 0.99))
    print(f"{len(outcome.durations)} calls: half within {middle:.3f} s, 99 of 100 within {last:.3f} s")
    print(*outcome.broken, sep="\n")
    for beginnings, promise in PROMISES.items():
        times = sum(sentence.startswith(beginnings) for sentence in outcome.broken)
        print(f"{f'broken {times} times' if times else 'met':>16}  {promise}")
    recovery = f"{outcome.recovery_seconds:.1f} s"
    print(f"{recovery:>16}  from the last fault to full speed (limit {RECOVERY_SECONDS:.0f} s)")
    print(f"{len(outcome.broken)} broken")


if __name__ == "__main__":
    sys.exit(main())
