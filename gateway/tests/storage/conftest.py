"""Fixtures that only tests of the storage use."""

from pathlib import Path

import pytest

from harness.postgres import new_database


@pytest.fixture
def empty_postgres(postgres_server: str) -> str:
    """A PostgreSQL database without tables."""
    return new_database(postgres_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'gateway.db'}"
    return str(request.getfixturevalue("empty_postgres"))
