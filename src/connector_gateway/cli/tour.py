"""The tour: for each connector one call that shows what it is good for."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from connector_gateway.connectors.mail.mapping import attachment_id

Described = Mapping[str, Any]


@dataclass(frozen=True)
class Stop:
    """One call of the tour."""

    title: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


def _notes(described: Described) -> Stop:
    return Stop(
        "the first databases",
        "GET",
        "/v1/connectors/notes/databases",
        query={"connection_id": described["connections"]["notes"], "limit": "3"},
    )


def _boards(described: Described) -> Stop:
    example = described["examples"]["boards"]
    return Stop(
        "a card with labels by name and a due date in UTC",
        "POST",
        "/v1/connectors/boards/cards",
        body={
            "connection_id": described["connections"]["boards"],
            "list_id": example["list_ids"][0],
            "name": "Fix the door 🚪",
            "due": "2026-12-01T10:00:00+01:00",
            "labels": example["labels"],
        },
    )


def _mail(described: Described) -> Stop:
    return Stop(
        "messages found in the provider's own search syntax",
        "GET",
        "/v1/connectors/mail/messages",
        query={
            "connection_id": described["connections"]["mail"],
            "q": described["examples"]["mail"]["q"],
            "limit": "2",
        },
    )


def _chat(described: Described) -> Stop:
    return Stop(
        "a message that is posted once, however often it is sent",
        "POST",
        "/v1/connectors/chat/messages",
        body={
            "connection_id": described["connections"]["chat"],
            "channel": described["examples"]["chat"]["channel"],
            "text": "Hello from the gateway :wave:",
            "idempotency_key": "tour",
        },
    )


def _crm(described: Described) -> Stop:
    examples = described["examples"]["crm"]
    return Stop(
        "a contact, created or updated, and linked to its company",
        "POST",
        "/v1/connectors/crm/contacts",
        body={
            "connection_id": described["connections"]["crm"],
            "email": examples["email"],
            "properties": {examples["custom_property"]: "gold"},
            "associate_company": examples["company_domain"],
        },
    )


def _tables(described: Described) -> Stop:
    example = described["examples"]["tables"]
    return Stop(
        "two records, one of which names an option that does not exist",
        "POST",
        "/v1/connectors/tables/records",
        body={
            "connection_id": described["connections"]["tables"],
            "base_id": example["base_id"],
            "table": example["table"],
            "records": [
                {"Name": "Acme", example["select_field"]: "Open", "Value": "12.50"},
                {"Name": "Bolt", example["select_field"]: "Maybe"},
            ],
        },
    )


STOPS: Mapping[str, Callable[[Described], Stop]] = {
    "notes": _notes,
    "boards": _boards,
    "mail": _mail,
    "chat": _chat,
    "crm": _crm,
    "tables": _tables,
}
"""The call to show for each connector."""


def examples_of(sandbox: Mapping[str, Any]) -> dict[str, Any]:
    """The sandbox's examples, by the names that callers of the gateway use."""
    examples = dict(sandbox["examples"])
    mail = examples["mail"]
    attachment = attachment_id(mail["attachment_message_id"], mail["attachment_part_id"])
    examples["mail"] = mail | {"message_id": mail["attachment_message_id"], "attachment_id": attachment}
    return examples


def curl(described: Described, stop: Stop) -> str:
    """The command line that makes the call of *stop*."""
    address = described["base_url"] + stop.path + (f"?{urlencode(stop.query)}" if stop.query else "")
    parts = ["curl", "-sS", shlex.quote(address), "-H", f"'Authorization: Bearer {described['keys']['write']}'"]
    if stop.method != "GET":
        parts += ["-X", stop.method]
    if stop.body is not None:
        parts += ["--json", shlex.quote(json.dumps(stop.body, ensure_ascii=False))]
    return " ".join(parts)
