"""Pending writes: rows or functions, each with the future of its outcome."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import Connection

from connector_gateway.storage.sql.compiled_statements import Put

T = TypeVar("T")
Work = Callable[[Connection], T]


class RowWriter(Struct, eq=False):
    """Rows to write together with those of neighbouring writers, if the fence holds."""

    puts: Sequence[Put]
    fence: Put | None
    committed: asyncio.Future[Any]
    about: str | None = None


class FunctionWriter(Struct, eq=False):
    """A function to run inside the transaction."""

    work: Work[Any]
    committed: asyncio.Future[Any]
    about: str | None = None


Writer = RowWriter | FunctionWriter


def set_outcome(committed: asyncio.Future[Any], outcome: Any) -> None:
    """Set the result or exception of *committed*, unless it is done already."""
    if committed.done():
        return
    if isinstance(outcome, Exception):
        committed.set_exception(outcome)
    else:
        committed.set_result(outcome)
