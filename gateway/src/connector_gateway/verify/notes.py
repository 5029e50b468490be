"""Checks of the facts of ``connectors/notes/facts.toml``."""

from functools import partial
from typing import Any
from uuid import uuid4

from connector_gateway.verify.account_under_test import TEXT, Account, NotCheckable, UnsuitablePlace, VendorReply
from connector_gateway.verify.checks import Checks, expect

LONG = 2000
"""The length limit of a text."""


async def open_place(account: Account) -> None:
    """Check that the place is an empty page."""
    blocks = await account.request("GET", f"/v1/blocks/{account.place}/children")
    page = await account.request("GET", f"/v1/pages/{account.place}")
    if (blocks.status, page.status) != (200, 200):
        raise UnsuitablePlace("It is not a page that is shared with this connection.")
    if blocks.body["results"]:
        raise UnsuitablePlace("The page is not empty.")


CHECKS = Checks(open_place, "the ID of an empty page that is shared with the connection")


def failed_with(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the error code of a response."""
    return reply.status, reply.body.get("code", "no code")


INVALID = (400, "validation_error")


# What several checks read or create


async def sources(account: Account) -> Any:
    """Return the first two data sources in the search."""
    body = {
        "filter": {"property": "object", "value": "data_source"},
        "sort": {"timestamp": "last_edited_time", "direction": "descending"},
        "page_size": 2,
    }
    return (await account.request("POST", "/v1/search", body)).body


async def first_source(account: Account) -> Any:
    """Return the first data source."""
    results = (await account.once(sources))["results"]
    if not results:
        raise NotCheckable("No database is shared with the connection.")
    return results[0]


async def own_database(account: Account) -> Any:
    """Create a database in the place."""
    columns: dict[str, Any] = {
        "Name": {"title": {}},
        "Text": {"rich_text": {}},
        "Number": {"number": {}},
        "Link": {"url": {}},
    }
    body = {
        "parent": {"type": "page_id", "page_id": account.place},
        "title": [{"text": {"content": TEXT}}],
        "initial_data_source": {"properties": columns | {"Choice": {"select": {"options": [{"name": "first"}]}}}},
    }

    async def make() -> Any:
        reply = await account.request("POST", "/v1/databases", body)
        if reply.status != 200:
            raise NotCheckable("No database can be created in the page.")
        return reply.body

    trash = partial(account.request, "PATCH", body={"in_trash": True})
    return await account.create("database", make(), lambda one: one["id"], lambda uid: trash(f"/v1/databases/{uid}"))


async def own_source_id(account: Account) -> str:
    """Return the data source of the created database."""
    database = await account.once(own_database)
    source_id: str = database["data_sources"][0]["id"]
    return source_id


async def create_row(account: Account, properties: Any = None, children: Any = ()) -> VendorReply:
    """Create a row in the created database. It goes into the trash with the database."""
    parent = {"type": "data_source_id", "data_source_id": await own_source_id(account)}
    title = {"Name": {"title": [{"text": {"content": TEXT}}]}}
    body = {"parent": parent, "properties": title | (properties or {}), "children": list(children)}
    return await account.request("POST", "/v1/pages", body)


async def query(account: Account, condition: Any, **parameters: Any) -> VendorReply:
    """Query the created database."""
    path = f"/v1/data_sources/{await own_source_id(account)}/query"
    return await account.request("POST", path, {"filter": condition}, query=parameters or None)


async def own_page(account: Account) -> Any:
    """Create a row through the operation, and return it as the vendor does."""
    database = await account.once(own_database)
    properties = {"Name": TEXT, "Number": 0.1, "Link": "HTTPS://Example.com/a b"}
    created = await account.call("create_page", database_id=database["id"], properties=properties, children=[TEXT])
    return (await account.request("GET", f"/v1/pages/{created['page_id']}")).body


async def trashed_page(account: Account) -> str:
    """Create a row and move it into the trash through the operations."""
    database = await account.once(own_database)
    created = await account.call("create_page", database_id=database["id"], properties={"Name": TEXT})
    page_id: str = created["page_id"]
    await account.call("update_page", page_id=page_id, archived=True)
    return page_id


def paragraph(text: str) -> Any:
    """Return a block with *text*."""
    return {"object": "block", "type": "paragraph", "paragraph": {"rich_text": [{"text": {"content": text}}]}}


# Reads


@CHECKS.reads
async def _request_ids(account: Account) -> None:
    reply = await account.request("GET", "/v1/users/me")
    expect(reply.headers.get("x-notion-request-id", "no header"), reply.body.get("request_id", "no field"))


@CHECKS.reads
async def _own_bot_user(account: Account) -> None:
    reply = await account.request("GET", "/v1/users/me")
    expect(("user", "bot"), (reply.body["object"], reply.body["type"]))


@CHECKS.reads
async def _clock_in_date(account: Account) -> None:
    reply = await account.request("GET", "/v1/users/me")
    expect("GMT", reply.headers.get("date", "no header")[-3:])


@CHECKS.reads
async def _own_events(account: Account) -> None:
    await account.call("read_events", limit=1)
    reply = await account.request("GET", "/v1/users/me")
    expect(True, bool(reply.body["bot"]["workspace_name"]))


@CHECKS.reads
async def _unknown_is_404(account: Account) -> None:
    reply = await account.request("GET", f"/v1/databases/{uuid4()}")
    expect((404, "object_not_found"), failed_with(reply))


@CHECKS.reads
async def _malformed_id_is_400(account: Account) -> None:
    reply = await account.request("GET", "/v1/pages/no-identifier")
    expect(INVALID, failed_with(reply))


@CHECKS.reads
async def _unknown_path_is_400(account: Account) -> None:
    reply = await account.request("GET", "/v1/no-such-path")
    expect((400, "invalid_request_url"), failed_with(reply))


@CHECKS.reads
async def _pages_of_100(account: Account) -> None:
    reply = await account.request("POST", "/v1/search", {"page_size": 101})
    expect(INVALID, failed_with(reply))


@CHECKS.reads
async def _invalid_cursor_is_400(account: Account) -> None:
    reply = await account.request("POST", "/v1/search", {"start_cursor": str(uuid4())})
    expect(INVALID, failed_with(reply))


@CHECKS.reads
async def _data_source_search(account: Account) -> None:
    await account.call("list_databases", limit=1)
    found = await account.once(sources)
    expect({"data_source"}, {one["object"] for one in found["results"]} or {"data_source"})


@CHECKS.reads
async def _search_newest_first(account: Account) -> None:
    times = [one["last_edited_time"] for one in (await account.once(sources))["results"]]
    expect(True, times == sorted(times, reverse=True))


@CHECKS.reads
async def _cursor_until_null(account: Account) -> None:
    found = await account.once(sources)
    expect(found["has_more"], found["next_cursor"] is not None)


@CHECKS.reads
async def _schema_in_source(account: Account) -> None:
    source = await account.once(first_source)
    expect((True, "database_id"), (isinstance(source["properties"], dict), source["parent"]["type"]))


@CHECKS.reads
async def _no_schema_in_database(account: Account) -> None:
    source = await account.once(first_source)
    reply = await account.request("GET", f"/v1/databases/{source['parent']['database_id']}")
    expect((True, False), ("data_sources" in reply.body, "properties" in reply.body))


@CHECKS.reads
async def _dashes_optional(account: Account) -> None:
    source_id = (await account.once(first_source))["id"]
    reply = await account.request("GET", f"/v1/data_sources/{source_id.replace('-', '')}")
    expect(True, reply.body.get("id") == source_id)


@CHECKS.reads
async def _precise_database_times(account: Account) -> None:
    source = await account.once(first_source)
    reply = await account.request("GET", f"/v1/databases/{source['parent']['database_id']}")
    expect("+00:00", reply.body["created_time"][-6:])


# Writes


@CHECKS.writes
async def _minute_times(account: Account) -> None:
    page = await account.once(own_page)
    expect({":00.000Z"}, {page[name][-8:] for name in ("created_time", "last_edited_time")})


@CHECKS.writes
async def _bot_is_author(account: Account) -> None:
    me = await account.request("GET", "/v1/users/me")
    expect(True, (await account.once(own_page))["created_by"]["id"] == me.body["id"])


@CHECKS.writes
async def _numbers_unchanged(account: Account) -> None:
    expect(0.1, float((await account.once(own_page))["properties"]["Number"]["number"]))


@CHECKS.writes
async def _urls_unchanged(account: Account) -> None:
    expect("HTTPS://Example.com/a b", (await account.once(own_page))["properties"]["Link"]["url"])


@CHECKS.writes
async def _parent_of_row(account: Account) -> None:
    parent = (await account.once(own_page))["parent"]
    expect(("data_source_id", True), (parent["type"], "database_id" in parent))


@CHECKS.writes
async def _query_without_lag(account: Account) -> None:
    page = await account.once(own_page)
    database = await account.once(own_database)
    found = await account.call("search_pages", database_id=database["id"], property="Name", value=TEXT)
    expect(True, page["id"] in {one["page_id"] for one in found["pages"]})


@CHECKS.writes
async def _minute_is_included(account: Account) -> None:
    page = await account.once(own_page)
    since = {"timestamp": "created_time", "created_time": {"on_or_after": page["created_time"]}}
    reply = await query(account, since)
    expect(True, page["id"] in {one["id"] for one in reply.body["results"]})


@CHECKS.writes
async def _select_filter_by_name(account: Account) -> None:
    reply = await query(account, {"property": "Choice", "select": {"equals": "no such option"}})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _filtered_properties(account: Account) -> None:
    page = await account.once(own_page)
    named = {"property": "Name", "title": {"is_not_empty": True}}
    reply = await query(account, named, filter_properties=page["properties"]["Number"]["id"])
    expect(True, "Text" not in reply.body["results"][0]["properties"])


@CHECKS.writes
async def _options_created_silently(account: Account) -> None:
    reply = await create_row(account, {"Choice": {"select": {"name": "second"}}})
    expect(200, reply.status)


@CHECKS.writes
async def _unknown_property_is_400(account: Account) -> None:
    reply = await create_row(account, {"No such property": {"number": 1}})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _wrong_type_is_400(account: Account) -> None:
    reply = await create_row(account, {"Number": {"number": "no number"}})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _blocks_in_array(account: Account) -> None:
    reply = await create_row(account, children=[paragraph(TEXT)] * 101)
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _text_of_2000(account: Account) -> None:
    reply = await create_row(account, {"Text": {"rich_text": [{"text": {"content": "a" * (LONG + 1)}}]}})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _text_in_utf16_units(account: Account) -> None:
    reply = await create_row(account, {"Text": {"rich_text": [{"text": {"content": "\N{WAVING HAND SIGN}" * LONG}}]}})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _appended_at_end(account: Account) -> None:
    path = f"/v1/blocks/{(await account.once(own_page))['id']}/children"
    body = {"children": [paragraph("one"), paragraph("two")], "position": {"type": "end"}}
    appended = (await account.request("PATCH", path, body)).body["results"]
    listed = (await account.request("GET", path)).body["results"]
    expect(True, [one["id"] for one in appended] == [one["id"] for one in listed[1:]])


@CHECKS.writes
async def _archived_is_rejected(account: Account) -> None:
    page = await account.once(own_page)
    reply = await account.request("PATCH", f"/v1/pages/{page['id']}", {"archived": False})
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _null_clears_select(account: Account) -> None:
    page = await account.once(own_page)
    body = {"properties": {"Choice": {"select": None}}}
    reply = await account.request("PATCH", f"/v1/pages/{page['id']}", body)
    expect((200, None), (reply.status, reply.body["properties"]["Choice"]["select"]))


@CHECKS.writes
async def _trash_is_readable(account: Account) -> None:
    reply = await account.request("GET", f"/v1/pages/{await account.once(trashed_page)}")
    expect((200, True), (reply.status, reply.body.get("in_trash")))


@CHECKS.writes
async def _trash_is_read_only(account: Account) -> None:
    body = {"in_trash": True, "properties": {"Number": {"number": 2}}}
    reply = await account.request("PATCH", f"/v1/pages/{await account.once(trashed_page)}", body)
    expect(INVALID, failed_with(reply))


@CHECKS.writes
async def _trash_not_queried(account: Account) -> None:
    await account.once(own_page)
    page_id = await account.once(trashed_page)
    rows = (await query(account, {"property": "Name", "title": {"is_not_empty": True}})).body["results"]
    expect((False, {False}), (page_id in {one["id"] for one in rows}, {one["in_trash"] for one in rows}))
