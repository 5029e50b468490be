"""What becomes of the data of earlier releases, on both databases."""

from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import select, text

from connector_gateway.storage import tables
from connector_gateway.storage.database import MIGRATIONS, Database

OLD_CLAIM = text(
    "INSERT INTO claims (workspace_id, connection_id, operation, idempotency_key, run_id, state, process_id,"
    " started_at, doubt, doubted_at, progress, status, data, expires_at)"
    " VALUES ('ws', 'conn', 'create_page', :key, 'run', :state, :process, 1.0, NULL, NULL, '{}', :status, :data, 9e9)"
)


def upgraded(database: Database, to: str, *rows: dict[str, Any]) -> None:
    """Bring the schema to a revision, and put old claims into it."""
    configuration = Config()
    configuration.set_main_option("script_location", str(MIGRATIONS))
    with database._engine.connect() as connection:
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, to)
        for row in rows:
            connection.execute(OLD_CLAIM, row)
        connection.commit()
    database._engine.dispose()


async def test_claims_of_an_earlier_release_keep_results_and_are_never_sent_again(database_url: str) -> None:
    done = {"key": "done", "state": "done", "process": None, "status": "ok", "data": "{}"}
    held = {"key": "held", "state": "held", "process": "proc", "status": None, "data": None}
    upgraded(Database(database_url), "0002", done, held)
    async with Database(database_url) as database:
        claims = tables.claims.c
        query = select(claims.idempotency_key, claims.state, claims.data, claims.sealed, claims.process_id)
        rows = await database.read(lambda reading: reading.execute(query.order_by(claims.idempotency_key)).all())

    assert [("done", "done", "{}", None, None), ("held", "doubtful", None, b"", None)] == [tuple(row) for row in rows]
