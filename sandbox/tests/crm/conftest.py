"""Fixtures of the HubSpot emulator's tests."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from sandbox.tests.crm.hubspot_client import BEGAN, Api
from workspace_sandbox.crm import CrmEmulator


@pytest.fixture(scope="module")
def portal_api() -> Iterator[Api]:
    with run_emulators(crm=CrmEmulator) as sandbox, requests.Session() as session:
        session.trust_env = False
        emulator = sandbox.emulators["crm"]
        assert isinstance(emulator, CrmEmulator)
        yield Api(emulator.context.addresses["base"], sandbox.address, emulator, session)


@pytest.fixture
def limited(portal_api: Api) -> Api:
    """Return a client of the reset emulator, with its default knobs."""
    portal_api.control("reset")
    return portal_api


@pytest.fixture
def crm(limited: Api) -> Api:
    """Return a client of the reset emulator, without rate limits and search lag."""
    limited.knobs(limits=False, search_lag_seconds=0)
    return limited


@pytest.fixture
def clock(limited: Api) -> Iterator[ManualClock]:
    """Replace the emulator's clock with a manual one."""
    context = limited.emulator.context
    original_clock, context.clock = context.clock, ManualClock(BEGAN)
    yield context.clock
    context.clock = original_clock
