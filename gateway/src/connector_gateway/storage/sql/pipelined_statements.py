"""Pipelined statements for a PostgreSQL server, with a single wait for all responses.

The driver's own pipeline checks after each statement whether the socket is writable, and every wait releases the
interpreter's lock, which a busy event loop then holds for up to 5 ms. A commit had nine such waits. Here it has one, by
the driver's interface to libpq.
"""

import hashlib
import select
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

Statement = tuple[bytes, Sequence[bytes | None]]
"""A statement with its parameters, named ``$1``, ``$2`` and so on, as text."""


Prepared = set[bytes]
"""The texts of the statements that are prepared in a session."""

UNPREPARED_ERRORS = (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement)
"""Errors that mean that the statement was prepared in another session."""


def execute_pipelined(
    driver: "psycopg.Connection[Any]", statements: Sequence[Statement], prepared: Prepared | None = None
) -> list[PGresult]:
    """Execute *statements* in one round trip and return their results.

    The first error is raised, and no later statement is executed. Statements with parameters are prepared once for the
    session, and recorded in *prepared*. If it is None, none are prepared.
    """
    server = driver.pgconn
    server.enter_pipeline_mode()
    texts = [] if prepared is None else list(dict.fromkeys(text for text, values in statements if values))
    new = [text for text in texts if text not in (prepared or ())]
    for text in new:
        server.send_prepare(_name(text), text)
    for text, values in statements:
        if text in texts:
            server.send_query_prepared(_name(text), values)
        else:
            server.send_query_params(text, values)
    server.pipeline_sync()
    _send(server)
    results = _receive_results(server)
    server.exit_pipeline_mode()
    if prepared is not None:
        prepared |= {text for text, result in zip(new, results, strict=False) if result.status == ExecStatus.COMMAND_OK}
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result)
    return results[len(new) :]


@lru_cache(maxsize=256)
def _name(text: bytes) -> bytes:
    """Return the name of a statement.

    It is unique to the text, so it never denotes another statement in any session.
    """
    return b"gateway_" + hashlib.sha256(text).hexdigest()[:32].encode()


def _send(server: PGconn) -> None:
    """Send all data while receiving responses, because a server that cannot send does not read either."""
    while server.flush():
        if _wait(server, select.POLLIN | select.POLLOUT) & ~select.POLLOUT:
            server.consume_input()


def _receive_results(server: PGconn) -> list[PGresult]:
    """Receive the results of all statements."""
    results: list[PGresult] = []
    while True:
        while server.is_busy():
            _wait(server, select.POLLIN)
            server.consume_input()
        result = server.get_result()
        if result is None and server.status == ConnStatus.BAD:
            raise errors.OperationalError(server.get_error_message())
        if result is not None:
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)


def _wait(server: PGconn, events: int) -> int:
    poll = select.poll()
    poll.register(server.socket, events)
    return sum(event for _, event in poll.poll())
