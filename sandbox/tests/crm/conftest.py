"""What the tests of the crm stand-in share."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from sandbox.tests.crm.portal import BEGAN, Api
from workspace_sandbox.crm import CrmEmulator


@pytest.fixture(scope="module")
def played() -> Iterator[Api]:
    with run_emulators(crm=CrmEmulator) as sandbox, requests.Session() as session:
        session.trust_env = False
        emulator = sandbox.emulators["crm"]
        assert isinstance(emulator, CrmEmulator)
        yield Api(emulator.context.addresses["base"], sandbox.address, emulator, session)


@pytest.fixture
def limited(played: Api) -> Api:
    """The seed, with everything as it is at first."""
    played.control("reset")
    return played


@pytest.fixture
def crm(limited: Api) -> Api:
    """The seed, without limits and without lag."""
    limited.knobs(limits=False, search_lag_seconds=0)
    return limited


@pytest.fixture
def clock(limited: Api) -> Iterator[ManualClock]:
    """A clock in the emulator's hands."""
    stage = limited.emulator.context
    own, stage.clock = stage.clock, ManualClock(BEGAN)
    yield stage.clock
    stage.clock = own
