"""Every operation of every room, called as callers do, with what they name there and also not there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from connector_gateway.connectors.mail.mapping import attachment_id
from harness.serving import Gateway, Reply
from simulation.writes import KINDS, World
from workspace_sandbox.sandbox import Sandbox

Examples = Mapping[str, Any]
NOWHERE = "11111111111141118111111111111111"


@dataclass(frozen=True)
class Reading:
    """A call that changes nothing: method, path below the connector, and parameters."""

    method: str
    path: str
    values: Mapping[str, Any]


def _notes(known: Examples) -> Sequence[Reading]:
    leads = {"database_id": known["database_id"]}
    return [
        Reading("GET", "/databases", {}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "Acme GmbH: pilot"}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "pilot", "match": "contains"}),
        Reading("POST", "/pages/search", {"database_id": NOWHERE, "property": "Name", "value": "x"}),
        Reading("POST", "/pages", {**leads, "properties": {"No such property": 1}}),
        Reading("PATCH", f"/pages/{NOWHERE}", {"properties": {"Name": "x"}}),
        Reading("GET", "/events", {}),
    ]


def _boards(known: Examples) -> Sequence[Reading]:
    return [
        Reading("GET", "/lists", {"board_id": known["board_id"]}),
        Reading("GET", "/lists", {"board_id": known["hidden_board_id"]}),
        Reading("POST", "/cards", {"list_id": known["hidden_list_id"], "name": "x"}),
        Reading("POST", "/cards", {"list_id": known["list_ids"][0], "name": "x", "labels": ["no such label"]}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/comments", {"text": "x"}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/move", {"list_id": known["list_ids"][0]}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/checklists", {"name": "x", "items": ["y"]}),
    ]


def _mail(known: Examples) -> Sequence[Reading]:
    message = known["attachment_message_id"]
    attachment = attachment_id(message, known["attachment_part_id"])
    letter = {"to": ["ada@example.com"], "subject": "x", "body_html": "<p>x</p>"}
    return [
        Reading("GET", "/messages", {"q": known["q"], "limit": 3}),
        Reading("GET", "/messages", {"q": "has:attachment", "limit": 3, "include_body": True}),
        Reading("POST", f"/messages/{known['message_id']}/labels", {"add": ["no such label"]}),
        Reading("POST", "/messages/1111111111111111/labels", {"add": known["labels"]}),
        Reading("POST", "/messages", {**letter, "thread_id": "1111111111111111"}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": message, "as": "base64"}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": message}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": "1111111111111111"}),
    ]


def _chat(known: Examples) -> Sequence[Reading]:
    gone = "1111111111.111111"
    return [
        Reading("GET", "/channels", {"limit": 20}),
        Reading("POST", "/messages", {"channel": "no such channel", "text": "x"}),
        Reading("POST", "/messages", {"channel": known["channel"], "text": "x", "thread_ts": gone}),
        Reading("PATCH", f"/messages/{gone}", {"channel": known["channel"], "text": "x"}),
        Reading("POST", "/reactions", {"channel": known["channel"], "message_ts": gone, "emoji": "eyes"}),
        Reading("GET", "/events", {"channel": known["channel"]}),
        Reading("GET", "/events", {}),
    ]


def _crm(known: Examples) -> Sequence[Reading]:
    deal = {"dealname": "x", "pipeline": known["pipeline"], "dealstage": known["stages"][0]}
    return [
        Reading("GET", "/contacts", {"email": known["email"]}),
        Reading("GET", "/contacts", {"property": "firstname", "value": "Ana", "limit": 5}),
        Reading("GET", "/contacts", {"limit": 3}),
        Reading("GET", "/properties", {"object_type": "deals"}),
        Reading("POST", "/contacts", {"email": "x@example.com", "properties": {"no_such_property": "x"}}),
        Reading("POST", "/deals", {**deal, "contact_id": "1111111"}),
        Reading("POST", "/deals", {**deal, "dealstage": "no such stage"}),
        Reading("PATCH", "/deals/1111111", {"note": "x"}),
    ]


def _tables(known: Examples) -> Sequence[Reading]:
    place = {"base_id": known["base_id"], "table": known["table"]}
    nowhere = "rec11111111111111"
    return [
        Reading("GET", "/records", {**place, "limit": 5}),
        Reading("GET", "/records", {**place, "view": known["view"], "limit": 5}),
        Reading("GET", "/records", {**place, "table": "no such table"}),
        Reading("GET", "/tables", {"base_id": known["base_id"]}),
        Reading("GET", "/tables", {"base_id": known["hidden_base_id"]}),
        Reading("POST", "/records", {**place, "records": [{"No such field": 1}]}),
        Reading("PATCH", f"/records/{nowhere}", {**place, "fields": {"Name": "x"}}),
        Reading("POST", "/attachments", {"record_id": nowhere, "field": "Files", "url": "https://files.example/a.png"}),
    ]


READINGS: Mapping[str, Callable[[Examples], Sequence[Reading]]] = {
    "notes": _notes,
    "boards": _boards,
    "mail": _mail,
    "chat": _chat,
    "crm": _crm,
    "tables": _tables,
}

WRITINGS = {room: [name for name in KINDS if name.startswith(f"{room}.") and "vague" not in name] for room in READINGS}
"""The writes of each room; a repeat of one without a content of its own shows nothing here."""


@dataclass(frozen=True)
class Outside:
    """The third parties, asked past the gateway and past the proxy."""

    sandbox: Sandbox

    @property
    def emulators(self) -> Mapping[str, Any]:
        """The stand-ins, looked into."""
        return self.sandbox.emulators

    async def ask(self, room: str, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """The answer to somebody else than the gateway."""
        address = self.sandbox.emulators[room].stage.addresses["base"]
        async with httpx.AsyncClient() as client:
            return (await client.request(method, address + path, json=body, headers=dict(headers))).json()


def read(gateway: Gateway, room: str, reading: Reading) -> Reply:
    """What is answered to a call that changes nothing."""
    values = {"connection_id": gateway.connections[room], **reading.values}
    sent = {"params": values} if reading.method == "GET" else {"json": values}
    return gateway.request(reading.method, f"/v1/connectors/{room}{reading.path}", **sent)


def write(gateway: Gateway, world: World, name: str, content: str, key: str) -> Reply:
    """What is answered to a write."""
    kind = KINDS[name]
    method, path, body = kind.request(world, content)
    sent = {"connection_id": gateway.connections[kind.room], **body}
    return gateway.request(method, f"/v1/connectors/{kind.room}{path}", json=sent, headers={"Idempotency-Key": key})
