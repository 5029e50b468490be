"""Between the vendor's shapes and ours: pure functions."""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

from connector_gateway.connectors.crm import casts, wire
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
    LossyCast,
    OptionMissing,
    PipelineNotFound,
    PropertyNotFound,
    ReadOnlyField,
    StageNotFound,
    UpstreamUnexpected,
)
from connector_gateway.kit.faults import gathered
from connector_gateway.kit.writing import Intent

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""

Definitions = Mapping[str, wire.Definition]
"""What is known of properties, by their internal names."""

COMMON = ("firstname", "lastname", "phone", "company", "jobtitle", "lifecyclestage")
"""Properties of contacts that every portal has and every lookup shows."""

OWNER = "hubspot_owner_id"
RECORD_ID = "hs_object_id"
MADE_BY = ("hs_object_source", "hs_object_source_id")
"""Properties that tell how a record was made, and by which application."""

APPLICATION = "INTEGRATION"
"""The value for records that an application made, such as this service."""

FILLED = frozenset({"createdate", "deal_currency_code"})
"""Properties of deals that could be written, and that the application fills in by itself."""

BY_HAND = frozenset({"hs_next_step", "hs_priority"})
"""Properties that people set, among the many of the application's own whose names begin alike."""

CASTING = (PropertyNotFound, ReadOnlyField, OptionMissing, LossyCast)
"""The errors with which a value is refused."""

UNKNOWN = wire.Definition(name="", label="", type="string")
"""What is known of a property that is checked elsewhere."""


# Properties


@dataclass(frozen=True, slots=True)
class Values:
    """Property values in the vendor's form, and what is known of their properties."""

    definitions: Definitions
    texts: Mapping[str, str]

    def held_by(self, record: wire.Record) -> list[str]:
        """The names of the values that a record holds; a property that the answer does not show counts as accepted."""
        held = record.properties
        return [
            name
            for name, text in self.texts.items()
            if name not in held or casts.same(self.definitions.get(name, UNKNOWN), text, held[name])
        ]

    def all_held_by(self, record: wire.Record) -> bool:
        """Whether a record holds every one of them."""
        return len(self.held_by(record)) == len(self.texts)


def definitions(listed: Iterable[wire.Definition]) -> Definitions:
    """What is known of properties, by their internal names."""
    return {described.name: described for described in listed}


def definition(known: Definitions, name: str) -> wire.Definition:
    """What is known of one property."""
    if name not in known:
        raise gathered([_unknown(known, name)])
    return known[name]


def values(known: Definitions, properties: Mapping[str, Any]) -> Values:
    """The vendor's form of *properties*.

    ``PropertyNotFound``, ``ReadOnlyField``, ``OptionMissing`` or ``LossyCast``, whichever comes first, tells of every
    property that cannot be written, and of every value.
    """
    texts, refusals = dict[str, str](), list[GatewayError]()
    for name, value in properties.items():
        try:
            texts[name] = _value(known, name, value)
        except CASTING as refusal:
            refusals.append(refusal)
    if refusals:
        raise gathered(refusals)
    return Values(known, texts)


def _value(known: Definitions, name: str, value: Any) -> str:
    if name not in known:
        raise _unknown(known, name)
    if known[name].modification_metadata.read_only_value:
        raise ReadOnlyField(f'The application computes "{name}" itself.', {"property": name})
    return casts.cast(known[name], value)


def unique(described: wire.Definition) -> bool:
    """Whether a record can be read by its value of the property."""
    return described.name in {"email", RECORD_ID} or described.has_unique_value


def identity(name: str, value: str) -> tuple[str | None, str]:
    """How a read names a record by a unique property: the property, unless it is the record's own id, and the value."""
    # The vendor keeps addresses in lower case.
    return None if name == RECORD_ID else name, value.lower() if name == "email" else value


def property_definition(described: wire.Definition) -> PropertyDefinition:
    """A property as callers see it."""
    return PropertyDefinition(
        name=described.name,
        label=described.label,
        type=described.type,
        options=casts.options(described),
        custom=not described.hubspot_defined,
    )


def _unknown(known: Definitions, name: str) -> PropertyNotFound:
    allowed = [one.name for one in known.values() if not one.hidden]
    return PropertyNotFound(
        f"The portal has no property {casts.quoted([name])}.", {"property": name, "allowed": allowed}
    )


# Who made a record


def maker(record: wire.Record) -> str | None:
    """How a record was made, and by which application; None if the vendor does not tell."""
    told = [record.properties.get(name) for name in MADE_BY]
    return f"{told[0]} {told[1]}" if all(told) else None


def may_be_ours(record: wire.Record, known: str | None) -> bool:
    """Whether an application made a record: ours, as far as it is *known* how the vendor tells that."""
    source = record.properties.get(MADE_BY[0])
    if source is None:
        return True
    return source == APPLICATION if known is None else maker(record) == known


# Contacts


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


def skipped_contact(record: wire.Record) -> Kept:
    """The same of one that was left as it is."""
    return {"id": record.id, "action": "skipped", "email": record.properties.get("email") or "", "written": []}


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


# Companies


def company_domain(reference: str) -> str | None:
    """The domain that *reference* says, bare; None where it is an identifier."""
    bare = reference.strip().lower()
    bare = bare.rpartition("://")[2].partition("/")[0].removeprefix("www.").rstrip(".")
    return bare if "." in bare else None


def domain_search(domain: str) -> dict[str, Any]:
    """A search for the company with a domain; of several, the one with the lowest id."""
    # The vendor lets several companies have one domain. The oldest is the same one each time.
    return _search([{"propertyName": "domain", "operator": "EQ", "value": domain}], ["domain"], 1)


def told_company(kept: Kept) -> Kept:
    """What callers are told of a company that was made, when something else fails."""
    return {"company_id": kept["id"]}


def domain_of(record: wire.Record) -> str:
    """A company's domain, as it is compared."""
    return lowered(record.properties.get("domain"))


# Deals


def choose_pipeline(pipelines: Sequence[wire.Pipeline], wanted: str) -> wire.Pipeline:
    """The pipeline with that identifier, or else with that name."""
    living = [pipeline for pipeline in pipelines if not pipeline.archived]
    found = _named(living, wanted)
    if len(found) == 1:
        return found[0]
    name = casts.quoted([wanted])
    refusal: type[GatewayError] = AmbiguousPipeline if found else PipelineNotFound
    message = f"{len(found)} pipelines are named {name}." if found else f"There is no pipeline {name}."
    raise refusal(message, {"parameter": "pipeline", "value": wanted, **_choices(found or living)})


def choose_stage(pipeline: wire.Pipeline, wanted: str) -> wire.Stage:
    """The stage of *pipeline* with that identifier, or else with that name."""
    living = [stage for stage in pipeline.stages if not stage.archived]
    found = _named(living, wanted)
    if not found:
        raise StageNotFound(
            f'The pipeline "{pipeline.label}" has no stage {casts.quoted([wanted])}.',
            {"parameter": "dealstage", "value": wanted, "pipeline": pipeline.id, **_choices(living)},
        )
    return found[0]


def new_deal(params: CreateDeal, pipelines: Sequence[wire.Pipeline]) -> Kept:
    """The vendor's form of a new deal, its stage found within its pipeline, and whether that stage is a closed one."""
    pipeline = choose_pipeline(pipelines, params.pipeline)
    stage = choose_stage(pipeline, params.dealstage)
    amount = {} if params.amount is None else {"amount": casts.plain(params.amount)}
    properties = {"dealname": params.dealname, "pipeline": pipeline.id, "dealstage": stage.id, **amount}
    return {"properties": properties, "closed": stage.metadata.is_closed == "true"}


def kept_deal(record: wire.Record, sent: Mapping[str, str]) -> Kept:
    """What is kept of a deal that was made: its identifier, and what it holds of what was *sent*."""
    return {"id": record.id, "properties": {name: record.properties.get(name) or text for name, text in sent.items()}}


def told_deal(kept: Kept) -> Kept:
    """What callers are told of a deal when something else fails."""
    return {"deal_id": kept["id"]}


def created_deal(kept: Kept, contact_id: str | None) -> CreatedDeal:
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


def left_empty(known: Definitions, sent: Intent) -> list[str]:
    """The properties that somebody else might have set, and without which the deal that was *sent* was made.

    The application dates the closing of a deal that begins in a closed stage.
    """
    passed_over = {*sent["properties"], *FILLED, *(("closedate",) if sent["closed"] else ())}
    return [name for name, described in known.items() if name not in passed_over and _set_by_somebody(described)]


def is_deal(record: wire.Record, sent: Intent, known: Definitions, maker_known: str | None) -> bool:
    """Whether a deal is what was *sent*, no less and no more, and made by an application that may be ours."""
    held, texts = record.properties, sent["properties"]
    # A deal has no natural key and no mark: equal content and the application that made it must do (decision 23).
    alike = all(casts.same(known.get(name, UNKNOWN), text, held.get(name)) for name, text in texts.items())
    return alike and may_be_ours(record, maker_known) and not any(held.get(name) for name in left_empty(known, sent))


def _set_by_somebody(described: wire.Definition) -> bool:
    """Whether a property is one that people or other applications set, and not one of the application's own."""
    internal = described.hubspot_defined and described.name.startswith("hs_") and described.name not in BY_HAND
    computed = described.calculated or described.modification_metadata.read_only_value
    return not (internal or described.hidden or computed)


def move(
    pipelines: Sequence[wire.Pipeline], record: wire.Record, pipeline: str | None, stage: str | None
) -> dict[str, str]:
    """The vendor's form of moving a deal: the stage, given or kept, is one of the pipeline, given or kept."""
    held = record.properties
    chosen = choose_pipeline(pipelines, pipeline or held.get("pipeline") or "")
    moved = {"dealstage": choose_stage(chosen, stage or held.get("dealstage") or "").id}
    return moved if pipeline is None else {"pipeline": chosen.id, **moved}


def kept_change(record: wire.Record) -> Kept:
    """What is stored of a deal that was changed, or only read."""
    return {"id": record.id, "updated_at": casts.timestamp(record.updated_at)}


def updated_deal(planned: Kept, kept: Kept, *, note_logged: bool) -> UpdatedDeal:
    """The result of a deal that was changed."""
    return UpdatedDeal(
        deal_id=kept["id"],
        dealstage_from=planned["stage_from"],
        dealstage_to=planned["texts"].get("dealstage", planned["stage_from"]),
        note_logged=note_logged,
        updated_at=datetime.fromisoformat(kept["updated_at"]),
    )


N = TypeVar("N", wire.Pipeline, wire.Stage)


def _named(choices: Sequence[N], wanted: str) -> list[N]:
    """The choices that *wanted* names: by identifier, else by exact name, else ignoring case and blanks around it."""
    # In this order: a pipeline may be called by the identifier of another one.
    tests: tuple[Callable[[N], bool], ...] = (
        lambda choice: choice.id == wanted,
        lambda choice: choice.label == wanted,
        lambda choice: choice.label.strip().casefold() == wanted.strip().casefold(),
    )
    for test in tests:
        if found := [choice for choice in choices if test(choice)]:
            return found
    return []


def _choices(choices: Sequence[wire.Pipeline] | Sequence[wire.Stage]) -> dict[str, list[str]]:
    return {"allowed": [choice.label for choice in choices], "identifiers": [choice.id for choice in choices]}


# Notes

BODY = "hs_note_body"
MARKUP = re.compile(r"<[^<>]*>")


def is_record_id(text: str) -> bool:
    """Whether *text* may be the identifier of a record: the portal numbers them."""
    return text.isascii() and text.isdecimal()


def note_properties(text: str, at: datetime) -> dict[str, str]:
    """The vendor's form of a note: its text is shown as HTML, so what is plain must be made so."""
    # The vendor shows notes as HTML, so a "<" of the caller would vanish.
    body = html.escape(text, quote=False).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>")
    if len(body) > MAX_TEXT:
        raise InvalidParameters(
            "The note is too long.",
            {"parameter": "note", "message": f"Should have at most {MAX_TEXT} characters once written as HTML"},
        )
    return {"hs_timestamp": casts.timestamp(at), BODY: body}


def told_note(kept: Kept) -> Kept:
    """What callers are told of a note when something else fails."""
    return {"note_id": kept["id"]}


def is_note(record: wire.Record, sent: Mapping[str, str]) -> bool:
    """Whether a note of the same deal is what was *sent*: of that very millisecond, and saying the same.

    The words are compared, since the vendor may clean the markup.
    """
    at, body = (record.properties.get(name) or "" for name in ("hs_timestamp", BODY))
    return _words(body) == _words(sent[BODY]) and bool(at) and instant(at) == instant(sent["hs_timestamp"])


def _words(body: str) -> list[str]:
    return html.unescape(MARKUP.sub(" ", body)).split()


# Finding


def page_search(condition: Intent, properties: Sequence[str], limit: int, after: str | None) -> dict[str, Any]:
    """A search in order of ids that goes on behind *after*, so that neither changes nor the vendor's cap matter."""
    behind = [{"propertyName": RECORD_ID, "operator": "GT", "value": after}] if after else []
    return _search([condition, *behind], properties, limit)


def equals(described: wire.Definition, value: str) -> dict[str, Any]:
    """The condition that a property has that value; ``LossyCast`` if it cannot have it."""
    try:
        return {"propertyName": described.name, "operator": "EQ", "value": casts.wanted(described, value)}
    except LossyCast as refusal:
        raise gathered([refusal]) from refusal


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
    filters: Sequence[Intent], properties: Sequence[str], limit: int, *, descending: bool = False
) -> dict[str, Any]:
    direction = "DESCENDING" if descending else "ASCENDING"
    return {
        "filterGroups": [{"filters": list(filters)}],
        "sorts": [{"propertyName": RECORD_ID, "direction": direction}],
        "properties": list(properties),
        "limit": limit,
    }


def instant(text: str) -> datetime:
    """The instant of a value that tells one: ISO 8601, or milliseconds since the epoch."""
    try:
        moment = datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdecimal() else datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as fault:
        raise UpstreamUnexpected("The application told a time in an unknown form.", private=text) from fault
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
