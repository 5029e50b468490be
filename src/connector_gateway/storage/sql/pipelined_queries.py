"""Statements that travel together to a PostgreSQL server, whose answers are waited for once.

The driver's own pipeline waits after each statement whether the socket can be written to, and every wait gives the
interpreter's lock away, which a busy event loop then holds for up to 5 ms. A commit had nine such waits; here it has
one, by the driver's interface to libpq (decision 74).
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
"""A statement with its parameters, which it names ``$1``, ``$2`` and so on, as text."""


Prepared = set[bytes]
"""The texts of the statements that a session knows by name."""

UNPREPARED = (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement)
"""What says that another session was asked than the one in which a statement was prepared."""


def execute_pipelined(
    driver: "psycopg.Connection[Any]", statements: Sequence[Statement], known: Prepared | None = None
) -> list[PGresult]:
    """The answers to *statements*, in one round trip; the first refusal is raised, and none behind it is executed.

    Those with parameters are prepared once for the session, which *known* keeps; where it is None, none is.
    """
    server = driver.pgconn
    server.enter_pipeline_mode()
    texts = [] if known is None else list(dict.fromkeys(text for text, values in statements if values))
    new = [text for text in texts if text not in (known or ())]
    for text in new:
        server.send_prepare(_name(text), text)
    for text, values in statements:
        if text in texts:
            server.send_query_prepared(_name(text), values)
        else:
            server.send_query_params(text, values)
    server.pipeline_sync()
    _send(server)
    answers = _answers(server)
    server.exit_pipeline_mode()
    if known is not None:
        known |= {text for text, told in zip(new, answers, strict=False) if told.status == ExecStatus.COMMAND_OK}
    for answer in answers:
        if answer.status == ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(answer)
    return answers[len(new) :]


@lru_cache(maxsize=256)
def _name(text: bytes) -> bytes:
    """The name of a statement: whatever session it is asked of, it never stands for another one."""
    return b"gateway_" + hashlib.sha256(text).hexdigest()[:32].encode()


def _send(server: PGconn) -> None:
    """Send all there is, taking in what comes meanwhile: a server that cannot send reads nothing either."""
    while server.flush():
        if _wait(server, select.POLLIN | select.POLLOUT) & ~select.POLLOUT:
            server.consume_input()


def _answers(server: PGconn) -> list[PGresult]:
    """What comes until the server has done all that it was asked."""
    answers: list[PGresult] = []
    while True:
        while server.is_busy():
            _wait(server, select.POLLIN)
            server.consume_input()
        answer = server.get_result()
        if answer is None and server.status == ConnStatus.BAD:
            raise errors.OperationalError(server.get_error_message())
        if answer is not None:
            if answer.status == ExecStatus.PIPELINE_SYNC:
                return answers
            answers.append(answer)


def _wait(server: PGconn, events: int) -> int:
    poll = select.poll()
    poll.register(server.socket, events)
    return sum(happened for _, happened in poll.poll())
