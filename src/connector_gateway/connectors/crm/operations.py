"""The five crm operations."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, Literal, TypeVar

from connector_gateway.connectors.crm import mapping
from connector_gateway.connectors.crm.client import INDEX_LAG_SECONDS, PAGE_SIZE, CrmClient, next_page
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
from connector_gateway.kit.call import Call, LookUp
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
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

T = TypeVar("T")
CrmCall = Call[CrmClient]
Raw = Mapping[str, Any]
Action = Literal["created", "updated"]

Some = tuple[Sequence[Raw], Position | None]
"""A page of contacts, and where the next one starts."""

SCHEMA_SECONDS = 300.0
OWNERS_SECONDS = 600.0
PORTAL_SECONDS = 24 * 60 * 60.0
MAKER_SECONDS = 24 * 60 * 60.0

LOOK_BACK_SECONDS = 2 * INDEX_LAG_SECONDS
"""How old the companies may be that are listed because a search may not know them yet."""

CASTING = (PropertyNotFound, ReadOnlyField, OptionMissing, LossyCast)
MOVING = (PipelineNotFound, AmbiguousPipeline, StageNotFound)


# The steps that change something


async def _send_contact(call: CrmCall, intent: Intent, _: str) -> Learned:
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await call.upstream.upsert_contact(intent["email"], sent.texts)
    _note_maker(call, raw)
    return mapping.kept_contact(raw, sent, intent["email"], "created" if raw["new"] else "updated")


async def _find_contact(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The contact with that address, if it holds every value; it is new if there was none when the write began."""
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await _contact_of(call, intent["email"], sent.texts)
    if raw is None or not sent.all_held_by(raw):
        return []
    action: Action = "updated" if intent["known"] else "created"
    return [Found(mapping.kept_contact(raw, sent, intent["email"], action))]


async def _send_new_contact(call: CrmCall, intent: Intent, _: str) -> Learned:
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await call.upstream.create_contact(intent["email"], sent.texts)
    _note_maker(call, raw)
    return mapping.kept_contact(raw, sent, intent["email"], "created")


async def _find_new_contact(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The contact with that address, if it holds every value and was made by this application."""
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await _contact_of(call, intent["email"], [*sent.texts, *mapping.MADE_BY])
    if raw is None or not sent.all_held_by(raw) or not mapping.may_be_ours(raw, _maker(call, intent)):
        return []
    kept = mapping.kept_contact(raw, sent, intent["email"], "created")
    return [Found(kept, raw["id"], mapping.seconds(raw["createdAt"]))]


async def _send_holder(call: CrmCall, intent: Intent, _: str) -> Learned:
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await call.upstream.update_object("contacts", intent["contact_id"], sent.texts)
    return mapping.kept_contact(raw, sent, intent["email"], "updated")


async def _find_holder(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The contact, if it holds every value."""
    sent = await _known_values(call, "contacts", intent["texts"])
    raw = await call.upstream.read_object("contacts", intent["contact_id"], ["email", *sent.texts])
    return [Found(mapping.kept_contact(raw, sent, intent["email"], "updated"))] if sent.all_held_by(raw) else []


async def _send_company(call: CrmCall, intent: Intent, _: str) -> Learned:
    raw = await _until_indexed(call.upstream.create_company(intent["domain"]))
    _note_maker(call, raw)
    return {"id": raw["id"]}


async def _find_companies(call: CrmCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The companies of that domain made by this application; what else they hold the application has filled in."""
    ids = await _ids_since(call, "companies", sent.earliest)
    found = await call.upstream.batch_read_objects("companies", ids, ["domain", *mapping.MADE_BY])
    maker = _maker(call, intent)
    return _in_order(
        Found({"id": raw["id"]}, raw["id"], mapping.seconds(raw["createdAt"]))
        for raw in found
        if mapping.domain_of(raw) == intent["domain"] and mapping.may_be_ours(raw, maker)
    )


async def _send_link(call: CrmCall, intent: Intent, _: str) -> Learned:
    await call.upstream.associate_with_company(intent["contact_id"], intent["company_id"])
    return {}


async def _find_link(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The association, which is one however often it is made."""
    linked = await call.upstream.read_associations("contacts", intent["contact_id"], "companies")
    return [Found({})] if intent["company_id"] in linked else []


async def _send_deal(call: CrmCall, intent: Intent, _: str) -> Learned:
    properties, contact_id = intent["properties"], intent["contact_id"]
    creation = call.upstream.create_deal(properties, contact_id)
    raw = await (_until_indexed(creation) if contact_id is None else creation)
    _note_maker(call, raw)
    return mapping.kept_deal(raw, properties)


async def _find_deals(call: CrmCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The deals made by this application that are what was to be made, with its contact or with none.

    Those of a contact are known at once; of others the search is sure only when its lag has passed.
    """
    contact_id = intent["contact_id"]
    if contact_id is None:
        ids = await _ids_since(call, "deals", sent.earliest)
    else:
        ids = await call.upstream.read_associations("contacts", contact_id, "deals")
    known = await _on_definitions(call, "deals", lambda known: known)
    shown = [*intent["properties"], *mapping.left_empty(known, intent), *mapping.MADE_BY]
    found, maker = await call.upstream.batch_read_objects("deals", ids, shown), _maker(call, intent)
    alike = [raw for raw in found if mapping.is_deal(raw, intent, known, maker)]
    wanted = [] if contact_id is None else [contact_id]
    return _in_order(
        [
            Found(mapping.kept_deal(raw, intent["properties"]), raw["id"], mapping.seconds(raw["createdAt"]))
            for raw in alike
            if await call.upstream.read_associations("deals", raw["id"], "contacts") == wanted
        ]
    )


async def _send_change(call: CrmCall, intent: Intent, _: str) -> Learned:
    return mapping.kept_change(await call.upstream.update_object("deals", intent["deal_id"], intent["texts"]))


async def _find_change(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The deal, if it holds every value."""
    sent = await _known_values(call, "deals", intent["texts"])
    raw = await call.upstream.read_object("deals", intent["deal_id"], sent.texts)
    return [Found(mapping.kept_change(raw))] if sent.all_held_by(raw) else []


async def _send_note(call: CrmCall, intent: Intent, _: str) -> Learned:
    return {"id": (await call.upstream.create_note(intent["note"], intent["deal_id"]))["id"]}


async def _find_notes(call: CrmCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The notes on the deal that bear the very millisecond which was chosen for this one, and say the same."""
    note_ids = await call.upstream.read_associations("deals", intent["deal_id"], "notes")
    found = await call.upstream.batch_read_objects("notes", note_ids, list(intent["note"]))
    return _in_order(
        Found({"id": raw["id"]}, raw["id"], mapping.seconds(raw["createdAt"]))
        for raw in found
        if mapping.is_note(raw, intent["note"])
    )


WRITE_CONTACT = Step("write the contact", _send_contact, _find_contact, tells=mapping.told_contact)
CREATE_CONTACT = Step(
    "create the contact",
    _send_new_contact,
    _find_new_contact,
    makes="contact",
    contents=lambda intent: [[intent["email"], intent["texts"]]],
    tells=mapping.told_contact,
)
UPDATE_HOLDER = Step("update the contact", _send_holder, _find_holder, tells=mapping.told_contact)
CREATE_COMPANY = Step(
    "create the company",
    _send_company,
    _find_companies,
    makes="company",
    contents=lambda intent: [intent["domain"]],
    tells=mapping.told_company,
)
LINK_CONTACT = Step("link the contact to the company", _send_link, _find_link)
CREATE_DEAL = Step(
    "create the deal",
    _send_deal,
    _find_deals,
    makes="deal",
    contents=lambda intent: [[intent["properties"], intent["contact_id"]]],
    tells=mapping.told_deal,
)
CHANGE_DEAL = Step("change the deal", _send_change, _find_change, tells=mapping.told_deal)
LOG_NOTE = Step("log the note", _send_note, _find_notes, makes="note", tells=mapping.told_note)


# The operations


@writes("POST /contacts", errors=[CompanyNotFound, UpstreamConflict, *CASTING])
async def create_or_update_contact(call: CrmCall, params: CreateOrUpdateContact) -> WrittenContact:
    """Create a contact, or update the one that matches the email.

    The properties and the company are checked first: if one of them is wrong, the contact is not written.
    """
    async with _alone_with_company(call, params):
        plan = await call.plan(partial(_contact, call, params))
        company_id = plan["company_id"]
        if plan["company"] is not None:
            company_id = (await call.step(CREATE_COMPANY, plan["company"]))["id"]
    kept = plan["skipped"] or await _write_contact(call, params, plan["contact"])
    if company_id is not None and kept["action"] != "skipped":
        await call.step(LINK_CONTACT, {"contact_id": kept["id"], "company_id": company_id})
    return mapping.written_contact(kept, plan["portal_id"])


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


@writes("POST /deals", errors=[ContactNotFound, OptionMissing, *MOVING])
async def create_deal(call: CrmCall, params: CreateDeal) -> CreatedDeal:
    """Open a deal in a stage of a pipeline."""
    deal = await call.plan(partial(_new_deal, call, params))
    return mapping.created_deal(await call.step(CREATE_DEAL, deal), deal["contact_id"])


@writes("PATCH /deals/{deal_id}", errors=[DealNotFound, UpstreamConflict, *CASTING, *MOVING])
async def update_deal(call: CrmCall, params: UpdateDeal) -> UpdatedDeal:
    """Move a deal to another stage of its pipeline, write properties, and log a note with the change.

    Where the note fails after the change, the change stands and ``note_logged`` is false.
    """
    async with call.exclusive(f"deal {params.deal_id}"):
        plan = await call.plan(partial(_change, call, params))
        change = {"deal_id": plan["id"], "texts": plan["texts"]}
        kept = await call.step(CHANGE_DEAL, change) if plan["texts"] else plan
        note_logged = plan["note"] is not None and await _log(call, plan)
    return mapping.updated_deal(plan, kept, note_logged=note_logged)


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


async def _known_values(call: CrmCall, kind: str, texts: Mapping[str, str]) -> Values:
    """Values that are in the vendor's form already, with what is known of their properties."""
    return await _on_definitions(call, kind, lambda known: Values(known, texts))


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


async def _look_up(call: CrmCall, params: LookUpContacts, shown: Sequence[str]) -> Some:
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


async def _look_up_by_owner(call: CrmCall, email: str, limit: int, shown: Sequence[str]) -> Some:
    """One page of what belongs to whoever has that address, those who have left included."""
    known = await _owners(call, lambda known: email in map(mapping.lowered, known.values()))
    owner_ids = [owner_id for owner_id, address in known.items() if mapping.lowered(address) == email]
    return await _search(call, mapping.owned_by(owner_ids), limit, shown) if owner_ids else ([], None)


async def _search(call: CrmCall, condition: Raw, limit: int, shown: Sequence[str]) -> Some:
    """One page of what a condition finds; the next one starts behind the last id."""
    raw = await call.upstream.search_objects("contacts", mapping.page_search(condition, shown, limit, _after(call)))
    found = raw["results"]
    return found, {"after": found[-1]["id"]} if found and next_page(raw) else None


def _after(call: CrmCall) -> str | None:
    return call.position["after"] if call.position else None


# Writing contacts


async def _contact(call: CrmCall, params: CreateOrUpdateContact) -> Raw:
    """What is to be written of a contact and its company, or what is left as it is; everything named is looked up."""
    portal_id = await _portal_id(call)
    sent = await _contact_values(call, params.properties)
    existing = await _contact_of(call, params.email)
    contact = {"email": params.email, "texts": sent.texts, "known": existing is not None, **_by(call)}
    plan = {"portal_id": portal_id, "contact": contact, "skipped": None, "company_id": None, "company": None}
    if existing is not None and params.on_conflict == "skip":
        return plan | {"skipped": mapping.skipped_contact(existing)}
    if params.associate_company is None:
        return plan
    company_id, domain = await _company(call, params, params.associate_company)
    return plan | {"company_id": company_id, "company": None if company_id else {"domain": domain, **_by(call)}}


async def _contact_values(call: CrmCall, given: Mapping[str, Any]) -> Values:
    """The properties of a contact in the vendor's form, without the address that it is matched by."""
    properties = {name: value for name, value in given.items() if name != "email"}
    return await _on_definitions(call, "contacts", lambda known: mapping.values(known, properties))


async def _contact_of(call: CrmCall, email: str, properties: Iterable[str] = ()) -> Raw | None:
    """The contact with that address, as it is now."""
    found = await call.upstream.batch_read_objects("contacts", [email], ["email", *properties], "email")
    return found[0] if found else None


async def _write_contact(call: CrmCall, params: CreateOrUpdateContact, contact: Raw) -> Learned:
    """Create or update; where the address turns out to be taken, update or skip whoever has it."""
    skipping = params.on_conflict == "skip"
    try:
        return await call.step(CREATE_CONTACT if skipping else WRITE_CONTACT, contact)
    except UpstreamConflict as refusal:
        # In a later attempt it is told again as the journal has kept it, no longer as a ``ContactExists``.
        taken_by = next((detail["contact_id"] for detail in refusal.details if "contact_id" in detail), None)
        if taken_by is None:
            raise
    holder = mapping.skipped_contact(await call.upstream.read_object("contacts", taken_by, ["email"]))
    if skipping:
        return holder
    change = {"contact_id": holder["id"], "email": holder["email"] or params.email, "texts": contact["texts"]}
    return await call.step(UPDATE_HOLDER, change)


def _alone_with_company(call: CrmCall, params: CreateOrUpdateContact) -> AbstractAsyncContextManager[None]:
    """Keeps others from making the company that this call may make."""
    domain = mapping.company_domain(params.associate_company or "")
    return call.exclusive(f"company {domain}") if domain and params.create_company else nullcontext()


async def _company(call: CrmCall, params: CreateOrUpdateContact, reference: str) -> tuple[str | None, str | None]:
    """The id of the company to link to, or the domain of the one to be made; ``CompanyNotFound`` if neither."""
    domain, company_id = mapping.company_domain(reference), await _known_company(call, reference)
    if company_id is None and not params.create_company:
        raise CompanyNotFound(
            f"No company has the domain {domain!r}.", {"parameter": "associate_company", "value": reference}
        )
    return company_id, domain


async def _known_company(call: CrmCall, reference: str) -> str | None:
    """The id of the company with that domain or identifier, even if it was made a moment ago."""
    domain = mapping.company_domain(reference)
    if domain is None:
        return str((await call.upstream.read_object("companies", reference.strip(), ["domain"]))["id"])
    found = (await call.upstream.search_objects("companies", mapping.domain_search(domain)))["results"]
    if found:
        return str(found[0]["id"])
    since = call.clock.now() - LOOK_BACK_SECONDS
    latest = await _listed_since(call, "companies", ["domain"], since)
    return next((str(raw["id"]) for raw in latest if mapping.domain_of(raw) == domain), None)


# Writing deals


async def _new_deal(call: CrmCall, params: CreateDeal) -> Raw:
    """The vendor's form of a new deal, with everything that it names looked up."""
    deal = await _on_pipelines(call, lambda pipelines: mapping.new_deal(params, pipelines))
    contact_id = params.contact_id
    if contact_id is not None:
        contact_id = (await call.upstream.read_object("contacts", contact_id, ["email"]))["id"]
    return {**deal, "contact_id": contact_id, **_by(call)}


async def _change(call: CrmCall, params: UpdateDeal) -> Raw:
    """A deal as it is, how it is to be changed, and the note, whose millisecond marks it."""
    note = None if params.note is None else mapping.note_properties(params.note, instant(call.clock.now()))
    raw = await _deal(call, params)
    sent = await _deal_values(call, params, raw)
    stage_from = raw["properties"].get("dealstage")
    return {**mapping.kept_change(raw), "stage_from": stage_from, "texts": sent.texts, "note": note}


async def _log(call: CrmCall, plan: Raw) -> bool:
    """Log the note, which may fail only where something else was changed; whether it was logged."""
    note = {"deal_id": plan["id"], "note": plan["note"]}
    if plan["texts"]:
        return await call.try_step(LOG_NOTE, note) is not None
    await call.step(LOG_NOTE, note)
    return True


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


# Recognising what a write has made


async def _until_indexed(creation: Awaitable[Raw]) -> Raw:
    """What *creation* returns; a failure is not settled at once, since the search may not know yet what it made."""
    try:
        return await creation
    except GatewayError as failure:
        if failure.doubt == "failed":
            failure.doubt = "edge"
        raise


async def _ids_since(call: CrmCall, kind: str, since: float) -> list[str]:
    """The ids of the records made since that time, as the search knows them once its lag has passed.

    A listing tells the latest sooner, if ids grow with time, which is not promised.
    """
    made = mapping.made_since(since)
    found = await call.upstream.search_every(kind, lambda after: mapping.page_search(made, [], PAGE_SIZE, after))
    latest = await _listed_since(call, kind, [], since)
    return list(dict.fromkeys(raw["id"] for raw in (*found, *latest)))


async def _listed_since(call: CrmCall, kind: str, properties: Sequence[str], since: float) -> Sequence[Raw]:
    """The records behind the newest that the search knows to be older."""
    older = (await call.upstream.search_objects(kind, mapping.newest_before(since)))["results"]
    return await call.upstream.objects_behind(kind, properties, older[0]["id"] if older else None)


def _note_maker(call: CrmCall, raw: Raw) -> None:
    """Remember how the vendor names this application, if it told that of a record just made."""
    if raw.get("new", True) and (maker := mapping.maker(raw)) is not None:
        call.memory.put("maker", maker, MAKER_SECONDS)


def _by(call: CrmCall) -> Raw:
    """What is known beforehand of how the vendor will name this application."""
    return {"maker": call.memory.get("maker")}


def _maker(call: CrmCall, intent: Intent) -> str | None:
    known: str | None = call.memory.get("maker") or intent["maker"]
    return known


def _in_order(found: Iterable[Found]) -> Sequence[Found]:
    return sorted(found, key=lambda one: one.made_at or 0.0)
