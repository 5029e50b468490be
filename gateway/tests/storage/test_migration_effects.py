"""The effects of each migration that processes of the previous release could notice."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from alembic import command
from sqlalchemy import Connection, create_engine, make_url, text

from connector_gateway.storage import migration_runner
from harness.postgres import temporary_database

UNRELEASED = {"0029"}
"""Migrations that remove what only versions before the first release used."""

VERSIONS = sorted(migration_runner.versions())
STEPS = [step for step in VERSIONS[1:] if step not in UNRELEASED]
"""Migrations during which processes of the previous release may use the database."""

COLUMNS = text(
    "SELECT table_name, column_name, concat(data_type, character_maximum_length), is_nullable = 'YES', column_default"
    " FROM information_schema.columns WHERE table_schema = 'public'"
)
KEYS = text(
    "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace"
    " UNION SELECT tablename, indexdef FROM pg_indexes"
    " WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE%'"
)


class Column(NamedTuple):
    """One column, as its readers and writers see it."""

    table: str
    name: str
    type: str
    nullable: bool


class Shape(NamedTuple):
    """The parts of the schema on which statements rely."""

    columns: dict[Column, str | None]
    """Columns with their defaults."""

    keys: set[tuple[str, str]]
    """Tables with the constraints of their rows: keys, conditions, references."""

    def tables(self) -> set[str]:
        """Names of indexes."""
        return {column.table for column in self.columns}


def read_shape(connection: Connection) -> Shape:
    columns = {Column(*row[:4]): row[4] for row in connection.execute(COLUMNS)}
    return Shape(columns, {(table, rule) for table, rule in connection.execute(KEYS)})


@pytest.fixture(scope="module")
def shapes(postgres_server: str) -> Mapping[str, Shape]:
    """Return the shape after each migration."""
    found_shapes: dict[str, Shape] = {}
    configuration = migration_runner._configuration()
    with temporary_database(postgres_server) as address:
        engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"))
        with engine.connect() as connection:
            configuration.attributes["connection"] = connection
            for step in VERSIONS:
                command.upgrade(configuration, step)
                found_shapes[step] = read_shape(connection)
        engine.dispose()
    return found_shapes


@pytest.fixture(params=STEPS)
def before_and_after(request: pytest.FixtureRequest, shapes: Mapping[str, Shape]) -> tuple[Shape, Shape]:
    return shapes[VERSIONS[VERSIONS.index(request.param) - 1]], shapes[request.param]


def test_a_migration_preserves_every_column(before_and_after: tuple[Shape, Shape]) -> None:
    before, after = before_and_after

    assert set() == before.columns.keys() - after.columns.keys()


def test_a_new_column_of_an_old_table_can_be_omitted(before_and_after: tuple[Shape, Shape]) -> None:
    before, after = before_and_after
    new = after.columns.keys() - before.columns.keys()
    required = {column for column in new if not column.nullable and after.columns[column] is None}

    assert set() == {column for column in required if column.table in before.tables()}


def test_a_migration_adds_no_constraint_to_old_tables(before_and_after: tuple[Shape, Shape]) -> None:
    before, after = before_and_after
    # A process of the previous release leaves new columns null, and null satisfies every unique index.
    new = {(column.table, column.name) for column in after.columns.keys() - before.columns.keys()}
    added = {
        (table, rule)
        for table, rule in after.keys
        if rule.startswith("CREATE UNIQUE")
        and any(re.search(rf"\b{name}\b", rule) for one, name in new if one == table)
    }

    assert before.keys == {(table, rule) for table, rule in after.keys - added if table in before.tables()}
