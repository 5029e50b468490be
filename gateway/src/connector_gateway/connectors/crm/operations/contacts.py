"""Contacts: creation, update and look-up."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

from connector_gateway.connectors.crm import mapping, vendor_models
from connector_gateway.connectors.crm.client import REQUEST, SEARCH_REQUEST
from connector_gateway.connectors.crm.mapping.properties import CASTING, Values
from connector_gateway.connectors.crm.mapping.records import StoredData
from connector_gateway.connectors.crm.models import Contact, CreateOrUpdateContact, LookUpContacts, WrittenContact
from connector_gateway.connectors.crm.operations import companies
from connector_gateway.connectors.crm.operations.in_doubt_search import (
    known_creator_id,
    our_creator_id,
    remember_creator,
)
from connector_gateway.connectors.crm.operations.properties_and_owners import (
    CrmCall,
    known_values,
    owner_emails,
    owners,
    portal_id,
    property_texts,
    run_checks,
    with_properties,
    within_portal,
)
from connector_gateway.kit import errors
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.models import Page, Position
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

Action = Literal["created", "updated"]

ContactPage = tuple[Sequence[vendor_models.Record], Position | None]
"""A page of contacts, and the position of the next one."""


# Write steps


async def _send_contact(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    sent = await _values(ctx, intent)
    contact = await ctx.upstream.upsert_contact(intent["email"], sent.texts)
    return _written(ctx, intent, sent, contact, created=contact.new)


async def _find_contact(ctx: CrmCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the contact with that email address and all values. It is new if there was none when the write began."""
    sent = await _values(ctx, intent)
    contact = await _contact_of(ctx, intent["email"], sent.texts)
    action: Action = "updated" if intent["known"] else "created"
    return [Match(stored) for stored in _stored_if_complete(contact, sent, intent, action)]


async def _send_new_contact(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    sent = await _values(ctx, intent)
    contact = await ctx.upstream.create_contact(intent["email"], sent.texts)
    return _written(ctx, intent, sent, contact, created=True)


async def _find_new_contact(ctx: CrmCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the contact with that email address and all values that was created by this app."""
    sent = await _values(ctx, intent)
    contact = await _contact_of(ctx, intent["email"], [*sent.texts, *mapping.records.CREATOR_PROPERTIES])
    if contact is None or not mapping.records.may_be_ours(contact, known_creator_id(ctx, intent)):
        return []
    stored_forms = _stored_if_complete(contact, sent, intent, "created")
    return [Match(stored, contact.id, contact.created_at.timestamp()) for stored in stored_forms]


async def _send_holder(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    sent = await _values(ctx, intent)
    contact = await ctx.upstream.update_object("contacts", intent["contact_id"], sent.texts)
    return _written(ctx, intent, sent, contact, created=False)


async def _find_holder(ctx: CrmCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    sent = await _values(ctx, intent)
    contact = await ctx.upstream.read_object("contacts", intent["contact_id"], ["email", *sent.texts])
    return [Match(stored) for stored in _stored_if_complete(contact, sent, intent, "updated")]


def _changed_contact(intent: StepInput) -> Sequence[str]:
    return [f"contact {intent['email'].casefold()}"]


async def _values(ctx: CrmCall, intent: StepInput) -> Values:
    """Return the values to write. They are looked up before the write, because nothing may fail after it."""
    return await known_values(ctx, "contacts", intent["texts"])


def _written(
    ctx: CrmCall, intent: StepInput, sent: Values, contact: vendor_models.Record, *, created: bool
) -> StepResult:
    if created:
        remember_creator(ctx, contact)
    return mapping.contacts.stored_contact(contact, sent, intent["email"], "created" if created else "updated")


def _stored_if_complete(
    contact: vendor_models.Record | None, sent: Values, intent: StepInput, action: Action
) -> list[StoredData]:
    """Return the stored form of a contact if it exists and has all values."""
    matches = contact is not None and sent.all_match(contact)
    return (
        [mapping.contacts.stored_contact(contact, sent, intent["email"], action)]
        if contact is not None and matches
        else []
    )


WRITE_CONTACT = WriteStep(
    "write the contact",
    _send_contact,
    _find_contact,
    account_scope=within_portal,
    changes=_changed_contact,
    public_result=mapping.contacts.public_contact,
    dry_run_result=mapping.contacts.dry_run_contact,
)
CREATE_CONTACT = WriteStep(
    "create the contact",
    _send_new_contact,
    _find_new_contact,
    object_kind="contact",
    account_scope=within_portal,
    changes=_changed_contact,
    content_keys=lambda intent: [[intent["email"], intent["texts"]]],
    public_result=mapping.contacts.public_contact,
    dry_run_result=mapping.contacts.dry_run_contact,
)
UPDATE_HOLDER = WriteStep(
    "update the contact",
    _send_holder,
    _find_holder,
    account_scope=within_portal,
    changes=_changed_contact,
    public_result=mapping.contacts.public_contact,
)


# The operations


@writes(
    "POST /contacts",
    errors=[errors.CompanyNotFound, errors.UniqueValueTaken, *CASTING],
    overwrites=True,
    idempotent=True,
    targets=["email"],
    requests=TypicalRequests(
        4 * REQUEST + SEARCH_REQUEST, 3 * REQUEST + SEARCH_REQUEST, "properties, contact, company, concurrently; a link"
    ),
    examples=[
        lambda one: {"email": one["email"], "properties": {"firstname": "Ana"}},
        lambda one: {"email": one["email"], "properties": {"firstname": "Anna"}},
    ],
)
async def create_or_update_contact(ctx: CrmCall, params: CreateOrUpdateContact) -> WrittenContact:
    """Create a contact, or update the one that matches the email.

    For the names of properties and their options, use ``crm_list_properties``.

    The properties and the company are checked first. If one of them is invalid, the contact is not written.
    """
    async with await companies.lock_company_domain(ctx, params):
        plan = await ctx.plan(partial(_plan, ctx, params))
        company_id = plan["company_id"]
        if plan["company"] is not None:
            company_id = (await ctx.step(companies.CREATE_COMPANY, plan["company"]))["id"]
            companies.remember_company(ctx, plan["company"]["domain"], company_id)
    stored = plan["skipped"] or await _write_contact(ctx, params, plan["contact"])
    warning = mapping.contacts.not_accepted_warning(stored, plan["contact"]["texts"])
    if warning is not None:
        ctx.warn(warning)
    if company_id is not None and stored["action"] != "skipped":
        await ctx.step(companies.LINK_CONTACT, {"contact_id": stored["id"], "company_id": company_id})
    return mapping.contacts.written_contact(stored, plan["portal_id"])


@reads(
    "GET /contacts",
    errors=[errors.PropertyNotFound, errors.LossyCast],
    requests=TypicalRequests(3 * REQUEST, REQUEST, "active and former owners"),
    examples=[lambda one: {"email": one["email"]}, lambda _: {"limit": 3}],
)
async def look_up_contacts(ctx: CrmCall, params: LookUpContacts) -> Page[Contact]:
    """Look up contacts by email, by another property such as their owner, or all of them.

    Deals and companies cannot be looked up.

    Look-ups by email and by properties with unique values return the current state. Other properties use the vendor's
    search, which includes changes after about a minute.
    """
    selection = mapping.contacts.lookup_properties(params.property)
    warnings: list[str] = []
    records, position = await _look_up(ctx, params, selection, warnings)
    emails = await owner_emails(ctx, records)
    items = [mapping.contacts.contact(record, emails, params.property) for record in records]
    return Page[Contact](items=items, position=position, warnings=warnings)


# Writes


async def _plan(ctx: CrmCall, params: CreateOrUpdateContact) -> StoredData:
    """Plan the changes of a contact and its company. All names are looked up."""
    properties = {name: value for name, value in params.properties.items() if name != "email"}
    (portal, texts), (existing, (company_id, domain)) = await gather_pair(
        gather_pair(portal_id(ctx), property_texts(ctx, "contacts", properties)),
        _contact_and_company(ctx, params),
    )
    contact = {"email": params.email, "texts": texts, "known": existing is not None, **await our_creator_id(ctx)}
    plan = {"portal_id": portal, "contact": contact, "skipped": None, "company_id": None, "company": None}
    if existing is not None and params.on_conflict == "skip":
        return plan | {"skipped": mapping.contacts.skipped_contact(existing)}
    is_new = domain is not None and company_id is None
    company = {"domain": domain, **await our_creator_id(ctx)} if is_new else None
    return plan | {"company_id": company_id, "company": company}


async def _contact_and_company(
    ctx: CrmCall, params: CreateOrUpdateContact
) -> tuple[vendor_models.Record | None, tuple[str | None, str | None]]:
    """Return the existing contact, and the planned company unless the contact is to be skipped."""
    if params.on_conflict != "skip":
        return await gather_pair(_contact_of(ctx, params.email), companies.planned_company(ctx, params))
    existing = await _contact_of(ctx, params.email)
    return existing, (None, None) if existing is not None else await companies.planned_company(ctx, params)


async def _contact_of(ctx: CrmCall, email: str, properties: Iterable[str] = ()) -> vendor_models.Record | None:
    contacts = await ctx.upstream.batch_read_objects("contacts", [email], ["email", *properties], "email")
    return contacts[0] if contacts else None


async def _write_contact(ctx: CrmCall, params: CreateOrUpdateContact, contact: StoredData) -> StoredData:
    """Create or update a contact. If its email address turns out to be taken, update or skip its contact."""
    skipping = params.on_conflict == "skip"
    try:
        return await ctx.step(CREATE_CONTACT if skipping else WRITE_CONTACT, contact)
    except errors.UniqueValueTaken as error:
        # The vendor repeats the value in lower case, but callers look for the one that they sent.
        error.details = [
            {**one, "value": contact["texts"].get(one.get("property"), one["value"])} for one in error.details
        ]
        raise
    except errors.UpstreamConflict as conflict:
        # In a later attempt the journal restores the error, no longer as a ``ContactExists``.
        contact_id = next((detail["contact_id"] for detail in conflict.details if "contact_id" in detail), None)
        if contact_id is None:
            raise
    existing = mapping.contacts.skipped_contact(await ctx.upstream.read_object("contacts", contact_id, ["email"]))
    if skipping:
        return existing
    change = {
        "portal": contact.get("portal", ""),
        "contact_id": existing["id"],
        "email": existing["email"] or params.email,
        "texts": contact["texts"],
    }
    return await ctx.step(UPDATE_HOLDER, change)


# Look-up


async def _look_up(ctx: CrmCall, params: LookUpContacts, selection: Sequence[str], warnings: list[str]) -> ContactPage:
    """Return one page of contacts and the position of the next. Warnings for the caller are added to *warnings*."""
    if params.email is not None:
        return await ctx.upstream.batch_read_objects("contacts", [params.email], selection, "email"), None
    if params.property is None or params.value is None:
        page = await ctx.upstream.list_objects("contacts", selection, params.limit, _after(ctx))
        return page.results, None if page.after is None else {"after": page.after}
    name, value = params.property, params.value.strip()
    if name == "owner_email":
        return await _look_up_by_owner(ctx, value.lower(), params.limit, selection)
    [described] = await run_checks(
        partial(with_properties, ctx, "contacts", lambda known: mapping.properties.definition(known, name))
    )
    if mapping.properties.unique(described):
        id_property, record_id = mapping.properties.identity(name, value)
        return await ctx.upstream.batch_read_objects("contacts", [record_id], selection, id_property), None
    if mapping.owners.is_owner_property(described) and "@" in value:
        return await _look_up_by_owner(ctx, value.lower(), params.limit, selection)
    option = mapping.properties.option_value(described, value)
    if option is None:
        warnings.append(mapping.properties.no_such_option(described, value))
    return await _search(ctx, mapping.searches.equals(described, option or value), params.limit, selection)


async def _look_up_by_owner(ctx: CrmCall, email: str, limit: int, selection: Sequence[str]) -> ContactPage:
    """Return one page of the contacts of the owner with that email address, deactivated owners included."""
    all_owners = await owners(ctx, lambda all_owners: mapping.owners.is_known(all_owners, email))
    owner_ids = [owner.id for owner in all_owners.values() if mapping.contacts.to_lower(owner.email) == email]
    return await _search(ctx, mapping.searches.owned_by(owner_ids), limit, selection) if owner_ids else ([], None)


async def _search(ctx: CrmCall, condition: StepInput, limit: int, selection: Sequence[str]) -> ContactPage:
    """Return one page of the contacts that match a condition. The next one starts after the last id."""
    page = await ctx.upstream.search_objects(
        "contacts", mapping.searches.page_search(condition, selection, limit, _after(ctx))
    )
    return page.results, {"after": page.results[-1].id} if page.results and page.after else None


def _after(ctx: CrmCall) -> str | None:
    return ctx.position["after"] if ctx.position else None
