"""Fixtures of the Slack emulator's tests."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Inbox, run_receiver
from sandbox.tests.chat.slack_client import ChatClient
from workspace_sandbox import Sandbox
from workspace_sandbox.chat import ChatEmulator


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(chat=ChatEmulator) as running:
        yield running


@pytest.fixture(scope="module")
def http() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


@pytest.fixture
def chat(sandbox: Sandbox, http: requests.Session) -> ChatClient:
    client = ChatClient(sandbox, sandbox.emulators["chat"].credentials()["token"], http)
    client.reset()
    return client


@pytest.fixture
def clock(sandbox: Sandbox, chat: ChatClient) -> Iterator[ManualClock]:
    context = sandbox.emulators["chat"].context
    real, context.clock = context.clock, ManualClock(1_790_000_000.0)
    chat.reset()
    yield context.clock
    context.clock = real


@pytest.fixture
def inbox(chat: ChatClient) -> Iterator[Inbox]:
    with run_receiver() as receiver:
        chat.control("knobs", events_url=receiver.address)
        yield receiver
