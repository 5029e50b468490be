"""The mailbox, looked into, and a gateway for what is large."""

import pytest

from gateway.tests.connectors.conftest import Beside
from gateway.tests.connectors.mail.looking import Looking
from harness.gateway_server import Gateway
from workspace_sandbox.mail import MailEmulator


@pytest.fixture
def patient(beside: Beside) -> Gateway:
    """A gateway that waits as long as a busy machine needs to make large answers."""
    gateway = beside(GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30")
    gateway.clear("mail")
    return gateway


@pytest.fixture
def mailbox(room: Gateway) -> Looking:
    emulator = room.sandbox.emulators["mail"]
    assert isinstance(emulator, MailEmulator)
    return Looking(emulator)
