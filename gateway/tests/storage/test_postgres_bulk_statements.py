"""Bulk statements equal those of SQLAlchemy."""

from typing import Any

import pytest
from sqlalchemy import Dialect, Insert, create_engine, insert

from connector_gateway.core.history.runs import PUT_RUN
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import MAX_ROWS, _Compiled

SQLITE: Dialect = create_engine("sqlite://").dialect
POSTGRESQL: Dialect = create_engine("postgresql+psycopg://").dialect
COLUMNS = [column.name for column in tables.runs.columns]


@pytest.mark.parametrize("count", [1, 2, 3, 11, MAX_ROWS])
@pytest.mark.parametrize("dialect", [SQLITE, POSTGRESQL], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("statement", [insert(tables.runs), PUT_RUN], ids=["insert", "upsert"])
def test_bulk_statement_texts_equal_those_of_sqlalchemy(statement: Insert, dialect: Dialect, count: int) -> None:
    compiled = _Compiled(statement, COLUMNS, dialect)
    expected = statement.values([dict.fromkeys(COLUMNS)] * count).compile(dialect=dialect)

    assert str(expected) == compiled.text(count)


def create_row(number: int) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | {"run_id": f"run_{number}", "started_at": 0.5, "upstream": [number]}


def test_parameters_follow_the_order_or_names_of_the_statement() -> None:
    by_position = _Compiled(PUT_RUN, COLUMNS, SQLITE).parameters([create_row(0), create_row(1)])
    by_name = _Compiled(PUT_RUN, COLUMNS, POSTGRESQL).parameters([create_row(0), create_row(1)])

    assert ["run_0", "run_1"] == [by_position[0], by_position[len(COLUMNS)]]
    assert ["run_0", "run_1"] == [by_name["run_id_m0"], by_name["run_id_m1"]]
    assert 2 * len(COLUMNS) == len(by_position) == len(by_name)
    assert ("[1]", None) == (by_name["upstream_m1"], by_name["idempotency_m1"])
