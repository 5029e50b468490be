"""``python -m simulation --seeds 1000``: run histories, and report those that break a promise."""

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from simulation import HASH_SEED

SEEDS = 1000
MAX_REPORTED = 3
"""The number of failures that are minimised and reported in full; for others, only seed and violation are."""


def main() -> int:
    """Run the simulation. Returns 1 if a promise was broken."""
    from simulation.parallel_histories import minimise, run_many  # noqa: PLC0415
    from simulation.scenarios import story  # noqa: PLC0415
    from simulation.simulated_history import install  # noqa: PLC0415  # slow to load, and wanted with the hash seed set

    options = _arguments()
    installation = install()
    broken: Counter[str] = Counter()
    failures = []
    began = reported_at = time.perf_counter()
    stories = chain(
        (story(seed) for seed in options.seed),
        (story(seed, processes) for processes in options.processes for seed in _ranged(options)),
    )
    done = 0
    try:
        for done, outcome in enumerate(run_many(installation, stories, options.workers), 1):
            if outcome.broken:
                failures.append(outcome)
                broken.update(outcome.invariants)
                print(f"seed {outcome.story.seed}: {outcome.broken[0][:200]}", flush=True)
            if time.perf_counter() - reported_at > 10:
                reported_at = time.perf_counter()
                print(f"{done} histories, {len(failures)} broken", flush=True)
        seconds = time.perf_counter() - began
        print(f"{done} histories in {seconds:.1f} s: {done / seconds:.0f} a second on {options.workers} worker(s).")
        for failure in sorted(failures, key=lambda one: one.story.seed)[: options.show]:
            least = minimise(installation, failure, lambda _: None) if options.shrink else failure
            print(f"\n== seed {least.story.seed}\n{least.story}\n--", *least.lines, "--", *least.broken, sep="\n")
    finally:
        shutil.rmtree(installation.template.parent, ignore_errors=True)
    if failures:
        print(f"\n{len(failures)} of {done} histories broke a promise: {dict(sorted(broken.items()))}")
    return 1 if failures else 0


def _ranged(options: argparse.Namespace) -> Iterable[int]:
    """Return the seeds of the range."""
    how_many = (0 if options.seed else SEEDS) if options.seeds is None else options.seeds
    return range(options.start, options.start + how_many)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, help=f"how many histories: {SEEDS}, or none beside --seed")
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, action="append", default=[], help="this one, and others named like it")
    parser.add_argument(
        "--processes",
        type=int,
        nargs="+",
        choices=(1, 2),
        default=[None],
        help="processes of the gateway: each history with each of these numbers; with one of them if not given",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="histories at the same time")
    parser.add_argument("--show", type=int, default=MAX_REPORTED, help="failures reported in full")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="tell failures as they are")
    return parser.parse_args()


if __name__ == "__main__":
    if os.environ.get(HASH_SEED) != "0":
        os.environ[HASH_SEED] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]])
    sys.exit(main())
