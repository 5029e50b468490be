"""The gateway in front of a portal whose limits do not hold tests up."""

from collections.abc import Iterator

import pytest

from connectors.crm.looking import Looking
from connectors.crm.writing import Writer, new_writer
from harness.playing import playing
from harness.rooms import only
from harness.serving import Gateway, serving
from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def crm_sandbox() -> Iterator[Sandbox]:
    with playing(crm=CrmEmulator) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def room(crm_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(crm_sandbox, tmp_path_factory.mktemp("crm"), connectors=only("crm")) as gateway:
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("crm")
    return room


@pytest.fixture
def portal(crm_sandbox: Sandbox) -> Looking:
    emulator = crm_sandbox.emulators["crm"]
    assert isinstance(emulator, CrmEmulator)
    return Looking(emulator)


@pytest.fixture
def writer(gateway: Gateway, portal: Looking) -> Writer:
    return new_writer(gateway, portal)
