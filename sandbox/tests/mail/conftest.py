"""What the tests of the mail stand-in share."""

from collections.abc import Iterator

import pytest

from harness.sandbox_server import run_emulators
from sandbox.tests.mail.mail_client import Mail
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(mail=MailEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def played(sandbox: Sandbox) -> Iterator[Mail]:
    mail = Mail(sandbox)
    yield mail
    mail.http.close()
    mail.control.close()


@pytest.fixture
def mail(played: Mail) -> Mail:
    """The mailbox as the tests before have left it, without limits, knobs or faults of theirs."""
    stage = played.emulator.context
    stage.knobs.update({**stage.default_knobs, "limits": False})
    stage.faults.clear()
    stage.request_log.clear()
    return played
