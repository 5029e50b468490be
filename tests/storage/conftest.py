"""What only tests of the storage itself ask for."""

from pathlib import Path

import pytest

from harness.postgres import new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind in turn, in which not even tables are."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'gateway.db'}"
    return new_database(request.getfixturevalue("postgres_server"))
