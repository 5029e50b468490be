"""``python -m benchmarks [NAME …]``: measures, and prints a table of figures against their bars.

A history of ten million runs: ``python -m benchmarks history --runs 10000000 --kept-in FOLDER``,
which fills it in some minutes, once for each ``--database``.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    agent_tools,
    history_reads,
    mail,
    memory,
    overhead,
    pacing,
    postgres_throughput,
    startup,
    wrk_throughput,
)
from benchmarks.history_database_filler import HistorySpec

Rows = Iterable[tuple[str, str, str, bool]]


def main() -> int:
    """Measure the named benchmarks, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default=HistorySpec.kind)
    parser.add_argument("--runs", type=int, default=HistorySpec.runs)
    parser.add_argument("--kept-in", type=Path)
    options = parser.parse_args()
    benchmarks = _benchmarks(HistorySpec(options.database, options.runs, options.kept_in))
    if unknown := set(options.names) - set(benchmarks):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}; choose from {', '.join(benchmarks)}")
    table = Table("measured", "figure", "bar", "reached", box=None)
    missed = 0
    for name in options.names or benchmarks:
        for what, figure, bar, reached in benchmarks[name]():
            table.add_row(what, figure, bar, "[green]yes[/]" if reached else "[red]no[/]")
            missed += not reached
    Console(highlight=False).print(table)
    return 1 if missed else 0


def _benchmarks(spec: HistorySpec) -> Mapping[str, Callable[[], Rows]]:
    return {
        "overhead": overhead.rows,
        "agent-oauth": overhead.rows_agent_oauth,
        "workers": overhead.rows_workers,
        "throughput": wrk_throughput.rows,
        "postgres-throughput": postgres_throughput.rows,
        "starting": startup.rows,
        "history": partial(history_reads.rows, spec),
        "mail": mail.rows,
        "memory": memory.rows,
        "pacing": pacing.rows,
        "burst": pacing.rows_burst,
        "together": pacing.rows_together,
        "tools": agent_tools.rows,
    }


if __name__ == "__main__":
    sys.exit(main())
