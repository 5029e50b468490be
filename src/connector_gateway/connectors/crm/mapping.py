"""Between the vendor's JSON and our shapes: pure functions."""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from connector_gateway.connectors.crm import casts
from connector_gateway.connectors.crm.models import (
    MAX_TEXT,
    Contact,
    CreatedDeal,
    CreateDeal,
    PropertyDefinition,
    UpdatedDeal,
    WrittenContact,
)
from connector_gateway.kit.errors import (
    AmbiguousPipeline,
    GatewayError,
    InvalidParameters,
    PipelineNotFound,
    PropertyNotFound,
    ReadOnlyField,
    StageNotFound,
)

Raw = Mapping[str, Any]

COMMON = ("firstname", "lastname", "phone", "company", "jobtitle", "lifecyclestage")
"""Properties of contacts that every portal has and every lookup shows."""

OWNER = "hubspot_owner_id"
RECORD_ID = "hs_object_id"
UNKNOWN: Raw = {"name": "", "type": "string"}
"""What is known of a property that is checked elsewhere."""


# Properties


@dataclass(frozen=True, slots=True)
class Values:
    """Property values in the vendor's form, and what is known of their properties."""

    definitions: Mapping[str, Raw]
    texts: Mapping[str, str]

    def held_by(self, raw: Raw) -> list[str]:
        """The names of those that a record holds; what the vendor does not show is taken as accepted."""
        held = raw["properties"]
        return [
            name
            for name, text in self.texts.items()
            if name not in held or casts.same(self.definitions.get(name, UNKNOWN), text, held[name])
        ]

    def all_held_by(self, raw: Raw) -> bool:
        """Whether a record holds every one of them."""
        return len(self.held_by(raw)) == len(self.texts)


def definitions(listed: Iterable[Raw]) -> dict[str, Raw]:
    """What is known of properties, by their internal names."""
    return {raw["name"]: raw for raw in listed}


def definition(known: Mapping[str, Raw], name: str) -> Raw:
    """What is known of one property."""
    if name not in known:
        raise _unknown(known, [name])
    return known[name]


def values(known: Mapping[str, Raw], properties: Mapping[str, Any]) -> Values:
    """The vendor's form of *properties*.

    ``PropertyNotFound`` or ``ReadOnlyField`` name every property that cannot be written, ``OptionMissing`` or
    ``LossyCast`` the first whose value cannot.
    """
    unknown = [name for name in properties if name not in known]
    if unknown:
        raise _unknown(known, unknown)
    computed = [name for name in properties if read_only(known[name])]
    if computed:
        raise ReadOnlyField(
            f"The application computes {', '.join(map(repr, computed))} itself.",
            *({"property": name} for name in computed),
        )
    return Values(known, {name: casts.cast(known[name], value) for name, value in properties.items()})


def read_only(described: Raw) -> bool:
    """Whether nobody can write the property."""
    return bool((described.get("modificationMetadata") or {}).get("readOnlyValue"))


def unique(described: Raw) -> bool:
    """Whether a record can be read by its value of the property."""
    return described["name"] in {"email", RECORD_ID} or bool(described.get("hasUniqueValue"))


def identity(name: str, value: str) -> tuple[str | None, str]:
    """How a read names a record by a unique property: the property, unless it is the record's own id, and the value."""
    return None if name == RECORD_ID else name, value.lower() if name == "email" else value


def property_definition(raw: Raw) -> PropertyDefinition:
    """A property as callers see it."""
    return PropertyDefinition(
        name=raw["name"],
        label=raw["label"],
        type=raw["type"],
        options=casts.options(raw),
        custom=not raw.get("hubspotDefined"),
    )


def _unknown(known: Mapping[str, Raw], names: Sequence[str]) -> PropertyNotFound:
    allowed = [name for name, raw in known.items() if not raw.get("hidden")]
    return PropertyNotFound(
        f"The portal has no property {', '.join(map(repr, names))}.",
        *({"property": name, "allowed": allowed} for name in names),
    )


# Contacts


def shown_properties(matched: str | None) -> list[str]:
    """The properties that a lookup reads."""
    return list(dict.fromkeys(["email", *COMMON, OWNER, *([matched] if matched else [])]))


def lowered(email: str | None) -> str:
    """An address as it is compared."""
    return (email or "").lower()


def contact(raw: Raw, emails: Mapping[str, str | None], matched: str | None) -> Contact:
    """A contact as a lookup shows it."""
    held = raw["properties"]
    shown = {name: held.get(name) for name in ([matched] if matched else []) + list(COMMON)}
    named = {"contact_id": raw["id"], "email": held.get("email"), "owner_email": emails.get(held.get(OWNER) or "")}
    return Contact(**(shown | named))


def written_contact(
    raw: Raw, sent: Values, portal_id: str, action: Literal["created", "updated"], email: str
) -> WrittenContact:
    """The result of a contact that was written."""
    names = sent.held_by(raw)
    return WrittenContact(
        contact_id=raw["id"],
        action=action,
        email=raw["properties"].get("email") or email,
        properties_written=["email", *names] if action == "created" else names,
        portal_id=portal_id,
    )


def skipped_contact(raw: Raw, portal_id: str) -> WrittenContact:
    """The result where a contact was left as it is."""
    return WrittenContact(
        contact_id=raw["id"],
        action="skipped",
        email=raw["properties"].get("email") or "",
        properties_written=[],
        portal_id=portal_id,
    )


# Companies


def company_domain(reference: str) -> str | None:
    """The domain that *reference* says, bare; None where it is an identifier."""
    bare = reference.strip().lower()
    bare = bare.rpartition("://")[2].partition("/")[0].removeprefix("www.").rstrip(".")
    return bare if "." in bare else None


def domain_search(domain: str) -> dict[str, Any]:
    """A search for the oldest company with a domain."""
    return _search([{"propertyName": "domain", "operator": "EQ", "value": domain}], ["domain"], 1)


def domain_of(raw: Raw) -> str:
    """A company's domain, as it is compared."""
    return (raw["properties"].get("domain") or "").lower()


# Deals


def choose_pipeline(pipelines: Sequence[Raw], wanted: str) -> Raw:
    """The pipeline with that identifier, or else with that name."""
    living = [raw for raw in pipelines if not raw.get("archived")]
    found = _named(living, wanted)
    if len(found) == 1:
        return found[0]
    refusal: type[GatewayError] = AmbiguousPipeline if found else PipelineNotFound
    message = f"{len(found)} pipelines are named {wanted!r}." if found else f"There is no pipeline {wanted!r}."
    raise refusal(message, {"parameter": "pipeline", "value": wanted, **_choices(found or living)})


def choose_stage(pipeline: Raw, wanted: str) -> Raw:
    """The stage of *pipeline* with that identifier, or else with that name."""
    living = [raw for raw in pipeline["stages"] if not raw.get("archived")]
    found = _named(living, wanted)
    if not found:
        raise StageNotFound(
            f"The pipeline {pipeline['label']!r} has no stage {wanted!r}.",
            {"parameter": "dealstage", "value": wanted, "pipeline": pipeline["id"], **_choices(living)},
        )
    return found[0]


def deal_properties(params: CreateDeal, pipelines: Sequence[Raw]) -> dict[str, str]:
    """The vendor's form of a new deal, its stage found within its pipeline."""
    pipeline = choose_pipeline(pipelines, params.pipeline)
    stage = choose_stage(pipeline, params.dealstage)
    amount = {} if params.amount is None else {"amount": casts.plain(params.amount)}
    return {"dealname": params.dealname, "pipeline": pipeline["id"], "dealstage": stage["id"], **amount}


def created_deal(raw: Raw, sent: Mapping[str, str], contact_id: str | None) -> CreatedDeal:
    """The result of a deal that was made."""
    held = {**sent, **{name: value for name, value in raw["properties"].items() if value}}
    return CreatedDeal(
        deal_id=raw["id"],
        dealname=held["dealname"],
        pipeline=held["pipeline"],
        dealstage=held["dealstage"],
        amount=Decimal(held["amount"]) if held.get("amount") else None,
        associated_contacts=[] if contact_id is None else [contact_id],
    )


def is_deal(raw: Raw, sent: Mapping[str, str]) -> bool:
    """Whether a deal is what was *sent*, and no less."""
    held = raw["properties"]
    amounts = [Decimal(found) if found else None for found in (sent.get("amount"), held.get("amount"))]
    alike = all((held.get(name) or "").strip() == sent[name].strip() for name in ("dealname", "pipeline", "dealstage"))
    return alike and amounts[0] == amounts[1]


def move(pipelines: Sequence[Raw], raw: Raw, pipeline: str | None, stage: str | None) -> dict[str, str]:
    """The vendor's form of moving a deal: the stage, given or kept, is one of the pipeline, given or kept."""
    held = raw["properties"]
    chosen = choose_pipeline(pipelines, pipeline or held["pipeline"])
    moved = {"dealstage": choose_stage(chosen, stage or held["dealstage"] or "")["id"]}
    return moved if pipeline is None else {"pipeline": chosen["id"], **moved}


def updated_deal(raw: Raw, stage_from: str | None, sent: Values, *, note_logged: bool) -> UpdatedDeal:
    """The result of a deal that was changed."""
    return UpdatedDeal(
        deal_id=raw["id"],
        dealstage_from=stage_from,
        dealstage_to=sent.texts.get("dealstage", stage_from),
        note_logged=note_logged,
        updated_at=instant(raw["updatedAt"]),
    )


def _named(choices: Sequence[Raw], wanted: str) -> list[Raw]:
    """What goes by *wanted*: by identifier, by exact name, or by name without regard to case and blanks around."""
    tests: tuple[Callable[[Raw], bool], ...] = (
        lambda raw: bool(raw["id"] == wanted),
        lambda raw: bool(raw["label"] == wanted),
        lambda raw: bool(raw["label"].strip().casefold() == wanted.strip().casefold()),
    )
    for test in tests:
        if found := [raw for raw in choices if test(raw)]:
            return found
    return []


def _choices(choices: Sequence[Raw]) -> dict[str, list[str]]:
    return {"allowed": [raw["label"] for raw in choices], "identifiers": [raw["id"] for raw in choices]}


# Notes


def note_properties(text: str, at: datetime) -> dict[str, str]:
    """The vendor's form of a note: its text is shown as HTML, so what is plain must be made so."""
    body = html.escape(text, quote=False).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>")
    if len(body) > MAX_TEXT:
        raise InvalidParameters(
            "The note is too long.",
            {"parameter": "note", "message": f"Should have at most {MAX_TEXT} characters once written as HTML"},
        )
    return {"hs_timestamp": casts.timestamp(at), "hs_note_body": body}


def is_note(raw: Raw, sent: Mapping[str, str]) -> bool:
    """Whether a note of the same deal is what was *sent*: its instant was ours alone, and its text may be cleaned."""
    at = raw["properties"].get("hs_timestamp")
    return bool(at) and instant(at) == instant(sent["hs_timestamp"])


# Finding


def page_search(condition: Raw, properties: Sequence[str], limit: int, after: str | None) -> dict[str, Any]:
    """A search in order of ids that goes on behind *after*, so that neither changes nor the vendor's cap matter."""
    behind = [{"propertyName": RECORD_ID, "operator": "GT", "value": after}] if after else []
    return _search([condition, *behind], properties, limit)


def equals(described: Raw, value: str) -> dict[str, Any]:
    """The condition that a property has that value."""
    return {"propertyName": described["name"], "operator": "EQ", "value": casts.wanted(described, value)}


def owned_by(owner_ids: Sequence[str]) -> dict[str, Any]:
    """The condition that a record belongs to one of these owners."""
    return {"propertyName": OWNER, "operator": "IN", "values": list(owner_ids)}


def newest_before(since: datetime) -> dict[str, Any]:
    """A search for the newest record made before an instant."""
    moment = {"propertyName": "createdate", "operator": "LT", "value": str(round(since.timestamp() * 1000))}
    return _search([moment], [], 1, descending=True)


def _search(
    filters: Sequence[Raw], properties: Sequence[str], limit: int, *, descending: bool = False
) -> dict[str, Any]:
    direction = "DESCENDING" if descending else "ASCENDING"
    return {
        "filterGroups": [{"filters": list(filters)}],
        "sorts": [{"propertyName": RECORD_ID, "direction": direction}],
        "properties": list(properties),
        "limit": limit,
    }


def made_since(raw: Raw, seconds: float) -> bool:
    """Whether a record was made at that time or later."""
    return instant(raw["createdAt"]) >= datetime.fromtimestamp(seconds, UTC)


def instant(text: str) -> datetime:
    """The instant of a vendor's timestamp: ISO 8601, or milliseconds since the epoch."""
    if text.isdecimal():
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    return datetime.fromisoformat(text)
