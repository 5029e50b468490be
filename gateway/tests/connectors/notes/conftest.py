"""Fixtures of the notes tests."""

import pytest

from harness.gateway_server import Gateway


@pytest.fixture
def leads(gateway: Gateway) -> str:
    """The seeded database with a property of most types."""
    return str(gateway.examples("notes")["database_id"])
