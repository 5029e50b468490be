"""Watching connections, user actions and manual deliveries for the tests of observed messages."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.all_connectors import only
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from harness.watch_state import watch_of
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

TEAM = "T04NW2K7QLM"
BOT_USER = "U05RELAYBOT"
APP = "A05RELAY7X2"


@contextmanager
def run_watching_gateway(folder: Path, secrets: str = SIGNING_SECRET, **settings: str) -> Iterator[Gateway]:
    """Run a gateway that accepts deliveries of chat signed with one of *secrets*."""
    watched: dict[str, Any] = {"GATEWAY_WATCH": "on", "GATEWAY_CHAT_HOOK_SECRET": secrets, **settings}
    with (
        run_emulators(chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors=only("chat"), **watched) as gateway,
    ):
        yield gateway


def connect(gateway: Gateway, **settings: Any) -> str:
    """Create a connection and wait until it receives deliveries."""
    response = gateway.operator(
        "POST",
        "/v1/connections",
        json={
            "workspace_id": gateway.workspace_id,
            "connector": "chat",
            "credentials": gateway.sandbox.emulators["chat"].credentials(),
            "settings": settings,
        },
    )
    connection_id: str = response.data["connection_id"]
    confirm_app(gateway, connection_id)
    return connection_id


def confirm_app(gateway: Gateway, connection_id: str) -> None:
    """Deliver an event to the connection's bot, which confirms its app, and wait until it receives deliveries."""
    gateway.loop.call_soon_threadsafe(gateway.app._watches.wake_event.set)
    wait_until(lambda: is_identified(gateway, connection_id))
    deliver(gateway, build_envelope({"type": "app_home_opened"}))
    wait_for_poll(gateway, connection_id)


def is_identified(gateway: Gateway, connection_id: str) -> bool:
    """Return True if the first poll of a connection has identified its account and has ended."""
    watch = watch_of(gateway, connection_id)
    return watch.account is not None and watch.lease is None


def change_settings(gateway: Gateway, connection_id: str, **settings: Any) -> None:
    """Change the settings and wait until a poll has used them."""
    gateway.operator("PATCH", f"/v1/connections/{connection_id}", json={"settings": settings})
    wait_for_poll(gateway, connection_id)


def wait_for_poll(gateway: Gateway, connection_id: str) -> None:
    """Wake the pollers and wait until they have polled."""
    gateway.loop.call_soon_threadsafe(gateway.app._watches.wake_event.set)
    wait_until(lambda: is_idle(gateway, connection_id))


def is_idle(gateway: Gateway, connection_id: str) -> bool:
    """Return True if a connection has been polled and no poll is due."""
    watch = watch_of(gateway, connection_id)
    return watch.account is not None and watch.due_at is None and watch.lease is None


def get_status(gateway: Gateway, connection_id: str) -> str:
    """Return the status of a connection."""
    return str(gateway.operator("GET", f"/v1/connections/{connection_id}").data["status"])


def perform(gateway: Gateway, times: int = 1, **action: Any) -> Any:
    """Perform a user action, and wait until *times* deliveries are acknowledged."""
    known = len(list_deliveries(gateway))
    done = gateway.act("chat", **action)
    wait_until(lambda: len(list_deliveries(gateway)) >= known + times)
    return done


def post_message(gateway: Gateway, channel_id: str, text: str, times: int = 1, **more: Any) -> str:
    """Write a message, wait until it was delivered, and return its identifier."""
    posted = perform(gateway, times, action="message", channel_id=channel_id, text=text, **more)
    return str(posted["ts"])


def list_deliveries(gateway: Gateway) -> Sequence[dict[str, Any]]:
    """Return the attempts of deliveries."""
    tried: Sequence[dict[str, Any]] = gateway.act("chat", action="deliveries")["deliveries"]
    return tried


def events(gateway: Gateway, connection_id: str, **query: Any) -> Sequence[dict[str, Any]]:
    """Return the first page of the feed."""
    data: Sequence[dict[str, Any]] = gateway.get("/chat/events", connection_id=connection_id, **query).data
    return data


def read_texts(gateway: Gateway, connection_id: str, **query: Any) -> Sequence[str]:
    """Return the texts of the first page of the feed."""
    return [event["text"] for event in events(gateway, connection_id, **query)]


def build_envelope(event: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the envelope of an event."""
    authorizations = [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True}]
    outer = {"type": "event_callback", "team_id": TEAM, "api_app_id": APP, "event_id": "Ev0BYHAND"}
    return {**outer, "authorizations": authorizations, "event": event, **more}


def message(channel_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Return the event of a new message."""
    ts = f"{time.time():.6f}"
    return {"type": "message", "channel": channel_id, "user": "U04NW000002", "text": text, "ts": ts, **more}


def sign(body: bytes, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """Return the headers of a delivery signed at that time."""
    timestamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def deliver(gateway: Gateway, envelope: dict[str, Any], **headers: str) -> Reply:
    """Deliver an envelope with a valid signature."""
    body = json.dumps(envelope).encode()
    return post(gateway, body, sign(body) | headers)


def post(gateway: Gateway, body: bytes, headers: dict[str, str]) -> Reply:
    """Send any delivery."""
    return gateway.request("POST", "/hooks/chat", headers=headers, content=body)
