"""Fixtures of the mail emulator."""

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
def mail_client(sandbox: Sandbox) -> Iterator[Mail]:
    mail = Mail(sandbox)
    yield mail
    mail.http.close()
    mail.control.close()


@pytest.fixture
def mail(mail_client: Mail) -> Mail:
    """The mailbox as the tests before have left it, without limits, knobs or faults of theirs."""
    context = mail_client.emulator.context
    context.knobs.update({**context.default_knobs, "limits": False})
    context.faults.clear()
    context.request_log.clear()
    return mail_client
