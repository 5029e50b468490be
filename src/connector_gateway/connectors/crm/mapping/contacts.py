"""Contacts."""

from collections.abc import Mapping
from typing import Literal

from connector_gateway.connectors.crm import wire
from connector_gateway.connectors.crm.mapping.properties import Values
from connector_gateway.connectors.crm.mapping.records import Kept
from connector_gateway.connectors.crm.mapping.searches import OWNER
from connector_gateway.connectors.crm.models import Contact, WrittenContact
from connector_gateway.kit.casts import quoted
from connector_gateway.kit.write_steps import StepInput

COMMON = ("firstname", "lastname", "phone", "company", "jobtitle", "lifecyclestage")
"""Properties of contacts that every portal has and every lookup shows."""


def shown_properties(matched: str | None) -> list[str]:
    """The properties that a lookup reads."""
    return list(dict.fromkeys(["email", *COMMON, OWNER, *([matched] if matched else [])]))


def lowered(text: str | None) -> str:
    """An address or domain, as it is compared."""
    return (text or "").lower()


def contact(record: wire.Record, emails: Mapping[str, str | None], matched: str | None) -> Contact:
    """A contact as a lookup shows it."""
    held = record.properties
    shown = {name: held.get(name) for name in ([matched] if matched else []) + list(COMMON)}
    named = {"contact_id": record.id, "email": held.get("email"), "owner_email": emails.get(held.get(OWNER) or "")}
    return Contact(**(shown | named))


def kept_contact(record: wire.Record, sent: Values, email: str, action: Literal["created", "updated"]) -> Kept:
    """What is kept of a contact that was written."""
    names = sent.held_by(record)
    return {
        "id": record.id,
        "action": action,
        "email": record.properties.get("email") or email,
        "written": ["email", *names] if action == "created" else names,
    }


def refused_warning(kept: Kept, texts: Mapping[str, str]) -> str | None:
    """Return the warning that the portal kept its own values of some properties; None if it took all of *texts*."""
    names = [name for name in texts if name not in kept["written"]]
    if not names or kept["action"] == "skipped":
        return None
    return f"Not written, since the application kept its own value: {quoted(names)}."


def skipped_contact(record: wire.Record) -> Kept:
    """The same of one that was left as it is."""
    return {"id": record.id, "action": "skipped", "email": record.properties.get("email") or "", "written": []}


def assumed_contact(intent: StepInput) -> Kept:
    """What a dry run takes for a contact that was written."""
    return {"id": "new-contact", "action": "created", "email": intent["email"], "written": ["email", *intent["texts"]]}


def told_contact(kept: Kept) -> Kept:
    """What callers are told of a contact when something else fails."""
    return {"contact_id": kept["id"], "action": kept["action"]}


def written_contact(kept: Kept, portal_id: str) -> WrittenContact:
    """The result of a contact that was written, or left as it is."""
    return WrittenContact(
        contact_id=kept["id"],
        action=kept["action"],
        email=kept["email"],
        properties_written=kept["written"],
        portal_id=portal_id,
    )
