"""The history on PostgreSQL: a partition for each day, made ahead, and dropped as a whole once it is past its time.

Identifiers of runs begin with their time, so they are what the partitions are bounded by, and a run is found by its
identifier in one of them. What no day takes, since a clock was far off, is in the partition ``runs_rest``; what was
there before there were partitions is in ``runs_first`` until all of it is past its time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from sqlalchemy import Connection, Engine, exc, text

from connector_gateway.kit.identifiers import ulid

DAY_SECONDS = 86_400
DAYS_AHEAD = 3
"""A clock may be wrong by as much, and a gateway away for as long, before runs come into ``runs_rest``."""

LOCK_MILLISECONDS = 100
"""How long calls may wait behind one who waits to change the partitions; the next round tries again."""

PARTITIONS = text(
    "SELECT c.relname AS name, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([^'']*)''\\)') AS bound"
    " FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'runs'::regclass ORDER BY 2"
)
PARTITIONS_KEY = 0x636F6E6E65637402
"""The number of the advisory lock under which partitions are changed."""

LEFT_FOR_LATER = {"55P03", "23514"}
"""No lock to be had; or a clock was ahead, and runs of a day are in ``runs_rest`` before the day has its partition."""

log = structlog.get_logger()

DAY = re.compile(r"runs_d\d+")


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of the history, by the identifier that all in it are before; None if it has no bound."""

    name: str
    bound: str | None

    @property
    def is_a_day(self) -> bool:
        """Whether it holds the runs of one day, and nothing has to be looked for in it."""
        return DAY.fullmatch(self.name) is not None


def bound_of(day: int) -> str:
    """What identifiers of *day*, counted from 1970, and later ones are not before."""
    return f"run_{ulid(day * DAY_SECONDS * 1000 << 80)[:10]}"


def partitions(connection: Connection) -> Sequence[Partition]:
    """The parts of the history, the oldest first."""
    return [Partition(row.name, row.bound) for row in connection.execute(PARTITIONS)]


def maintain(engine: Engine, now: float, before: float = 0.0) -> None:
    """Make the partitions of the days from *now* on, and drop those whose runs all began on days before *before*.

    Each is a transaction of its own. What gets no lock soon, since somebody reads for long, is left to the next time.
    """
    with engine.connect() as connection:
        there = partitions(connection)
    changes = [
        *(partial(add_day, day=day) for day in _missing(there, now)),
        *(partial(_drop, name=name) for name in _past(there, before)),
    ]
    for change in changes:
        try:
            with engine.connect().execution_options(writes=True) as connection, connection.begin():
                connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": PARTITIONS_KEY})
                change(connection)
        except exc.DBAPIError as fault:
            if getattr(fault.orig, "sqlstate", None) not in LEFT_FOR_LATER:
                raise
            log.warning("a partition of the history is not changed now", private=str(fault.orig))


def _missing(there: Sequence[Partition], now: float) -> list[int]:
    """The days, counted from 1970, from today on that have no partition yet."""
    last = max((partition.bound for partition in there if partition.bound is not None), default="")
    today = int(now // DAY_SECONDS)
    # A day that lies in the first part has its runs there.
    return [day for day in range(today, today + DAYS_AHEAD + 1) if bound_of(day) >= last]


def _past(there: Sequence[Partition], before: float) -> list[str]:
    # Whole days only: the day that *before* lies in still has runs that are kept.
    bound = bound_of(int(before // DAY_SECONDS))
    return [partition.name for partition in there if partition.bound is not None and partition.bound <= bound]


def add_day(connection: Connection, day: int) -> None:
    """Make the partition of a day; attached, rather than made as one, it takes no lock that calls wait for."""
    name, low, high = f"runs_d{day}", bound_of(day), bound_of(day + 1)
    if name not in {partition.name for partition in partitions(connection)}:
        # Both texts are made of a number. Indexes are not copied: attaching makes those of the whole.
        connection.execute(text(f"CREATE TABLE {name} (LIKE runs INCLUDING DEFAULTS)"))
        connection.execute(text(f"ALTER TABLE runs ATTACH PARTITION {name} FOR VALUES FROM ('{low}') TO ('{high}')"))


def _drop(connection: Connection, name: str) -> None:
    """Drop a partition. Its file is deleted after the lock was given back."""
    connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
