"""What waits to be written: rows, or functions, each with the future that tells its outcome."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import Connection

from connector_gateway.storage.sql.bulk_insert import Put

T = TypeVar("T")
Work = Callable[[Connection], T]


class RowWriter(Struct, eq=False):
    """Writes rows together with those of its neighbours, if its fence holds."""

    puts: Sequence[Put]
    fence: Put | None
    committed: asyncio.Future[Any]
    about: str | None = None


class FunctionWriter(Struct, eq=False):
    """Runs a function inside the transaction."""

    work: Work[Any]
    committed: asyncio.Future[Any]
    about: str | None = None


Writer = RowWriter | FunctionWriter


def set_outcome(committed: asyncio.Future[Any], outcome: Any) -> None:
    """Tell *outcome*, unless something was told already."""
    if committed.done():
        return
    if isinstance(outcome, Exception):
        committed.set_exception(outcome)
    else:
        committed.set_result(outcome)
