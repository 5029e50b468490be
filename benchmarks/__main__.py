"""``python -m benchmarks [NAME …]``: measures, and prints a table of figures against their bars."""

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import connections, decoding, events, history, idle, mail, overhead, pacing, retention, starting

BENCHMARKS = {
    "overhead": overhead.rows,
    "starting": starting.rows,
    "history": history.rows,
    "retention": retention.rows,
    "mail": mail.rows,
    "pacing": pacing.rows,
    "events": events.rows,
    "idle": idle.rows,
    "connections": connections.rows,
    "decoding": decoding.rows,
}


def main(names: list[str]) -> int:
    table = Table("measured", "figure", "bar", "reached", box=None)
    missed = 0
    for name in names or BENCHMARKS:
        for what, figure, bar, reached in BENCHMARKS[name]():
            table.add_row(what, figure, bar, "[green]yes[/]" if reached else "[red]no[/]")
            missed += not reached
    Console(highlight=False).print(table)
    return 1 if missed else 0


sys.exit(main(sys.argv[1:]))
