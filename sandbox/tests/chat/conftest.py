"""What the tests of the chat stand-in share."""

from collections.abc import Iterator

import pytest
import requests

from harness.clocks import ManualClock
from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Inbox, run_receiver
from sandbox.tests.chat.calling import Chat
from workspace_sandbox import Sandbox
from workspace_sandbox.chat import ChatEmulator


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(chat=ChatEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def http() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


@pytest.fixture
def chat(sandbox: Sandbox, http: requests.Session) -> Chat:
    found = Chat(sandbox, sandbox.emulators["chat"].credentials()["token"], http)
    found.reset()
    return found


@pytest.fixture
def clock(sandbox: Sandbox, chat: Chat) -> Iterator[ManualClock]:
    stage = sandbox.emulators["chat"].context
    real, stage.clock = stage.clock, ManualClock(1_790_000_000.0)
    chat.reset()
    yield stage.clock
    stage.clock = real


@pytest.fixture
def inbox(chat: Chat) -> Iterator[Inbox]:
    with run_receiver() as listening:
        chat.steer("knobs", events_url=listening.address)
        yield listening
