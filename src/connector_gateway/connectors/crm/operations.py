"""The five crm operations."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from connector_gateway.connectors.crm import mapping
from connector_gateway.connectors.crm.client import ContactExists, CrmClient, next_page
from connector_gateway.connectors.crm.mapping import Values
from connector_gateway.connectors.crm.models import (
    Contact,
    CreatedDeal,
    CreateDeal,
    CreateOrUpdateContact,
    ListProperties,
    LookUpContacts,
    PropertyDefinition,
    UpdatedDeal,
    UpdateDeal,
    WrittenContact,
)
from connector_gateway.kit.call import Attempt, Call, LookUp
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    AmbiguousPipeline,
    CompanyNotFound,
    ContactNotFound,
    DealNotFound,
    GatewayError,
    LossyCast,
    OptionMissing,
    PipelineNotFound,
    PropertyNotFound,
    ReadOnlyField,
    StageNotFound,
    UpstreamConflict,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Listing, Page, Position

T = TypeVar("T")
CrmCall = Call[CrmClient]
Raw = Mapping[str, Any]

Found = tuple[Sequence[Raw], Position | None]
"""A page of contacts, and where the next one starts."""

SCHEMA_SECONDS = 300.0
OWNERS_SECONDS = 600.0
PORTAL_SECONDS = 24 * 60 * 60.0
MADE_SECONDS = 24 * 60 * 60.0

CLOCK_SKEW_SECONDS = 120.0
"""How far the vendor's clock may be behind ours when a deal of ours is looked for."""

SAME_CALL_SECONDS = 5.0
"""The same, when it is only to be told whether a contact was new to us."""

INDEX_LAG_SECONDS = 120.0
"""After that long, a search finds what was made."""

CASTING = (PropertyNotFound, ReadOnlyField, OptionMissing, LossyCast)
MOVING = (PipelineNotFound, AmbiguousPipeline, StageNotFound)


async def recover_written_contact(
    call: CrmCall, params: CreateOrUpdateContact, attempt: Attempt
) -> WrittenContact | None:
    """The contact that an earlier attempt wrote, linked to its company; None if it wrote none."""
    noted = attempt.progress.get("contact")
    written = WrittenContact(**noted) if noted else await _found_contact(call, params, attempt)
    if written is None or written.action == "skipped" or params.associate_company is None:
        return written
    company_id = attempt.progress.get("company_id") or await _known_company(call, params.associate_company)
    if company_id is None:
        return None
    await call.upstream.associate_with_company(written.contact_id, company_id)
    return written


@writes("POST /contacts", errors=[CompanyNotFound, UpstreamConflict, *CASTING], recover=recover_written_contact)
async def create_or_update_contact(call: CrmCall, params: CreateOrUpdateContact) -> WrittenContact:
    """Create a contact, or update the one that matches the email.

    The properties and the company are checked first: if one of them is wrong, the contact is not written.
    """
    portal_id = await _portal_id(call)
    sent = await _contact_values(call, params)
    if params.on_conflict == "skip" and (existing := await _contact_of(call, params.email)):
        return mapping.skipped_contact(existing, portal_id)
    company_id = await _company(call, params)
    written = await _write_contact(call, params, sent, portal_id)
    if company_id is not None and written.action != "skipped":
        await call.notebook.note(contact=written.model_dump(), company_id=company_id)
        await call.upstream.associate_with_company(written.contact_id, company_id)
    return written


@reads("GET /contacts", errors=[PropertyNotFound, LossyCast])
async def look_up_contacts(call: CrmCall, params: LookUpContacts) -> Page[Contact]:
    """Look up contacts by email, by another property, or all of them.

    By email and by properties whose values are unique, contacts are found as they are now; by other properties as the
    application's search knows them, which learns of changes within a minute or so.
    """
    shown = mapping.shown_properties(params.property)
    found, position = await _look_up(call, params, shown)
    emails = await _owner_emails(call, found)
    return Page[Contact](items=[mapping.contact(raw, emails, params.property) for raw in found], position=position)


async def recover_created_deal(call: CrmCall, params: CreateDeal, attempt: Attempt) -> CreatedDeal | None:
    """The deal that an earlier attempt made; None if it made none."""
    sent = await _deal_properties(call, params)
    since = attempt.started_at - CLOCK_SKEW_SECONDS
    async for raw in _deals_since(call, params.contact_id, list(sent), since):
        if mapping.is_deal(raw, sent) and not call.memory.get(f"made {raw['id']}"):
            call.memory.put(f"made {raw['id']}", value=True, seconds=MADE_SECONDS)
            return mapping.created_deal(raw, sent, params.contact_id)
    return None


@writes("POST /deals", errors=[ContactNotFound, OptionMissing, *MOVING], recover=recover_created_deal)
async def create_deal(call: CrmCall, params: CreateDeal) -> CreatedDeal:
    """Open a deal in a stage of a pipeline."""
    sent = await _deal_properties(call, params)
    if params.contact_id is not None:
        await call.upstream.read_object("contacts", params.contact_id, ["email"])
    raw = await call.upstream.create_deal(sent, params.contact_id)
    call.memory.put(f"made {raw['id']}", value=True, seconds=MADE_SECONDS)
    return mapping.created_deal(raw, sent, params.contact_id)


async def recover_updated_deal(call: CrmCall, params: UpdateDeal, attempt: Attempt) -> UpdatedDeal | None:
    """The deal, if it already is as it should be, with its note; otherwise None."""
    if "noted_at" not in attempt.progress:
        return None
    raw = await _deal(call, params)
    sent = await _deal_values(call, params, raw)
    if not sent.all_held_by(raw):
        return None
    logged = False
    if params.note is not None:
        note = mapping.note_properties(params.note, datetime.fromisoformat(attempt.progress["noted_at"]))
        logged = await _has_note(call, params.deal_id, note)
        if not logged and not sent.texts:
            return None
        logged = logged or await _log(call, params.deal_id, note)
    return mapping.updated_deal(raw, attempt.progress["stage_from"], sent, note_logged=logged)


@writes(
    "PATCH /deals/{deal_id}",
    errors=[DealNotFound, UpstreamConflict, *CASTING, *MOVING],
    recover=recover_updated_deal,
)
async def update_deal(call: CrmCall, params: UpdateDeal) -> UpdatedDeal:
    """Move a deal to another stage of its pipeline, write properties, and log a note with the change.

    Where the note fails after the change, the change stands and ``note_logged`` is false.
    """
    at = instant(call.clock.now())
    note = None if params.note is None else mapping.note_properties(params.note, at)
    async with call.exclusive(f"deal {params.deal_id}"):
        raw = await _deal(call, params)
        sent = await _deal_values(call, params, raw)
        stage_from = raw["properties"].get("dealstage")
        await call.notebook.intend(stage_from=stage_from, noted_at=at.isoformat())
        logged = note is not None
        if sent.texts:
            raw = await call.upstream.update_object("deals", params.deal_id, sent.texts)
            logged = note is not None and await _log(call, params.deal_id, note)
        elif note is not None:
            await call.upstream.create_note(note, params.deal_id)
    return mapping.updated_deal(raw, stage_from, sent, note_logged=logged)


@reads("GET /properties")
async def list_properties(call: CrmCall, params: ListProperties) -> Listing[PropertyDefinition]:
    """List the properties of an object type."""
    listed = [mapping.property_definition(raw) for raw in await call.upstream.list_properties(params.object_type)]
    return Listing[PropertyDefinition](items=[item for item in listed if item.custom or not params.custom_only])


# What a portal is made of


async def _on_definitions(call: CrmCall, kind: str, check: Callable[[Mapping[str, Raw]], T]) -> T:
    """What *check* makes of the properties of an object type."""

    async def find() -> Mapping[str, Raw]:
        return mapping.definitions(await call.upstream.list_properties(kind))

    async def use(known: Mapping[str, Raw]) -> T:
        return check(known)

    return await call.with_recalled(LookUp(f"properties {kind}", SCHEMA_SECONDS, find), use, outdated=CASTING)


async def _on_pipelines(call: CrmCall, check: Callable[[Sequence[Raw]], T]) -> T:
    """What *check* makes of the pipelines of deals."""

    async def find() -> Sequence[Raw]:
        return await call.upstream.list_pipelines()

    async def use(known: Sequence[Raw]) -> T:
        return check(known)

    return await call.with_recalled(LookUp("pipelines", SCHEMA_SECONDS, find), use, outdated=MOVING)


async def _portal_id(call: CrmCall) -> str:
    known = await call.recall(LookUp("portal", PORTAL_SECONDS, call.upstream.read_account))
    return str(known["portalId"])


async def _owners(call: CrmCall, suffices: Callable[[Mapping[str, str | None]], bool]) -> Mapping[str, str | None]:
    """The addresses of owners by their ids; asked for anew where what is remembered does not suffice."""

    async def find() -> Mapping[str, str | None]:
        return {raw["id"]: raw.get("email") async for raw in call.upstream.list_owners()}

    return await call.recall(LookUp("owners", OWNERS_SECONDS, find), suffices=suffices)


async def _owner_emails(call: CrmCall, found: Iterable[Raw]) -> Mapping[str, str | None]:
    """The addresses of those who own what was found; who cannot be found is remembered as well."""
    wanted = {owner_id for raw in found if (owner_id := raw["properties"].get(mapping.OWNER))}
    if not wanted:
        return {}
    known = await _owners(call, lambda known: wanted <= known.keys())
    if missing := wanted - known.keys():
        call.memory.put("owners", {**known, **dict.fromkeys(missing)}, OWNERS_SECONDS)
    return known


# Looking up


async def _look_up(call: CrmCall, params: LookUpContacts, shown: Sequence[str]) -> Found:
    """One page of contacts, and where the next one starts."""
    if params.email is not None:
        return await call.upstream.batch_read_objects("contacts", [params.email], shown, "email"), None
    if params.property is None or params.value is None:
        raw = await call.upstream.list_objects("contacts", shown, params.limit, _after(call))
        return raw["results"], None if next_page(raw) is None else {"after": next_page(raw)}
    if params.property == "owner_email":
        return await _look_up_by_owner(call, params.value.strip().lower(), params.limit, shown)
    name, value = params.property, params.value.strip()
    described = await _on_definitions(call, "contacts", lambda known: mapping.definition(known, name))
    if mapping.unique(described):
        id_property, record_id = mapping.identity(name, value)
        return await call.upstream.batch_read_objects("contacts", [record_id], shown, id_property), None
    return await _search(call, mapping.equals(described, value), params.limit, shown)


async def _look_up_by_owner(call: CrmCall, email: str, limit: int, shown: Sequence[str]) -> Found:
    """One page of what belongs to whoever has that address, those who have left included."""
    known = await _owners(call, lambda known: email in map(mapping.lowered, known.values()))
    owner_ids = [owner_id for owner_id, address in known.items() if mapping.lowered(address) == email]
    return await _search(call, mapping.owned_by(owner_ids), limit, shown) if owner_ids else ([], None)


async def _search(call: CrmCall, condition: Raw, limit: int, shown: Sequence[str]) -> Found:
    """One page of what a condition finds; the next one starts behind the last id."""
    raw = await call.upstream.search_objects("contacts", mapping.page_search(condition, shown, limit, _after(call)))
    found = raw["results"]
    return found, {"after": found[-1]["id"]} if found and next_page(raw) else None


def _after(call: CrmCall) -> str | None:
    return call.position["after"] if call.position else None


# Writing contacts


async def _contact_values(call: CrmCall, params: CreateOrUpdateContact) -> Values:
    """The properties of a contact in the vendor's form, without the address that it is matched by."""
    properties = {name: value for name, value in params.properties.items() if name != "email"}
    return await _on_definitions(call, "contacts", lambda known: mapping.values(known, properties))


async def _contact_of(call: CrmCall, email: str, properties: Iterable[str] = ()) -> Raw | None:
    """The contact with that address, as it is now."""
    found = await call.upstream.batch_read_objects("contacts", [email], ["email", *properties], "email")
    return found[0] if found else None


async def _write_contact(call: CrmCall, params: CreateOrUpdateContact, sent: Values, portal_id: str) -> WrittenContact:
    """Create or update; where the address turns out to be taken, update or skip whoever has it."""
    try:
        if params.on_conflict == "skip":
            raw = await call.upstream.create_contact(params.email, sent.texts)
            return mapping.written_contact(raw, sent, portal_id, "created", params.email)
        raw = await call.upstream.upsert_contact(params.email, sent.texts)
        return mapping.written_contact(raw, sent, portal_id, "created" if raw["new"] else "updated", params.email)
    except ContactExists as taken:
        holder = await call.upstream.read_object("contacts", taken.contact_id, ["email"])
    if params.on_conflict == "skip":
        return mapping.skipped_contact(holder, portal_id)
    raw = await call.upstream.update_object("contacts", holder["id"], sent.texts)
    return mapping.written_contact(raw, sent, portal_id, "updated", holder["properties"].get("email") or params.email)


async def _found_contact(call: CrmCall, params: CreateOrUpdateContact, attempt: Attempt) -> WrittenContact | None:
    """The contact as an earlier attempt has left it; None if that attempt has not written it."""
    sent = await _contact_values(call, params)
    raw = await _contact_of(call, params.email, sent.texts)
    if raw is None:
        return None
    portal_id = await _portal_id(call)
    is_new = mapping.made_since(raw, attempt.started_at - SAME_CALL_SECONDS)
    if params.on_conflict == "skip" and not is_new:
        return mapping.skipped_contact(raw, portal_id)
    if not sent.all_held_by(raw):
        return None
    return mapping.written_contact(raw, sent, portal_id, "created" if is_new else "updated", params.email)


async def _company(call: CrmCall, params: CreateOrUpdateContact) -> str | None:
    """The id of the company to link to; made where that is wanted, ``CompanyNotFound`` where it is not."""
    if params.associate_company is None:
        return None
    domain = mapping.company_domain(params.associate_company)
    if domain is not None and params.create_company:
        async with call.exclusive(f"company {domain}"):
            known = await _known_company(call, params.associate_company)
            return known or str((await call.upstream.create_company(domain))["id"])
    company_id = await _known_company(call, params.associate_company)
    if company_id is None:
        raise CompanyNotFound(
            f"No company has the domain {domain!r}.",
            {"parameter": "associate_company", "value": params.associate_company},
        )
    return company_id


async def _known_company(call: CrmCall, reference: str) -> str | None:
    """The id of the company with that domain or identifier, even if it was made a moment ago."""
    domain = mapping.company_domain(reference)
    if domain is None:
        return str((await call.upstream.read_object("companies", reference.strip(), ["domain"]))["id"])
    found = (await call.upstream.search_objects("companies", mapping.domain_search(domain)))["results"]
    if found:
        return str(found[0]["id"])
    async for raw in _recent(call, "companies", ["domain"], call.clock.now() - INDEX_LAG_SECONDS):
        if mapping.domain_of(raw) == domain:
            return str(raw["id"])
    return None


# Writing deals


async def _deal_properties(call: CrmCall, params: CreateDeal) -> dict[str, str]:
    """The vendor's form of a new deal, its stage found within its pipeline."""
    return await _on_pipelines(call, lambda pipelines: mapping.deal_properties(params, pipelines))


async def _deal(call: CrmCall, params: UpdateDeal) -> Raw:
    """The deal as it is now, with the properties that are to be changed."""
    shown = dict.fromkeys(["pipeline", "dealstage", *(params.properties or {})])
    return await call.upstream.read_object("deals", params.deal_id, shown)


async def _deal_values(call: CrmCall, params: UpdateDeal, raw: Raw) -> Values:
    """The changes of a deal in the vendor's form, its stage found within its pipeline."""
    properties = dict(params.properties or {})
    stage = properties.pop("dealstage", params.dealstage)
    pipeline = properties.pop("pipeline", None)
    sent = Values({}, {})
    if properties:
        sent = await _on_definitions(call, "deals", lambda known: mapping.values(known, properties))
    if stage is None and pipeline is None:
        return sent
    move = await _on_pipelines(call, lambda pipelines: mapping.move(pipelines, raw, pipeline, stage))
    return Values(sent.definitions, {**sent.texts, **move})


async def _deals_since(
    call: CrmCall, contact_id: str | None, properties: Sequence[str], since: float
) -> AsyncIterator[Raw]:
    """The deals made since that time, of one contact or of all, as they are now."""
    if contact_id is None:
        async for raw in _recent(call, "deals", properties, since):
            yield raw
        return
    deal_ids = await call.upstream.read_associations("contacts", contact_id, "deals")
    for raw in await call.upstream.batch_read_objects("deals", deal_ids, properties):
        if mapping.made_since(raw, since):
            yield raw


async def _recent(call: CrmCall, kind: str, properties: Sequence[str], since: float) -> AsyncIterator[Raw]:
    """The records made since that time, as they are now.

    A search would not know the latest of them; but it knows the newest older one, behind which a listing goes on.
    """
    older = (await call.upstream.search_objects(kind, mapping.newest_before(instant(since))))["results"]
    async for raw in call.upstream.objects_behind(kind, properties, older[0]["id"] if older else None):
        if mapping.made_since(raw, since):
            yield raw


# Notes


async def _log(call: CrmCall, deal_id: str, note: Mapping[str, str]) -> bool:
    """Log a note on a deal that was changed already; whether that worked."""
    try:
        await call.upstream.create_note(note, deal_id)
    except GatewayError as failure:
        in_doubt = failure.doubt is not None
    else:
        return True
    with suppress(GatewayError):
        return in_doubt and await _has_note(call, deal_id, note)
    return False


async def _has_note(call: CrmCall, deal_id: str, note: Mapping[str, str]) -> bool:
    """Whether the note is on the deal's timeline."""
    note_ids = await call.upstream.read_associations("deals", deal_id, "notes")
    found = await call.upstream.batch_read_objects("notes", note_ids, list(note))
    return any(mapping.is_note(raw, note) for raw in found)
