"""Messages written during a restart are stored once."""

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.tests.connectors.chat.event_feed import read_texts
from gateway.tests.connectors.chat.vendor_view import GENERAL, RANDOM
from harness.all_connectors import only
from harness.gateway_process import Installation
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.chat.deliveries import SIGNING_SECRET
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(chat=ChatEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def installation(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Run a process that watches two channels."""
    settings = {"GATEWAY_WATCH": "on", "GATEWAY_CHAT_HOOK_SECRET": SIGNING_SECRET}
    with httpx.Client(timeout=30) as http:
        created = Installation(sandbox, tmp_path_factory.mktemp("restarts"), http, settings)
        created.start()
        workspace = {"workspace_id": created.manage("POST", "/v1/workspaces", name="tests")["workspace_id"]}
        created.key = created.manage("POST", "/v1/keys", **workspace, scope="read")["key"]
        credentials = sandbox.emulators["chat"].credentials()
        connection = {"connector": "chat", "credentials": credentials, "settings": {"channels": [GENERAL, RANDOM]}}
        created.connections = {
            "chat": created.manage("POST", "/v1/connections", **workspace, **connection)["connection_id"]
        }
        yield created
        created.end()


def control(installation: Installation, prefix: str, **body: Any) -> None:
    reply = installation.http.post(f"{installation.sandbox.address}/_control/chat/{prefix}", json=body)
    assert 200 == reply.status_code, reply.text


def post_message(installation: Installation, *spoken: str) -> Sequence[str]:
    """Write messages to both channels alternately."""
    for number, text in enumerate(spoken):
        control(installation, "act", action="message", channel_id=[GENERAL, RANDOM][number % 2], text=text)
    return spoken


def feed(installation: Installation) -> httpx.Response:
    return installation.http.get(
        f"{installation.base_url}/v1/connectors/chat/events",
        params={"connection_id": installation.connections["chat"], "limit": 200},
        headers={"Authorization": f"Bearer {installation.key}"},
    )


def list_texts(installation: Installation, prefix: str) -> Sequence[str]:
    """Return the texts of the feed that begin with *prefix*."""
    return [event["text"] for event in feed(installation).json()["data"] if event["text"].startswith(prefix)]


def count_deliveries(installation: Installation) -> int:
    """Return the number of accepted deliveries."""
    tried = installation.sandbox.emulators["chat"].perform({"action": "deliveries"})["deliveries"]
    return sum(delivery["reason"] is None for delivery in tried)


@requirement("chat-44", "chat-47")
def test_a_kill_during_repeated_deliveries_loses_no_message(installation: Installation) -> None:
    control(installation, "knobs", events_url=f"{installation.base_url}/hooks/chat", retry_seconds=[], limits=False)
    control(installation, "knobs", deliver_twice=True, deliver_disordered=True)
    before = post_message(installation, *(f"kill, before {number}" for number in range(4)))
    wait_until(lambda: len(list_texts(installation, "kill")) == len(before))
    rushed = post_message(installation, *(f"kill, rushed {number}" for number in range(6)))
    installation.end(signal.SIGKILL)
    meanwhile = post_message(installation, *(f"kill, meanwhile {number}" for number in range(6)))
    throttled = {
        "path": "/api/conversations.history",
        "fault": "status",
        "status": 429,
        "headers": {"Retry-After": "0"},
    }
    control(installation, "faults", **throttled)
    installation.start()
    after = post_message(installation, "kill, after")
    wait_until(lambda: len(list_texts(installation, "kill")) >= 17)

    assert sorted([*before, *rushed, *meanwhile, *after]) == sorted(list_texts(installation, "kill"))
    assert [] == feed(installation).headers.get_list("warning")


@requirement("chat-44", "chat-47")
def test_a_redelivered_and_polled_message_is_stored_once(installation: Installation) -> None:
    address = f"{installation.base_url}/hooks/chat"
    control(installation, "knobs", events_url=address, retry_seconds=[0.5] * 120, deliver_twice=False)
    code = installation.end(signal.SIGTERM)
    known = count_deliveries(installation)
    meanwhile = post_message(installation, *(f"stop, meanwhile {number}" for number in range(6)))
    installation.start()
    wait_until(lambda: count_deliveries(installation) >= known + len(meanwhile))
    wait_until(lambda: len(list_texts(installation, "stop")) >= len(meanwhile))

    assert 0 == code
    assert list(meanwhile) == sorted(list_texts(installation, "stop"))


@requirement("chat-48")
def test_without_deliveries_messages_are_read_from_the_history(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(
        sandbox, tmp_path, connectors=only("chat"), GATEWAY_WATCH="on", GATEWAY_CHAT_WATCH_SECONDS="0.3"
    ) as gateway:
        gateway.knob("chat", limits=False)
        connection = gateway.connections["chat"]
        gateway.operator("PATCH", f"/v1/connections/{connection}", json={"settings": {"channels": ["general"]}})
        parent = gateway.act("chat", action="message", channel_id=GENERAL, text="first")["ts"]
        wait_until(lambda: read_texts(gateway, connection) == ["first"])
        gateway.act("chat", action="message", channel_id=GENERAL, text="second", thread_ts=parent)
        wait_until(lambda: read_texts(gateway, connection) == ["first", "second"])
        unsigned = gateway.request("POST", "/hooks/chat", json={"type": "url_verification", "challenge": "c"})

    assert (401, "invalid_signature") == (unsigned.status, unsigned.code)
