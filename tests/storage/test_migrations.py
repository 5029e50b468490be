"""What becomes of the data of earlier releases, on both databases."""

from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import TextClause, select, text

from connector_gateway.storage import tables
from connector_gateway.storage.database import Database
from connector_gateway.storage.schema import MIGRATIONS

OLD_CLAIM = text(
    "INSERT INTO claims (workspace_id, connection_id, operation, idempotency_key, run_id, state, process_id,"
    " started_at, doubt, doubted_at, progress, status, data, expires_at)"
    " VALUES ('ws', 'conn', 'create_page', :key, 'run', :state, :process, 1.0, NULL, NULL, '{}', :status, :data, 9e9)"
)


def upgraded(database: Database, to: str, *rows: tuple[TextClause, dict[str, Any]]) -> None:
    """Bring the schema to a revision, and put old rows into it."""
    configuration = Config()
    configuration.set_main_option("script_location", str(MIGRATIONS))
    with database._engine.connect().execution_options(writes=True) as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, to)
        for statement, row in rows:
            connection.execute(statement, row)
        connection.commit()
    database._engine.dispose()


async def test_claims_of_an_earlier_release_keep_results_and_are_never_sent_again(empty_database_url: str) -> None:
    done = {"key": "done", "state": "done", "process": None, "status": "ok", "data": "{}"}
    held = {"key": "held", "state": "held", "process": "proc", "status": None, "data": None}
    upgraded(Database(empty_database_url), "0002", (OLD_CLAIM, done), (OLD_CLAIM, held))
    async with Database(empty_database_url) as database:
        claims = tables.claims.c
        query = select(claims.idempotency_key, claims.state, claims.data, claims.sealed, claims.process_id)
        rows = await database.read(lambda reading: reading.execute(query.order_by(claims.idempotency_key)).all())

    assert [("done", "done", "{}", None, None), ("held", "doubtful", None, b"", None)] == [tuple(row) for row in rows]


OLD_CONNECTION = text(
    "INSERT INTO connections (connection_id, workspace_id, connector, name, status, sealed, settings, created_at,"
    " updated_at, deleted, expires_at)"
    " VALUES (:name, 'ws', 'tables', '', :status, :sealed, '{}', 1.0, 1.0, false, :expires_at)"
)


async def test_idle_tokens_of_an_earlier_release_become_due_by_when_they_were_used(empty_database_url: str) -> None:
    rows: list[dict[str, Any]] = [
        {"name": "conn_early", "status": "active", "sealed": b"", "expires_at": 1000.0},
        {"name": "conn_later", "status": "active", "sealed": b"", "expires_at": 5000.0},
        {"name": "conn_never", "status": "active", "sealed": b"", "expires_at": None},
        {"name": "conn_past", "status": "revoked", "sealed": b"", "expires_at": 3000.0},
    ]
    workspace = text("INSERT INTO workspaces (workspace_id, name, plan, created_at) VALUES ('ws', '', 'free', 1.0)")
    upgraded(Database(empty_database_url), "0010", (workspace, {}), *((OLD_CONNECTION, row) for row in rows))
    async with Database(empty_database_url) as database:
        connections = tables.connections.c
        query = select(connections.connection_id, connections.refresh_due_at).order_by(connections.connection_id)
        due = await database.read(lambda reading: reading.execute(query).all())

    days = 40 * 86_400.0
    assert [("conn_early", 1000 + days), ("conn_later", 5000 + days), ("conn_never", None), ("conn_past", None)] == due


OLD_WATCH = text(
    "INSERT INTO watches (connection_id, connector, account, state, due_at, failures, sequence, observed_at)"
    " VALUES (:name, :connector, :account, :state, :due_at, 0, 0, 0.0)"
)


async def test_watches_of_chat_get_the_identity_that_their_last_poll_found(empty_database_url: str) -> None:
    known = '{"team_id": "T1", "user_id": "U1", "bot_id": "B1"}'
    rows: list[dict[str, Any]] = [
        {"name": "conn_known", "connector": "chat", "account": "T1", "state": known, "due_at": None},
        {"name": "conn_new", "connector": "chat", "account": None, "state": "{}", "due_at": 5.0},
        {"name": "conn_notes", "connector": "notes", "account": "bot", "state": "{}", "due_at": None},
        {
            "name": "conn_renewed",
            "connector": "chat",
            "account": None,
            "state": f'{{"former": {known}}}',
            "due_at": 7.0,
        },
    ]
    upgraded(Database(empty_database_url), "0014", *((OLD_WATCH, row) for row in rows))
    async with Database(empty_database_url) as database:
        watches = tables.watches.c
        query = select(watches.connection_id, watches.account, watches.place, watches.due_at)
        found = await database.read(lambda reading: reading.execute(query.order_by(watches.connection_id)).all())

    assert [
        ("conn_known", "T1/U1", "T1", 0.0),
        ("conn_new", None, None, 5.0),
        ("conn_notes", "bot", None, None),
        ("conn_renewed", None, None, 7.0),
    ] == [tuple(row) for row in found]


OLD_SESSION = text("INSERT INTO console_sessions (digest, expires_at) VALUES (:digest, 100000.0)")


async def test_sessions_of_an_earlier_release_count_as_used_when_they_began(empty_database_url: str) -> None:
    upgraded(Database(empty_database_url), "0022", (OLD_SESSION, {"digest": b"of a browser"}))
    async with Database(empty_database_url) as database:
        sessions = tables.console_sessions.c
        query = select(sessions.seen_at, sessions.operator_id)
        rows = await database.read(lambda reading: reading.execute(query).all())

    assert [(100_000.0 - 12 * 3600, None)] == [tuple(row) for row in rows]
