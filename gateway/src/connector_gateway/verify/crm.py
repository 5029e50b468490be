"""Checks of the facts of ``connectors/crm/facts.toml``."""

import json
from functools import partial
from secrets import token_hex
from typing import Any

from connector_gateway.verify.account_under_test import (
    TEXT,
    Account,
    CallFailed,
    NotCheckable,
    UnsuitablePlace,
    VendorReply,
)
from connector_gateway.verify.checks import Checks, expect

OBJECTS = "/crm/objects/2026-09"
ASSOCIATIONS = "/crm/associations/2026-09"
MISSING_ID = "999999999999"
RECORD_ID = "hs_object_id"
CREATOR = ("hs_object_source", "hs_object_source_id")

INVALID = (400, "VALIDATION_ERROR")

LOST = f"{TEXT}: response lost"
"""The name of a deal whose response is lost."""

NOTE_TIME = "2026-01-02T03:04:05.678Z"
DEAL_TO_CONTACT, NOTE_TO_DEAL = 3, 214


async def open_place(account: Account) -> None:
    """Check that the place is a company with a domain, and without contacts and deals."""
    query = {"properties": "domain", "associations": "contacts,deals"}
    company = await account.request("GET", f"{OBJECTS}/companies/{account.place}", query=query)
    if company.status != 200:
        raise UnsuitablePlace("It is not a company that this connection can access.")
    if company.body.get("associations"):
        raise UnsuitablePlace("The company has contacts or deals.")
    if not company.body["properties"]["domain"]:
        raise UnsuitablePlace("The company has no domain.")


CHECKS = Checks(open_place, "the ID of a company with a domain and without contacts and deals")


def failed_with(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the category of a response."""
    return reply.status, reply.body.get("category", "no category")


def code_of(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the code of the first error of a response."""
    return reply.status, reply.body["errors"][0]["code"]


# What several checks read or create


async def portal(account: Account) -> VendorReply:
    """Return the portal."""
    return await account.request("GET", "/account-info/2026-09/details")


async def contacts(account: Account) -> Any:
    """Return the first two contacts, with a property that does not exist."""
    query = {"limit": 2, "properties": f"{RECORD_ID},createdate,lastname,noSuchProperty"}
    found = (await account.request("GET", f"{OBJECTS}/contacts", query=query)).body["results"]
    if len(found) < 2:
        raise NotCheckable("The portal has fewer than two contacts.")
    return found


async def contact_properties(account: Account) -> Any:
    """Return the properties of contacts by name."""
    await account.call("list_properties", object_type="contacts")
    reply = await account.request("GET", "/crm/properties/2026-09/contacts")
    return {one["name"]: one for one in reply.body["results"]}


async def pipelines(account: Account) -> Any:
    """Return the pipelines of deals."""
    return (await account.request("GET", "/crm/pipelines/2026-09/deals")).body["results"]


async def search(account: Account, *filters: Any, **more: Any) -> VendorReply:
    """Search contacts in order of their IDs."""
    sorts = [{"propertyName": RECORD_ID, "direction": "ASCENDING"}]
    body = {"filterGroups": [{"filters": list(filters)}] if filters else [], "sorts": sorts, **more}
    return await account.request("POST", f"{OBJECTS}/contacts/search", body)


async def domain(account: Account) -> str:
    """Return the domain of the place. A portal may link contacts to the company with their domain, or create it."""
    company = await account.request("GET", f"{OBJECTS}/companies/{account.place}", query={"properties": "domain"})
    name: str = company.body["properties"]["domain"]
    return name


async def new_email(account: Account) -> str:
    """Return an email address that no contact has."""
    return f"verify-{token_hex(8)}@{await account.once(domain)}"


async def create(account: Account, kind: str, properties: Any, associations: Any = ()) -> VendorReply:
    """Try to create a record, which is removed after the checks if the vendor accepts it."""
    make = account.request("POST", f"{OBJECTS}/{kind}s", {"properties": properties, "associations": list(associations)})
    return await account.create(kind, make, _created_id, partial(_archive, account, kind))


def _created_id(reply: VendorReply) -> str:
    return str(reply.body["id"]) if reply.status < 300 else ""


async def _archive(account: Account, kind: str, object_id: str) -> VendorReply:
    return await account.request("DELETE", f"{OBJECTS}/{kind}s/{object_id}")


def plural(kind: str) -> str:
    """Return the name of a kind of records in paths."""
    return f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"


def link(object_id: str, type_id: int) -> Any:
    """Return an association of a new record."""
    kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id}
    return {"to": {"id": object_id}, "types": [kind]}


async def email(account: Account) -> str:
    """Return the email address of the own contact."""
    return await new_email(account)


async def own_contact(account: Account) -> str:
    """Create a contact, link it to the place through the operation, and return its ID."""
    address = await account.once(email)
    created = await create(account, "contact", {"email": address})
    if created.status >= 300:
        raise NotCheckable("The portal requires more of a new contact.")
    details = {"properties": {"lastname": TEXT}, "associate_company": account.place}
    await account.call("create_or_update_contact", email=address, **details)
    contact_id: str = created.body["id"]
    return contact_id


async def own_deal(account: Account) -> str:
    """Create a deal of the contact through the operation, and return its ID."""
    contact_id = await account.once(own_contact)
    pipeline = (await account.once(pipelines))[0]
    stages = {"pipeline": pipeline["id"], "dealstage": pipeline["stages"][0]["id"]}
    make = account.call("create_deal", dealname=TEXT, amount=1250.5, contact_id=contact_id, **stages)
    remove = partial(_archive, account, "deal")
    try:
        created = await account.create("deal", make, lambda one: one["deal_id"], remove)
    except CallFailed as error:
        if error.code == "upstream_refused":
            raise NotCheckable("The portal requires more of a new deal.") from error
        raise
    deal_id: str = created["deal_id"]
    return deal_id


async def lost_deals(account: Account) -> list[str]:
    """Create a deal whose response is lost, and return the IDs of all deals that this created."""
    contact_id, (pipeline, *_) = await account.once(own_contact), await account.once(pipelines)
    stages = {"pipeline": pipeline["id"], "dealstage": pipeline["stages"][0]["id"]}
    make = account.call_losing_response("create_deal", dealname=LOST, contact_id=contact_id, **stages)
    await account.create("deal", make, lambda one: str(one["deal_id"]), partial(_archive, account, "deal"))
    deals = await linked(account, "contact", contact_id, "deal")
    created = [uid for uid in deals if (await read(account, "deal", uid, "dealname"))["dealname"] == LOST]
    for deal_id in created:
        account.adopt("deal", deal_id, partial(_archive, account, "deal"))
    return created


async def logged_note(account: Account) -> str:
    """Log a note on the deal through the operation, and return its ID."""
    deal_id = await account.once(own_deal)
    before = await linked(account, "deal", deal_id, "note")
    logged: list[str] = []

    async def is_listed() -> bool:
        logged[:] = set(await linked(account, "deal", deal_id, "note")) - set(before)
        return bool(logged)

    async def make() -> str:
        await account.call("update_deal", deal_id=deal_id, note="a < b\nc")
        await account.wait_until(is_listed)
        return logged[0]

    return await account.create("note", make(), str, partial(_archive, account, "note"))


async def read(account: Account, kind: str, object_id: str, *properties: str) -> Any:
    """Return the properties of a record."""
    query = {"properties": ",".join(properties)}
    return (await account.request("GET", f"{OBJECTS}/{kind}s/{object_id}", query=query)).body["properties"]


async def associations(account: Account, kind: str, object_id: str, other: str) -> Any:
    """Return the associations of a record with those of another kind."""
    path = f"{ASSOCIATIONS}/{plural(kind)}/{plural(other)}/batch/read"
    reply = await account.request("POST", path, {"inputs": [{"id": object_id}]})
    return [one for row in reply.body["results"] for one in row["to"]]


async def linked(account: Account, kind: str, object_id: str, other: str) -> list[str]:
    """Return the IDs of the associated records."""
    return [str(one["toObjectId"]) for one in await associations(account, kind, object_id, other)]


def numbers(records: Any) -> list[int]:
    """Return the IDs of records as numbers."""
    return [int(one["id"]) for one in records]


# Reads


@CHECKS.reads
async def _dated_versions(account: Account) -> None:
    paths = ("/crm/objects/2026-03/contacts", "/crm/v3/objects/contacts")
    replies = [await account.request("GET", path, query={"limit": 1}) for path in paths]
    expect([200, 200], [reply.status for reply in replies])


@CHECKS.reads
async def _number_of_portal(account: Account) -> None:
    expect(True, isinstance((await account.once(portal)).body["portalId"], int))


@CHECKS.reads
async def _missing_is_404(account: Account) -> None:
    reply = await account.request("GET", f"{OBJECTS}/deals/{MISSING_ID}")
    expect((404, "OBJECT_NOT_FOUND"), failed_with(reply))


@CHECKS.reads
async def _no_category_for_path(account: Account) -> None:
    reply = await account.request("GET", "/crm/no-such-path/2026-09/contacts")
    is_category = isinstance(reply.body, dict) and "category" in reply.body
    expect((404, False), (reply.status, is_category))


@CHECKS.reads
async def _pages_of_100(account: Account) -> None:
    reply = await account.request("GET", f"{OBJECTS}/contacts", query={"limit": 101})
    expect(INVALID, failed_with(reply))


@CHECKS.reads
async def _after_differs(account: Account) -> None:
    first, second = numbers(await account.once(contacts))
    listed = await account.request("GET", f"{OBJECTS}/contacts", query={"limit": 1, "after": first})
    searched = await search(account, limit=1)
    expect((True, True), (first < second, numbers(listed.body["results"]) == [second]))
    expect("1", searched.body["paging"]["next"]["after"])


@CHECKS.reads
async def _values_in_text(account: Account) -> None:
    values = [value for one in await account.once(contacts) for value in one["properties"].values()]
    expect(True, all(value is None or isinstance(value, str) for value in values))


@CHECKS.reads
async def _unknown_properties_omitted(account: Account) -> None:
    expect([False] * 2, ["noSuchProperty" in one["properties"] for one in await account.once(contacts)])


@CHECKS.reads
async def _search_in_order(account: Account) -> None:
    first, *_ = numbers(await account.once(contacts))
    later = {"propertyName": RECORD_ID, "operator": "GT", "value": str(first)}
    ids = numbers((await search(account, later, limit=10)).body["results"])
    expect((True, True), (ids == sorted(ids), all(uid > first for uid in ids)))


@CHECKS.reads
async def _search_ends_at_10000(account: Account) -> None:
    expect(INVALID, failed_with(await search(account, limit=1, after="10000")))


@CHECKS.reads
async def _closed_stages_in_text(account: Account) -> None:
    stages = [stage for one in await account.once(pipelines) for stage in one["stages"]]
    expect(True, {stage["metadata"]["isClosed"] for stage in stages} <= {"true", "false"})


@CHECKS.reads
async def _former_owners_on_request(account: Account) -> None:
    for archived in (False, True):
        query = {"archived": str(archived).lower()}
        reply = await account.request("GET", "/crm/owners/2026-09", query=query)
        expect({archived}, {one["archived"] for one in reply.body["results"]} or {archived})


@CHECKS.reads
async def _own_properties_marked(account: Account) -> None:
    expect(True, (await account.once(contact_properties))["email"]["hubspotDefined"])


@CHECKS.reads
async def _read_only_marked(account: Account) -> None:
    known = await account.once(contact_properties)
    marks = [known[name]["modificationMetadata"]["readOnlyValue"] for name in (RECORD_ID, "email")]
    expect([True, False], marks)


@CHECKS.reads
async def _owners_as_reference(account: Account) -> None:
    owner = (await account.once(contact_properties))["hubspot_owner_id"]
    expect(("OWNER", []), (owner["referencedObjectType"], owner["options"]))


# Writes


@CHECKS.writes
async def _multi_status_batches(account: Account) -> None:
    created = await create(account, "contact", {"email": await new_email(account)})
    body = {"properties": ["email"], "inputs": [{"id": created.body["id"]}, {"id": MISSING_ID}]}
    read_both = await account.request("POST", f"{OBJECTS}/contacts/batch/read", body)
    expect([201, 207], [created.status, read_both.status])


@CHECKS.writes
async def _upsert_says_new(account: Account) -> None:
    await account.once(own_contact)
    inputs = [{"idProperty": "email", "id": await account.once(email), "properties": {"lastname": TEXT}}]
    reply = await account.request("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})
    expect([False], [one["new"] for one in reply.body["results"]])


@CHECKS.writes
async def _duplicate_email_is_409(account: Account) -> None:
    contact_id = await account.once(own_contact)
    reply = await create(account, "contact", {"email": await account.once(email)})
    expect((409, "CONFLICT"), failed_with(reply))
    expect(True, reply.body["message"].endswith(f"Existing ID: {contact_id}"))


@CHECKS.writes
async def _email_without_lag(account: Account) -> None:
    contact_id = await account.once(own_contact)
    found = await account.call("look_up_contacts", email=await account.once(email))
    expect(True, [one["contact_id"] for one in found] == [contact_id])


@CHECKS.writes
async def _app_as_creator(account: Account) -> None:
    contact = await read(account, "contact", await account.once(own_contact), *CREATOR)
    deal = await read(account, "deal", await account.once(own_deal), *CREATOR)
    expect("INTEGRATION", contact[CREATOR[0]])
    expect((True, True), (bool(contact[CREATOR[1]]), contact[CREATOR[1]] == deal[CREATOR[1]]))


@CHECKS.writes
async def _two_way_associations(account: Account) -> None:
    contact_id, deal_id = await account.once(own_contact), await account.once(own_deal)
    forth, back = (
        await linked(account, "contact", contact_id, "deal"),
        await linked(account, "deal", deal_id, "contact"),
    )
    expect((True, True), (forth == [deal_id], back == [contact_id]))


@CHECKS.writes
async def _lost_deal_is_found(account: Account) -> None:
    expect(1, len(await account.once(lost_deals)))


@CHECKS.writes
async def _numbers_of_associations(account: Account) -> None:
    (found,) = await associations(account, "deal", await account.once(own_deal), "contact")
    expect(True, DEAL_TO_CONTACT in {one["typeId"] for one in found["associationTypes"]})


@CHECKS.writes
async def _repeated_association(account: Account) -> None:
    contact_id = await account.once(own_contact)
    path = f"{OBJECTS}/contacts/{contact_id}/associations/default/companies/{account.place}"
    reply = await account.request("PUT", path)
    companies = await linked(account, "contact", contact_id, "company")
    expect((200, True), (reply.status, companies == [account.place]))


@CHECKS.writes
async def _missing_association_is_400(account: Account) -> None:
    stage = (await account.once(pipelines))[0]["stages"][0]["id"]
    deal = {"dealname": TEXT, "dealstage": stage}
    reply = await create(account, "deal", deal, [link(MISSING_ID, DEAL_TO_CONTACT)])
    expect((400, "INVALID_OBJECT_IDS"), code_of(reply))


@CHECKS.writes
async def _errors_in_message(account: Account) -> None:
    reply = await create(account, "contact", {"email": await new_email(account), "no_such_property": TEXT})
    expect(INVALID, failed_with(reply))
    _, bracket, rest = reply.body["message"].partition("[")
    expect(["PROPERTY_DOESNT_EXIST"], [one["error"] for one in json.loads(bracket + rest)])


@CHECKS.writes
async def _unknown_option_is_400(account: Account) -> None:
    reply = await create(account, "contact", {"email": await new_email(account), "lifecyclestage": "no such stage"})
    expect((400, "INVALID_OPTION"), code_of(reply))


@CHECKS.writes
async def _computed_is_400(account: Account) -> None:
    body = {"properties": {"hs_email_domain": await account.once(domain)}}
    reply = await account.request("PATCH", f"{OBJECTS}/contacts/{await account.once(own_contact)}", body)
    expect((400, "READ_ONLY_VALUE"), code_of(reply))


@CHECKS.writes
async def _timestamp_required(account: Account) -> None:
    note = {"hs_note_body": TEXT}
    reply = await create(account, "note", note, [link(await account.once(own_deal), NOTE_TO_DEAL)])
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _escaped_notes(account: Account) -> None:
    note = await read(account, "note", await account.once(logged_note), "hs_note_body")
    expect(True, note["hs_note_body"] == "a &lt; b<br>c")


@CHECKS.writes
async def _milliseconds_of_notes(account: Account) -> None:
    note = {"hs_timestamp": NOTE_TIME, "hs_note_body": TEXT}
    created = await create(account, "note", note, [link(await account.once(own_deal), NOTE_TO_DEAL)])
    stored = await read(account, "note", created.body["id"], "hs_timestamp")
    expect(True, stored["hs_timestamp"] == NOTE_TIME)


@CHECKS.writes
async def _amounts_in_text(account: Account) -> None:
    expect(True, (await read(account, "deal", await account.once(own_deal), "amount"))["amount"] == "1250.5")


@CHECKS.writes
async def _archived_is_404(account: Account) -> None:
    created = await create(account, "contact", {"email": await new_email(account)})
    archived = await _archive(account, "contact", created.body["id"])
    account.release("contact", created.body["id"])
    reply = await account.request("GET", f"{OBJECTS}/contacts/{created.body['id']}")
    expect([204, 404], [archived.status, reply.status])


@CHECKS.writes
async def _search_within_a_minute(account: Account) -> None:
    contact_id = await account.once(own_contact)
    named = {"propertyName": "email", "operator": "EQ", "value": await account.once(email)}

    async def is_found() -> bool:
        found = await search(account, named, limit=1)
        return contact_id in [one["id"] for one in found.body["results"]]

    expect(True, await account.wait_until(is_found))
