"""A view of the mailbox, and a gateway for large responses."""

import pytest

from gateway.tests.connectors.conftest import GatewayStarter
from gateway.tests.connectors.mail.vendor_view import VendorInspector
from harness.gateway_server import Gateway
from workspace_sandbox.mail import MailEmulator


@pytest.fixture
def slow_gateway(start_gateway: GatewayStarter) -> Gateway:
    """A gateway whose timeout allows a busy machine to produce large responses."""
    gateway = start_gateway(GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30")
    gateway.clear("mail")
    return gateway


@pytest.fixture
def mailbox(module_gateway: Gateway) -> VendorInspector:
    emulator = module_gateway.sandbox.emulators["mail"]
    assert isinstance(emulator, MailEmulator)
    return VendorInspector(emulator)
