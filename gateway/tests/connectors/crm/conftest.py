"""The portal, looked into, and what writes to it."""

import pytest

from gateway.tests.connectors.crm.looking import Looking
from gateway.tests.connectors.crm.writing import Writer, new_writer
from harness.gateway_server import Gateway
from workspace_sandbox.crm import CrmEmulator


@pytest.fixture
def portal(room: Gateway) -> Looking:
    emulator = room.sandbox.emulators["crm"]
    assert isinstance(emulator, CrmEmulator)
    return Looking(emulator)


@pytest.fixture
def writer(gateway: Gateway, portal: Looking) -> Writer:
    return new_writer(gateway, portal)
