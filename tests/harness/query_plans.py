"""Query plans of SQLite."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, event

from connector_gateway.storage.sql.database import Database


async def plans(database: Database, run_queries: Callable[[], Any]) -> list[str]:
    """Return the steps by which the database executes *run_queries*, by statement."""
    steps: list[str] = []

    def explain(connection: Connection, _: Any, statement: str, parameters: Any, *__: Any) -> None:
        if not statement.startswith(("EXPLAIN", "PRAGMA")):
            cursor = connection.connection.cursor()
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps.extend(row[3] for row in cursor.fetchall())

    event.listen(database._engine, "before_cursor_execute", explain)
    await run_queries()
    event.remove(database._engine, "before_cursor_execute", explain)
    return steps
