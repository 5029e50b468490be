"""Contacts."""

from collections.abc import Mapping
from typing import Literal

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.connectors.crm.mapping.properties import Values
from connector_gateway.connectors.crm.mapping.records import StoredData
from connector_gateway.connectors.crm.mapping.searches import OWNER
from connector_gateway.connectors.crm.models import Contact, WrittenContact
from connector_gateway.kit.casts import quote_names
from connector_gateway.kit.write_steps import StepInput

COMMON = ("firstname", "lastname", "phone", "company", "jobtitle", "lifecyclestage")
"""Properties that every portal has and every look-up returns."""


def lookup_properties(matched: str | None) -> list[str]:
    """Return the properties that a look-up reads."""
    return list(dict.fromkeys(["email", *COMMON, OWNER, *([matched] if matched else [])]))


def to_lower(text: str | None) -> str:
    """Return an email address or domain in comparable form."""
    return (text or "").lower()


def contact(record: vendor_models.Record, emails: Mapping[str, str | None], matched: str | None) -> Contact:
    """Return a contact as the result of a look-up."""
    properties = record.properties
    requested = {name: properties.get(name) for name in ([matched] if matched else []) + list(COMMON)}
    fields = {
        "contact_id": record.id,
        "email": properties.get("email"),
        "owner_email": emails.get(properties.get(OWNER) or ""),
    }
    return Contact(**(requested | fields))


def stored_contact(
    record: vendor_models.Record, sent: Values, email: str, action: Literal["created", "updated"]
) -> StoredData:
    """Return the stored form of a written contact."""
    names = sent.matching_names(record)
    return {
        "id": record.id,
        "action": action,
        "email": record.properties.get("email") or email,
        "written": ["email", *names] if action == "created" else names,
    }


def not_accepted_warning(stored: StoredData, texts: Mapping[str, str]) -> str | None:
    """Return the warning that the portal kept its own values of some properties, or None if it accepted all *texts*."""
    names = [name for name in texts if name not in stored["written"]]
    if not names or stored["action"] == "skipped":
        return None
    return f"Not written, because the vendor kept its own value: {quote_names(names)}."


def skipped_contact(record: vendor_models.Record) -> StoredData:
    """Return the stored form of a contact that was left unchanged."""
    return {"id": record.id, "action": "skipped", "email": record.properties.get("email") or "", "written": []}


def dry_run_contact(intent: StepInput) -> StoredData:
    """Return the assumed result of writing a contact, for dry runs."""
    return {"id": "new-contact", "action": "created", "email": intent["email"], "written": ["email", *intent["texts"]]}


def public_contact(stored: StoredData) -> StoredData:
    """Return the part of a contact that is included in the error when a later step fails."""
    return {"contact_id": stored["id"], "action": stored["action"]}


def written_contact(stored: StoredData, portal_id: str) -> WrittenContact:
    """Return the result for a contact that was written or left unchanged."""
    return WrittenContact(
        contact_id=stored["id"],
        action=stored["action"],
        email=stored["email"],
        properties_written=stored["written"],
        portal_id=portal_id,
    )
