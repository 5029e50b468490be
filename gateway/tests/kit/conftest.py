"""A third party to send requests to."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.tests.kit.third import Third, address_of


@pytest.fixture
async def third() -> AsyncIterator[Third]:
    third = Third()
    server = await asyncio.start_server(third.serve, "127.0.0.1", 0)
    third.address = address_of(server)
    yield third
    server.close()
