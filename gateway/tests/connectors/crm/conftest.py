"""An inspector of the portal, and a writer."""

import pytest

from gateway.tests.connectors.crm.recognisable_writes import Writer, new_writer
from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.gateway_server import Gateway
from workspace_sandbox.crm import CrmEmulator


@pytest.fixture
def portal(module_gateway: Gateway) -> VendorInspector:
    emulator = module_gateway.sandbox.emulators["crm"]
    assert isinstance(emulator, CrmEmulator)
    return VendorInspector(emulator)


@pytest.fixture
def writer(gateway: Gateway, portal: VendorInspector) -> Writer:
    return new_writer(gateway, portal)
