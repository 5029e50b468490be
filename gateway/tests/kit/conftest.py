"""A vendor's server to send requests to."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.tests.kit.vendor_server import VendorServer, server_url


@pytest.fixture
async def vendor() -> AsyncIterator[VendorServer]:
    vendor = VendorServer()
    server = await asyncio.start_server(vendor.serve, "127.0.0.1", 0)
    vendor.url = server_url(server)
    yield vendor
    server.close()
