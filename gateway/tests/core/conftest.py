"""Fixtures for databases that are shared by tests which only change rows."""

from collections.abc import AsyncIterator, Iterator

import pytest

from harness.clocks import ManualClock
from harness.core_fixture import CoreFixture, run_core
from harness.databases import emptied_postgres


@pytest.fixture
def new_postgres(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL database."""
    with emptied_postgres(postgres_server) as address:
        yield address


@pytest.fixture
async def core(common_database_url: str, clock: ManualClock) -> AsyncIterator[CoreFixture]:
    """A gateway with one connector, on the database that the tests of a module share."""
    async with run_core(common_database_url, clock) as prepared:
        yield prepared
