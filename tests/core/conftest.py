"""Databases of PostgreSQL that one test after the other uses: what works with rows leaves the tables as they are."""

from collections.abc import Iterator

import pytest

from harness.databases import emptied_postgres


@pytest.fixture
def new_postgres(postgres_server: str) -> Iterator[str]:
    """A database of PostgreSQL with nothing in it."""
    with emptied_postgres(postgres_server) as address:
        yield address
