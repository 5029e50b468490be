"""The gateway in front of a mailbox whose limits do not hold tests up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.mail.looking import Looking
from harness.playing import playing
from harness.rooms import only
from harness.serving import Gateway, Restarting, serving
from harness.serving import restarting as serving_again
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def mail_sandbox() -> Iterator[Sandbox]:
    with playing(mail=MailEmulator) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def room(mail_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(mail_sandbox, tmp_path_factory.mktemp("mail"), connectors=only("mail")) as gateway:
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("mail")
    return room


@pytest.fixture
def patient(mail_sandbox: Sandbox, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that waits as long as a busy machine needs to make large answers."""
    with serving(mail_sandbox, tmp_path, connectors=only("mail"), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30") as gateway:
        gateway.clear("mail")
        yield gateway


@pytest.fixture
def unsettled(mail_sandbox: Sandbox, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway whose application may work on a request for two seconds, longer than it is waited for."""
    settings: dict[str, Any] = {"GATEWAY_MAIL_SETTLE_SECONDS": "2", "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.5"}
    with serving(mail_sandbox, tmp_path, connectors=only("mail"), **settings) as gateway:
        gateway.clear("mail")
        yield gateway


@pytest.fixture
def restarting(mail_sandbox: Sandbox, tmp_path: Path) -> Restarting:
    """A gateway of its own that can be started again."""
    return serving_again(mail_sandbox, tmp_path, connectors=only("mail"))


@pytest.fixture
def mailbox(mail_sandbox: Sandbox) -> Looking:
    emulator = mail_sandbox.emulators["mail"]
    assert isinstance(emulator, MailEmulator)
    return Looking(emulator)
