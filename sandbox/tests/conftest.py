"""Fixtures: a named emulator, an OAuth app registered there, and a user's browser."""

from collections.abc import Iterator

import httpx
import pytest

from harness.consent_pages import Browser
from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Inbox, run_receiver
from sandbox.tests.oauth_flows import OAUTH_FLOWS, Application
from workspace_sandbox import EMULATORS, Sandbox


@pytest.fixture(scope="module")
def named_sandbox(name: str) -> Iterator[Sandbox]:
    with run_emulators(**{name: EMULATORS[name]}) as sandbox:
        yield sandbox


@pytest.fixture
def app(named_sandbox: Sandbox, name: str) -> Iterator[Application]:
    with httpx.Client() as http:
        yield Application(OAUTH_FLOWS[name], named_sandbox.emulators[name], http)


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of all emulators."""
    with run_emulators(**EMULATORS) as sandbox:
        yield sandbox


@pytest.fixture
def control(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A client of the control routes. The sandbox is reset before and after each test."""
    with httpx.Client(base_url=f"{sandbox.address}/_control") as control:
        control.post("/reset")
        yield control
        control.post("/reset")


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    """A receiver of deliveries."""
    with run_receiver() as listening:
        yield listening
