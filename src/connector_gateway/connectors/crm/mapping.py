"""Between the vendor's JSON and our shapes: pure functions."""

import html
import re
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
MADE_BY = ("hs_object_source", "hs_object_source_id")
"""Properties that tell by what a record was made, and which application that was."""

APPLICATION = "INTEGRATION"
"""What was made by an application, such as this service."""

FILLED = frozenset({"createdate", "deal_currency_code"})
"""Properties of deals that could be written, and that the application fills in by itself."""

BY_HAND = frozenset({"hs_next_step", "hs_priority"})
"""Properties that people set, among the many of the application's own whose names begin alike."""

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


# Who made a record


def maker(raw: Raw) -> str | None:
    """By what a record was made, and which application that was; None where the vendor does not tell."""
    told = [raw["properties"].get(name) for name in MADE_BY]
    return f"{told[0]} {told[1]}" if all(told) else None


def may_be_ours(raw: Raw, known: str | None) -> bool:
    """Whether an application made a record: ours, as far as it is *known* how the vendor tells that."""
    source = raw["properties"].get(MADE_BY[0])
    if source is None:
        return True
    return source == APPLICATION if known is None else maker(raw) == known


def seconds(text: str) -> float:
    """A vendor's timestamp in epoch seconds."""
    return instant(text).timestamp()


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


def kept_contact(raw: Raw, sent: Values, email: str, action: Literal["created", "updated"]) -> dict[str, Any]:
    """What is kept of a contact that was written."""
    names = sent.held_by(raw)
    return {
        "id": raw["id"],
        "action": action,
        "email": raw["properties"].get("email") or email,
        "written": ["email", *names] if action == "created" else names,
    }


def skipped_contact(raw: Raw) -> dict[str, Any]:
    """The same of one that was left as it is."""
    return {"id": raw["id"], "action": "skipped", "email": raw["properties"].get("email") or "", "written": []}


def told_contact(kept: Raw) -> dict[str, Any]:
    """What callers are told of a contact when something else fails."""
    return {"contact_id": kept["id"], "action": kept["action"]}


def written_contact(kept: Raw, portal_id: str) -> WrittenContact:
    """The result of a contact that was written, or left as it is."""
    return WrittenContact(
        contact_id=kept["id"],
        action=kept["action"],
        email=kept["email"],
        properties_written=kept["written"],
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


def told_company(kept: Raw) -> dict[str, Any]:
    """What callers are told of a company that was made, when something else fails."""
    return {"company_id": kept["id"]}


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


def new_deal(params: CreateDeal, pipelines: Sequence[Raw]) -> dict[str, Any]:
    """The vendor's form of a new deal, its stage found within its pipeline, and whether that stage is a closed one."""
    pipeline = choose_pipeline(pipelines, params.pipeline)
    stage = choose_stage(pipeline, params.dealstage)
    amount = {} if params.amount is None else {"amount": casts.plain(params.amount)}
    properties = {"dealname": params.dealname, "pipeline": pipeline["id"], "dealstage": stage["id"], **amount}
    return {"properties": properties, "closed": (stage.get("metadata") or {}).get("isClosed") == "true"}


def kept_deal(raw: Raw, sent: Mapping[str, str]) -> dict[str, Any]:
    """What is kept of a deal that was made: its identifier, and what it holds of what was *sent*."""
    return {"id": raw["id"], "properties": {name: raw["properties"].get(name) or text for name, text in sent.items()}}


def told_deal(kept: Raw) -> dict[str, Any]:
    """What callers are told of a deal when something else fails."""
    return {"deal_id": kept["id"]}


def created_deal(kept: Raw, contact_id: str | None) -> CreatedDeal:
    """The result of a deal that was made."""
    held = kept["properties"]
    return CreatedDeal(
        deal_id=kept["id"],
        dealname=held["dealname"],
        pipeline=held["pipeline"],
        dealstage=held["dealstage"],
        amount=Decimal(held["amount"]) if held.get("amount") else None,
        associated_contacts=[] if contact_id is None else [contact_id],
    )


def left_empty(known: Mapping[str, Raw], sent: Raw) -> list[str]:
    """The properties that somebody else might have set, and without which the deal that was *sent* was made.

    The application dates the closing of a deal that begins in a closed stage.
    """
    passed_over = {*sent["properties"], *FILLED, *(("closedate",) if sent["closed"] else ())}
    return [name for name, raw in known.items() if name not in passed_over and _set_by_somebody(raw)]


def is_deal(raw: Raw, sent: Raw, known: Mapping[str, Raw], maker_known: str | None) -> bool:
    """Whether a deal is what was *sent*, no less and no more, and made by an application that may be ours."""
    held, texts = raw["properties"], sent["properties"]
    alike = all(casts.same(known.get(name, UNKNOWN), text, held.get(name)) for name, text in texts.items())
    return alike and may_be_ours(raw, maker_known) and not any(held.get(name) for name in left_empty(known, sent))


def _set_by_somebody(described: Raw) -> bool:
    """Whether a property is one that people or other applications set, and not one of the application's own."""
    name = described["name"]
    internal = described.get("hubspotDefined") and name.startswith("hs_") and name not in BY_HAND
    return not (internal or described.get("hidden") or described.get("calculated") or read_only(described))


def move(pipelines: Sequence[Raw], raw: Raw, pipeline: str | None, stage: str | None) -> dict[str, str]:
    """The vendor's form of moving a deal: the stage, given or kept, is one of the pipeline, given or kept."""
    held = raw["properties"]
    chosen = choose_pipeline(pipelines, pipeline or held["pipeline"])
    moved = {"dealstage": choose_stage(chosen, stage or held["dealstage"] or "")["id"]}
    return moved if pipeline is None else {"pipeline": chosen["id"], **moved}


def kept_change(raw: Raw) -> dict[str, Any]:
    """What is kept of a deal that was changed, or only read."""
    return {"id": raw["id"], "updated_at": raw["updatedAt"]}


def updated_deal(planned: Raw, kept: Raw, *, note_logged: bool) -> UpdatedDeal:
    """The result of a deal that was changed."""
    return UpdatedDeal(
        deal_id=kept["id"],
        dealstage_from=planned["stage_from"],
        dealstage_to=planned["texts"].get("dealstage", planned["stage_from"]),
        note_logged=note_logged,
        updated_at=instant(kept["updated_at"]),
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

BODY = "hs_note_body"
MARKUP = re.compile(r"<[^>]*>")


def note_properties(text: str, at: datetime) -> dict[str, str]:
    """The vendor's form of a note: its text is shown as HTML, so what is plain must be made so."""
    body = html.escape(text, quote=False).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>")
    if len(body) > MAX_TEXT:
        raise InvalidParameters(
            "The note is too long.",
            {"parameter": "note", "message": f"Should have at most {MAX_TEXT} characters once written as HTML"},
        )
    return {"hs_timestamp": casts.timestamp(at), BODY: body}


def told_note(kept: Raw) -> dict[str, Any]:
    """What callers are told of a note when something else fails."""
    return {"note_id": kept["id"]}


def is_note(raw: Raw, sent: Mapping[str, str]) -> bool:
    """Whether a note of the same deal is what was *sent*: of that very millisecond, and saying the same.

    The words are compared, since the vendor may clean the markup.
    """
    at, body = (raw["properties"].get(name) for name in ("hs_timestamp", BODY))
    return bool(at) and instant(at) == instant(sent["hs_timestamp"]) and _words(body or "") == _words(sent[BODY])


def _words(body: str) -> list[str]:
    return html.unescape(MARKUP.sub(" ", body)).split()


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


def made_since(since: float) -> dict[str, Any]:
    """The condition that a record was made at that time or later."""
    return {"propertyName": "createdate", "operator": "GTE", "value": str(round(since * 1000))}


def newest_before(since: float) -> dict[str, Any]:
    """A search for the newest record made before that time."""
    return _search([{**made_since(since), "operator": "LT"}], [], 1, descending=True)


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


def instant(text: str) -> datetime:
    """The instant of a vendor's timestamp: ISO 8601, or milliseconds since the epoch."""
    if text.isdecimal():
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    return datetime.fromisoformat(text)
