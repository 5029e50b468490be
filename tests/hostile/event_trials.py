"""Polls through the mangling proxy, and malformed but signed deliveries."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from connector_gateway.storage.sql import tables
from gateway.tests.connectors.notes.event_feed import share
from harness.gateway_server import Gateway
from harness.watch_state import settle
from hostile.call_trials import UNEXPECTED, Hostile, cause_of, hostile, misshapen
from hostile.response_mutations import mangled
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

NOTES_SECRET = "secret_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"
POLLS = 3
"""The number of mangled polls of each connection, with a change before each of them."""

UUID = "73bf39e2-da9d-404d-8b3e-1f77e835ac74"
BOT = {"team_id": "T04NW2K7QLM", "user_id": "U05RELAYBOT", "is_bot": True, "enterprise_id": None}
MESSAGE = {
    "type": "message",
    "channel": "C04GENERAL1",
    "user": "U04NW000002",
    "text": "Delivered",
    "ts": "1795000000.1",
}


def _notes_deliveries(data_source_id: str) -> Sequence[Mapping[str, Any]]:
    outer = {
        "id": UUID,
        "timestamp": "2026-11-22T07:00:00.000Z",
        "workspace_id": UUID,
        "authors": [{"id": UUID, "type": "person"}],
        "accessible_by": [{"id": UUID, "type": "bot"}],
        "attempt_number": 1,
        "api_version": "2026-03-11",
    }
    parent = {"id": UUID, "type": "database", "data_source_id": data_source_id}
    page = {"entity": {"id": UUID, "type": "page"}, "data": {"parent": parent, "updated_properties": ["title"]}}
    source = {"entity": {"id": data_source_id, "type": "data_source"}, "data": {"parent": parent}}
    return [
        {**outer, "type": "page.created", **page},
        {**outer, "type": "page.properties_updated", **page},
        {**outer, "type": "data_source.schema_updated", **source},
        {"verification_token": NOTES_SECRET},
    ]


def _chat_deliveries() -> Sequence[Mapping[str, Any]]:
    events: Sequence[Mapping[str, Any]] = [
        MESSAGE,
        {**MESSAGE, "subtype": "bot_message", "bot_id": "B01", "bot_profile": {"id": "B01", "name": "x"}},
        {**MESSAGE, "subtype": "message_changed", "message": MESSAGE, "previous_message": MESSAGE, "hidden": True},
        {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U09SOMEBODY"]}},
        {"type": "member_joined_channel", "user": "U05RELAYBOT", "channel": "C04GENERAL1", "team": BOT["team_id"]},
        {"type": "channel_rename", "channel": {"id": "C04GENERAL1", "name": "everybody", "created": 1}},
    ]
    outer = {"team_id": BOT["team_id"], "context_team_id": BOT["team_id"], "authorizations": [BOT], "event_id": "Ev0"}
    return [
        *[{**outer, "type": "event_callback", "event": event, "event_time": 1} for event in events],
        {"type": "url_verification", "token": "x", "challenge": "y"},
        {**outer, "type": "app_rate_limited", "minute_rate_limited": int(time.time() // 60 * 60)},
    ]


@dataclass
class EventTrials:
    """A gateway behind the proxy that polls on demand."""

    hostile: Hostile

    def connect(self, connector: str) -> Gateway:
        """Create a watched connection that has not been polled."""
        settings = {"channels": ["general"], "keywords": ["quetzal"]} if connector == "chat" else {}
        return self.hostile.with_new_connection(connector, **settings)

    def change(self, connector: str, text: str) -> None:
        """Change watched data as a person."""
        gateway, known = self.hostile.gateway, self.hostile.gateway.examples(connector)
        if connector == "chat":
            gateway.act("chat", action="message", channel_id=known["channel_id"], text=f"quetzal {text}")
        else:
            created = {"database_id": known["database_id"], "properties": {"Name": text}}
            gateway.act("notes", action="create_page", **created)
            properties = {"Value": Random(text).randrange(1000)}
            gateway.act("notes", action="update_page", page_id=known["page_id"], properties=properties)

    def poll(self, connection_id: str) -> None:
        """Poll everything, including possible misses of the last minute, and wait for the end."""
        gateway, app = self.hostile.gateway, self.hostile.gateway.app
        this = tables.watches.c.connection_id == connection_id
        gateway.run(app._watches.mark_behind(time.time() - 60, this))
        settle(gateway, connection_id)

    # Polls

    def poll_violations(self, connector: str, seeds: Iterable[int]) -> list[str]:
        """Return unexpected errors of polls with mangled responses, and changes that a later unmangled poll misses."""
        return [f"seed {seed}: {violation}" for seed in seeds for violation in self._poll_violations(connector, seed)]

    def _poll_violations(self, connector: str, seed: int) -> Iterator[str]:
        gateway, proxy = self.connect(connector), self.hostile.proxy
        connection_id = gateway.connections[connector]
        proxy.begin(seed)
        for number in range(POLLS):
            self.change(connector, f"under way {seed} {number}")
            self.poll(connection_id)
            yield from self.unexpected()
        proxy.stop()
        self.poll(connection_id)
        self.change(connector, f"in peace {seed}")
        self.poll(connection_id)
        yield from self.unexpected()
        if not self._reports(gateway, connector, f"in peace {seed}"):
            yield f"the last change is not in the feed after {proxy.mangled}"
        gateway.run(gateway.app.connections.remove(connection_id))

    def unexpected(self) -> Iterator[str]:
        """Return unexpected errors in the log since the last call."""
        logged = self.hostile.logged[:]
        self.hostile.logged.clear()
        for entry in logged:
            if entry["event"] in UNEXPECTED:
                yield f"{cause_of(entry)}; mangled: {self.hostile.proxy.mangled}"

    def _reports(self, gateway: Gateway, connector: str, text: str) -> bool:
        """Return True if the feed contains a change."""
        events = gateway.get(f"/{connector}/events", limit=200).data
        if connector == "chat":
            return any(event["text"] == f"quetzal {text}" for event in events)
        pages = self.hostile.world.emulator("notes").workspace.pages
        return any(pages[event["page_id"]].title == text for event in events)

    # Deliveries

    def delivery_violations(self, connector: str, seeds: Iterable[int]) -> list[str]:
        """Return violations in the acknowledgements of malformed deliveries, and in their effects."""
        connection_id = self.connect(connector).connections[connector]
        self.poll(connection_id)
        self.hostile.logged.clear()
        known = self.hostile.gateway.examples(connector)
        bodies = _chat_deliveries() if connector == "chat" else _notes_deliveries(known["data_source_id"])
        violations = [
            violation
            for seed in seeds
            for body in bodies
            for violation in self._delivery_violations(connector, body, seed)
        ]
        self.poll(connection_id)
        return violations + list(self.unexpected())

    def _delivery_violations(self, connector: str, body: Mapping[str, Any], seed: int) -> Iterator[str]:
        changed, what = mangled(json.dumps(body).encode(), 200, Random(f"{seed} {body}"))
        reply = self.hostile.gateway.request(
            "POST", f"/hooks/{connector}", headers=_signed(connector, changed), content=changed
        )
        if reply.status != 200 and (wrong := misshapen(reply)):
            yield f"{body.get('type')}, seed {seed}: {wrong}: {self.hostile.cause()}; {what}"


def _signed(connector: str, body: bytes) -> dict[str, str]:
    if connector == "notes":
        return {"X-Notion-Signature": "sha256=" + hmac.new(NOTES_SECRET.encode(), body, hashlib.sha256).hexdigest()}
    timestamp = str(int(time.time()))
    digest = hmac.new(SIGNING_SECRET.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


@contextmanager
def run_event_trials(folder: Path) -> Iterator[EventTrials]:
    """Run a gateway behind the proxy that polls on demand."""
    settings = {
        "GATEWAY_WATCH": "on",
        "GATEWAY_NOTES_WATCH_SECONDS": "3600",
        "GATEWAY_NOTES_HOOK_SECRET": NOTES_SECRET,
        "GATEWAY_CHAT_HOOK_SECRET": SIGNING_SECRET,
    }
    with hostile(folder, **settings) as behind_the_proxy:
        gateway = behind_the_proxy.gateway
        gateway.knob("notes", search_lag_seconds=0.0)
        share(behind_the_proxy.world.emulator("notes"), "Leads")
        for connector in ("notes", "chat"):
            gateway.run(gateway.app.connections.remove(gateway.connections[connector]))
        yield EventTrials(behind_the_proxy)
