"""Statements that change claims."""

from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import BindParameter

from connector_gateway.core.writes.idempotency import (
    DELETE,
    DELETE_UNUSED,
    LEAVE_IN_DOUBT,
    MARK_IN_DOUBT,
    NAME,
    SET_INTENT,
    SET_RESULT,
)


def test_only_names_and_runs_are_compared_with_bound_values() -> None:
    # SQLite recompiles a statement for each call if a bound value is compared with a column of a partial index.
    statements = (SET_INTENT, SET_RESULT, MARK_IN_DOUBT, LEAVE_IN_DOUBT, DELETE, DELETE_UNUSED)
    elements = [element for statement in statements for element in visitors.iterate(statement.whereclause)]
    bound = {element.key for element in elements if isinstance(element, BindParameter)}

    assert {"_run_id", *(f"_{column}" for column in NAME)} == bound
