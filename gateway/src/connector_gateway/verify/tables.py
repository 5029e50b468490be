"""Checks of the facts of ``connectors/tables/facts.toml``."""

from functools import partial
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from connector_gateway.verify.account_under_test import (
    FORBIDDEN,
    TEXT,
    Account,
    CallFailed,
    NotCheckable,
    UnsuitablePlace,
    VendorReply,
)
from connector_gateway.verify.checks import Checks, expect

PERMISSIONS = frozenset({"none", "read", "comment", "edit", "create", "owner"})

SAMPLE_URL = "https://example.com/"
"""A file for the vendor to fetch. It is at an address that RFC 2606 reserves."""

LOST = f"{TEXT}: response lost"
"""The text of a record whose response is lost."""

SCHEMA = "/v0/meta/bases/{}/tables"

MODEL_NOT_FOUND = (403, "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND")


async def open_place(account: Account) -> None:
    """Check that the place is a base with empty tables only."""
    schema = await account.request("GET", SCHEMA.format(account.place), expects=403)
    if schema.status != 200:
        raise UnsuitablePlace("It is not a base that this connection can access.")
    for one in tables_in(schema):
        page = await account.request("GET", f"/v0/{account.place}/{one['id']}", query={"pageSize": 1})
        if page.body["records"]:
            raise UnsuitablePlace("The base has records.")


CHECKS = Checks(open_place, "the ID of a base with empty tables, the first with the fields of a new table")


def tables_in(schema: VendorReply) -> Any:
    """Return the tables in a schema, whose field has the name of the last segment of its path."""
    return schema.body[SCHEMA.rpartition("/")[2]]


def failed_with(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the type of the error of a response."""
    error = reply.body.get("error", "no error")
    return reply.status, error["type"] if isinstance(error, dict) else error


# What several checks read


async def bases(account: Account) -> Any:
    """Return the bases of the connection."""
    return (await account.request("GET", "/v0/meta/bases")).body["bases"]


async def first_base(account: Account) -> str:
    """Return the ID of the first base whose records the user can read."""
    readable: list[str] = [one["id"] for one in await account.once(bases) if one["permissionLevel"] != "none"]
    if not readable:
        raise NotCheckable("The connection can read no base.")
    return readable[0]


async def first_tables(account: Account) -> Any:
    """Return the tables of the first base."""
    return tables_in(await account.request("GET", SCHEMA.format(await account.once(first_base))))


async def list_first(account: Account, suffix: str = "", **query: Any) -> VendorReply:
    """List records of the first table of the first base."""
    base_id = await account.once(first_base)
    table_id = (await account.once(first_tables))[0]["id"]
    return await account.request("GET", f"/v0/{base_id}/{table_id}{suffix}", query={"pageSize": 1} | query)


async def own_tables(account: Account) -> Any:
    """Return the tables of the place."""
    return tables_in(await account.request("GET", SCHEMA.format(account.place)))


async def field(account: Account, *kinds: str) -> Any:
    """Return the first field of the first table that has one of these types."""
    fields = (await account.once(own_tables))[0]["fields"]
    found = next((one for kind in kinds for one in fields if one["type"] == kind), None)
    if found is None:
        raise NotCheckable(f"The first table has no field of type {kinds[0]}.")
    return found


async def text_field(account: Account) -> str:
    """Return the name of the field that names the records."""
    name: str = (await field(account, "singleLineText"))["name"]
    return name


async def path(account: Account) -> str:
    """Return the path of the first table."""
    return f"/v0/{account.place}/{(await account.once(own_tables))[0]['id']}"


# What checks create


async def create(account: Account, *rows: Any) -> VendorReply:
    """Try to create records, which are removed after the checks if the vendor accepts them."""
    table_path = await account.once(path)
    make = account.request("POST", table_path, {"records": [{"fields": row} for row in rows], "typecast": False})

    async def remove(ids: str) -> VendorReply:
        return await account.request("DELETE", table_path, query={"records[]": ids.split(",")})

    return await account.create("records", make, _created_ids, remove)


def _created_ids(reply: VendorReply) -> str:
    return ",".join(one["id"] for one in reply.body["records"]) if reply.status < 300 else ""


async def own_record(account: Account) -> str:
    """Create a record through the operation, and return its ID."""
    table_path, name = await account.once(path), await account.once(text_field)
    place = {"base_id": account.place, "table": table_path.rpartition("/")[2]}
    make = account.call("create_records", **place, records=[{name: TEXT}])
    remove = partial(_delete, account, table_path)
    try:
        created = await account.create("record", make, lambda one: one["created"][0] if one["created"] else "", remove)
    except CallFailed as error:
        if error.code == "table_not_found":
            # The vendor's error for a missing scope is that for a missing table.
            raise NotCheckable(FORBIDDEN) from error
        raise
    record_id: str = created["created"][0]
    return record_id


async def lost_records(account: Account) -> list[str]:
    """Create a record whose response is lost, and return the IDs of all records that this created."""
    table_path, name = await account.once(path), await account.once(text_field)
    place = {"base_id": account.place, "table": table_path.rpartition("/")[2]}
    await account.once(own_record)
    make = account.call_losing_response("create_records", **place, records=[{name: LOST}])
    remove = partial(_delete, account, table_path)
    await account.create("record", make, lambda one: one["created"][0] if one["created"] else "", remove)
    found = await found_by(account, f"{{{name}}}='{LOST}'")
    ids = [one["id"] for one in found["records"]]
    for record_id in ids:
        account.adopt("record", record_id, remove)
    return ids


async def _delete(account: Account, table_path: str, record_id: str) -> VendorReply:
    return await account.request("DELETE", f"{table_path}/{record_id}")


async def record(account: Account, **query: Any) -> VendorReply:
    """Return the created record."""
    record_path = f"{await account.once(path)}/{await account.once(own_record)}"
    return await account.request("GET", record_path, query=query or None)


async def change(account: Account, **cells: Any) -> VendorReply:
    """Change the created record."""
    record_path = f"{await account.once(path)}/{await account.once(own_record)}"
    return await account.request("PATCH", record_path, {"fields": cells, "typecast": False})


async def found_by(account: Account, formula: str, **query: Any) -> Any:
    """Return a page of the records for which a formula is true."""
    reply = await account.request("GET", await account.once(path), query={"filterByFormula": formula} | query)
    return reply.body


async def linked_file(account: Account) -> Any:
    """Let the vendor fetch a file into the created record, and return it as it is then."""
    name = (await field(account, "multipleAttachments"))["name"]
    await change(account, **{name: [{"url": SAMPLE_URL, "filename": "verify.html"}]})
    files: list[Any] = []

    async def is_fetched() -> bool:
        files[:] = (await record(account)).body["fields"].get(name, [])
        return any("size" in one for one in files)

    await account.wait_until(is_fetched)
    return files


# Reads


@CHECKS.reads
async def _user_of_token(account: Account) -> None:
    reply = await account.request("GET", "/v0/meta/whoami")
    expect("usr", reply.body["id"][:3])


@CHECKS.reads
async def _permission_in_base(account: Account) -> None:
    expect(True, {one["permissionLevel"] for one in await account.once(bases)} <= PERMISSIONS)


@CHECKS.reads
async def _prefixes_of_ids(account: Account) -> None:
    table = (await account.once(first_tables))[0]
    ids = [await account.once(first_base), table["id"], table["fields"][0]["id"], table["views"][0]["id"]]
    expect(["app", "tbl", "fld", "viw"], [uid[:3] for uid in ids])


@CHECKS.reads
async def _primary_field_in_schema(account: Account) -> None:
    tables = await account.once(first_tables)
    expect(True, all(one["primaryFieldId"] in [field["id"] for field in one["fields"]] for one in tables))
    await account.call("list_tables", base_id=await account.once(first_base))


@CHECKS.reads
async def _same_403_for_missing(account: Account) -> None:
    base_id = await account.once(first_base)
    replies = [
        await account.request("GET", f"/v0/app{token_hex(7)}/tbl{token_hex(7)}", expects=403),
        await account.request("GET", f"/v0/{base_id}/tbl{token_hex(7)}", expects=403),
    ]
    expect([MODEL_NOT_FOUND, MODEL_NOT_FOUND], [failed_with(reply) for reply in replies])


@CHECKS.reads
async def _bare_404_for_path(account: Account) -> None:
    reply = await account.request("GET", "/v0/meta/noSuchPath")
    expect((404, "NOT_FOUND"), (reply.status, reply.body["error"]))


@CHECKS.reads
async def _missing_record_is_404(account: Account) -> None:
    reply = await list_first(account, f"/rec{token_hex(7)}")
    expect(404, reply.status)


@CHECKS.reads
async def _pages_of_100(account: Account) -> None:
    expect(422, (await list_first(account, pageSize=101)).status)


@CHECKS.reads
async def _unknown_view_is_422(account: Account) -> None:
    reply = await list_first(account, view=f"no such view {token_hex(7)}")
    expect((422, "VIEW_NAME_NOT_FOUND"), failed_with(reply))


@CHECKS.reads
async def _expiring_offsets(account: Account) -> None:
    reply = await list_first(account, offset=f"itr{token_hex(7)}/rec{token_hex(7)}")
    expect((422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"), failed_with(reply))


@CHECKS.reads
async def _invalid_formula_is_422(account: Account) -> None:
    reply = await list_first(account, filterByFormula="NO_SUCH_FUNCTION(")
    expect((422, "INVALID_FILTER_BY_FORMULA"), failed_with(reply))


@CHECKS.reads
async def _trailing_slash(account: Account) -> None:
    expect(200, (await list_first(account, "/")).status)


# Writes


@CHECKS.writes
async def _created_in_order(account: Account) -> None:
    name = await account.once(text_field)
    reply = await create(account, *({name: text} for text in ("c", "a", "b")))
    expect(["c", "a", "b"], [one["fields"][name] for one in reply.body["records"]])


@CHECKS.writes
async def _ten_records_at_most(account: Account) -> None:
    name = await account.once(text_field)
    expect(422, (await create(account, *[{name: TEXT}] * 11)).status)


@CHECKS.writes
async def _atomic_batches(account: Account) -> None:
    name, marker = await account.once(text_field), token_hex(8)
    reply = await create(account, {name: marker}, {name: TEXT, "no such field": TEXT})
    found = await found_by(account, f"{{{name}}}='{marker}'")
    expect((422, 0), (reply.status, len(found["records"])))


@CHECKS.writes
async def _unknown_field_is_422(account: Account) -> None:
    reply = await create(account, {"no such field": TEXT})
    expect((422, "UNKNOWN_FIELD_NAME"), failed_with(reply))


@CHECKS.writes
async def _strict_values(account: Account) -> None:
    reply = await create(account, {await account.once(text_field): 5})
    expect((422, "INVALID_VALUE_FOR_COLUMN"), failed_with(reply))


@CHECKS.writes
async def _missing_option_error(account: Account) -> None:
    choice = await field(account, "singleSelect", "multipleSelects")
    value = "no such option" if choice["type"] == "singleSelect" else ["no such option"]
    expect((422, "INVALID_MULTIPLE_CHOICE_OPTIONS"), failed_with(await create(account, {choice["name"]: value})))


@CHECKS.writes
async def _dates_without_time(account: Account) -> None:
    name = (await field(account, "date"))["name"]
    expect(422, (await create(account, {name: "2030-01-02T03:04:05.000Z"})).status)


@CHECKS.writes
async def _decimals_unchanged(account: Account) -> None:
    name = (await field(account, "number"))["name"]
    reply = await create(account, {name: 0.1})
    expect(0.1, float(reply.body["records"][0]["fields"][name]))


@CHECKS.writes
async def _empty_cells_omitted(account: Account) -> None:
    name, notes = await account.once(text_field), (await field(account, "multilineText"))["name"]
    reply = await create(account, {name: TEXT, notes: ""})
    expect((True, False), tuple(one in reply.body["records"][0]["fields"] for one in (name, notes)))


@CHECKS.writes
async def _null_clears(account: Account) -> None:
    name = (await field(account, "multilineText"))["name"]
    cells = [(await change(account, **{name: value})).body["fields"] for value in (TEXT, None)]
    expect([True, False], [name in one for one in cells])


@CHECKS.writes
async def _other_cells_unchanged(account: Account) -> None:
    name, notes = await account.once(text_field), (await field(account, "multilineText"))["name"]
    table_id = (await account.once(path)).rpartition("/")[2]
    place = {"base_id": account.place, "table": table_id, "record_id": await account.once(own_record)}
    await account.call("update_record", **place, fields={notes: TEXT})
    cells = (await record(account)).body["fields"]
    expect(True, cells[name] == cells[notes] == TEXT)


@CHECKS.writes
async def _fields_by_id(account: Account) -> None:
    by_id = await field(account, "singleLineText")
    await change(account, **{by_id["id"]: TEXT})
    cells = (await record(account, returnFieldsByFieldId="true")).body["fields"]
    expect(True, cells.get(by_id["id"]) == TEXT)


@CHECKS.writes
async def _filter_by_id(account: Account) -> None:
    record_id = await account.once(own_record)
    found = await found_by(account, f"RECORD_ID()='{record_id}'")
    expect(True, [one["id"] for one in found["records"]] == [record_id])


@CHECKS.writes
async def _filter_without_lag(account: Account) -> None:
    record_id = await account.once(own_record)
    table_id = (await account.once(path)).rpartition("/")[2]
    found = await found_by(account, "IS_AFTER(CREATED_TIME(), DATETIME_PARSE('2020-01-01T00:00:00.000Z'))")
    read = await account.call("read_records", base_id=account.place, table=table_id)
    expect((True, True), (record_id in [one["id"] for one in found["records"]], bool(read)))


@CHECKS.writes
async def _lost_record_is_found(account: Account) -> None:
    expect(1, len(await account.once(lost_records)))


@CHECKS.writes
async def _whole_seconds(account: Account) -> None:
    expect(".000Z", (await record(account)).body["createdTime"][-5:])


@CHECKS.writes
async def _offset_until_end(account: Account) -> None:
    name = await account.once(text_field)
    created = await create(account, {name: TEXT}, {name: TEXT})
    ids = [one["id"] for one in created.body["records"]]
    formula = f"OR(RECORD_ID()='{ids[0]}',RECORD_ID()='{ids[1]}')"
    first = await found_by(account, formula, pageSize=1)
    second = await found_by(account, formula, pageSize=1, offset=first["offset"])
    listed = [one["id"] for page in (first, second) for one in page["records"]]
    expect((True, False), (sorted(listed) == sorted(ids), "offset" in second))


@CHECKS.writes
async def _record_of_any_table(account: Account) -> None:
    tables, record_id = await account.once(own_tables), await account.once(own_record)
    if len(tables) < 2:
        raise NotCheckable("The base has only one table.")
    other = quote(tables[1]["name"], safe="")
    reply = await account.request("GET", f"/v0/{account.place}/{other}/{record_id}")
    expect((200, True), (reply.status, reply.body.get("id") == record_id))


@CHECKS.writes
async def _fetched_later(account: Account) -> None:
    (file,) = await account.once(linked_file)
    expect(True, file.get("size", 0) > 0)


@CHECKS.writes
async def _uploads_appended(account: Account) -> None:
    name = (await field(account, "multipleAttachments"))["name"]
    before = await account.once(linked_file)
    if not any("size" in one for one in before):
        raise NotCheckable("The vendor fetched no file to attach.")
    file = {"field": name, "url": before[0]["url"], "filename": "uploaded.html"}
    attached = await account.call("attach_file", record_id=await account.once(own_record), **file)
    ids = [one["id"] for one in (await record(account)).body["fields"][name]]
    expect(True, ids == [before[0]["id"], attached["attachment_id"]])
