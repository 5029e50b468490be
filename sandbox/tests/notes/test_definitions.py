"""Databases and data sources that programs define, pages that are moved, and blocks that are rewritten."""

from collections.abc import Iterator
from typing import Any

import pytest
from notion_client import Client
from notion_client.helpers import is_full_block, is_full_data_source, is_full_database, is_full_page

from sandbox.tests.notes.notes_client import VERSION, Notes, paragraph, text

OLD = {"Notion-Version": "2022-06-28"}


@pytest.fixture
def notion(notes: Notes) -> Iterator[Any]:
    """The vendor's library. Its results are typed as possibly awaitable, so they are untyped here."""
    with Client(
        base_url=notes.address, auth=notes.emulator.credentials()["token"], notion_version=VERSION, retry=False
    ) as sdk:
        yield sdk


def title(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": {"content": content}}]


def below(notes: Notes) -> dict[str, str]:
    return {"type": "page_id", "page_id": notes.examples["page_id"]}


def defined(notes: Notes, **columns: Any) -> Any:
    """A data source of a new database, with a title and *columns*."""
    first = {"properties": {"Name": {"title": {}}, **columns}}
    database = notes.request("POST", "/v1/databases", {"parent": below(notes), "initial_data_source": first})
    return notes.request("GET", f"/v1/data_sources/{database['data_sources'][0]['id']}")


def row(notes: Notes, source: Any, **properties: Any) -> Any:
    body = {"parent": {"data_source_id": source["id"]}, "properties": {"Name": {"title": text("Row")}, **properties}}
    return notes.request("POST", "/v1/pages", body)


def reshaped(notes: Notes, source: Any, **columns: Any) -> Any:
    return notes.request("PATCH", f"/v1/data_sources/{source['id']}", {"properties": columns})


def test_the_sdk_creates_fills_updates_and_trashes_a_database(notes: Notes, notion: Any) -> None:
    first = {
        "Name": {"title": {}},
        "Price": {"number": {"format": "euro"}},
        "State": {"select": {"options": [{"name": "New", "color": "green"}]}},
    }
    database = notion.databases.create(
        parent=below(notes), title=title("Groceries"), initial_data_source={"properties": first}, is_inline=True
    )
    source_id = database["data_sources"][0]["id"]
    page = notion.pages.create(
        parent={"data_source_id": source_id},
        properties={"Name": {"title": title("Tea")}, "Price": {"number": 4.5}, "State": {"select": {"name": "New"}}},
    )
    source = notion.data_sources.update(
        data_source_id=source_id,
        title=title("Food"),
        properties={"Price": {"name": "Cost"}, "Tags": {"multi_select": {"options": []}}, "State": None},
    )
    second = notion.data_sources.create(
        parent={"type": "database_id", "database_id": database["id"]}, properties={"Title": {"title": {}}}
    )
    trashed = notion.databases.update(database_id=database["id"], title=title("Old"), in_trash=True)

    assert is_full_database(database)
    assert is_full_data_source(source)
    assert ("Food", ["Name", "Cost", "Tags"]) == (source["title"][0]["plain_text"], list(source["properties"]))
    assert "euro" == source["properties"]["Cost"]["number"]["format"]
    assert 4.5 == notion.pages.retrieve(page_id=page["id"])["properties"]["Cost"]["number"]
    assert [source_id, second["id"]] == [one["id"] for one in trashed["data_sources"]]
    assert ("Old", True, True) == (trashed["title"][0]["plain_text"], trashed["in_trash"], trashed["is_inline"])
    assert {"templates": [], "has_more": False, "next_cursor": None} == {
        key: value
        for key, value in notion.data_sources.list_templates(data_source_id=source_id).items()
        if key != "request_id"
    }


def test_the_sdk_updates_blocks_and_moves_pages(notes: Notes, notion: Any) -> None:
    page = notes.create({}, children=[paragraph("Before"), {"to_do": {"rich_text": text("Task")}}])
    first, task = notion.blocks.children.list(block_id=page["id"])["results"]
    rewritten = notion.blocks.update(block_id=first["id"], paragraph={"rich_text": title("After")})
    done = notion.blocks.update(block_id=task["id"], to_do={"checked": True})
    trashed = notion.blocks.update(block_id=first["id"], in_trash=True)
    moved = notion.pages.move(page_id=page["id"], parent=below(notes))

    assert is_full_block(rewritten)
    assert "After" == rewritten["paragraph"]["rich_text"][0]["plain_text"]
    assert ("Task", True) == (done["to_do"]["rich_text"][0]["plain_text"], done["to_do"]["checked"])
    assert trashed["in_trash"]
    assert is_full_page(moved)
    assert below(notes) == moved["parent"]
    assert {"title"} == moved["properties"].keys()
    assert page["id"] in {
        block["id"] for block in notion.blocks.children.list(block_id=below(notes)["page_id"])["results"]
    }


def test_other_block_types_are_appended(notes: Notes) -> None:
    page = notes.create({})
    rows = [{"table_row": {"cells": [text("a"), text("b")]}}]
    children = [
        {"bookmark": {"url": "https://example.com"}},
        {"image": {"type": "external", "external": {"url": "https://example.com/a.png"}}},
        {"equation": {"expression": "e=mc^2"}},
        {"table_of_contents": {}},
        {"table": {"table_width": 2, "has_column_header": True, "children": rows}},
    ]
    blocks = notes.request("PATCH", f"/v1/blocks/{page['id']}/children", {"children": children})["results"]
    error = notes.error("PATCH", f"/v1/blocks/{page['id']}/children", {"children": [{"bookmark": {}}]})

    assert ["bookmark", "image", "equation", "table_of_contents", "table"] == [block["type"] for block in blocks]
    assert {"url": "https://example.com", "caption": []} == blocks[0]["bookmark"]
    assert blocks[4]["has_children"]
    assert "body.children[0].bookmark.url should be defined" in error[2]


def test_an_older_version_gives_a_database_its_columns(notes: Notes) -> None:
    body = {"parent": below(notes), "title": text("Older"), "properties": {"Name": {"title": {}}, "On": {"date": {}}}}
    database = notes.request("POST", "/v1/databases", body, headers=OLD)
    changed = notes.request(
        "PATCH",
        f"/v1/databases/{database['id']}",
        {"properties": {"On": {"name": "Day"}, "Done": {"checkbox": {}}}, "archived": False},
        headers=OLD,
    )

    assert {"Name", "On"} == database["properties"].keys()
    assert ["Name", "Day", "Done"] == list(changed["properties"])
    assert (400, "invalid_request_url") == notes.error("POST", "/v1/data_sources", {}, headers=OLD)[:2]


def test_omitted_options_are_removed_and_named_options_remain(notes: Notes) -> None:
    source = defined(notes, Kind={"select": {"options": [{"name": "A"}, {"name": "B"}]}})
    remaining, gone = (row(notes, source, Kind={"select": {"name": name}}) for name in "AB")
    changed = reshaped(notes, source, Kind={"select": {"options": [{"name": "A"}, {"name": "C", "color": "red"}]}})
    before, after = (one["properties"]["Kind"]["select"]["options"] for one in (source, changed))

    assert [before[0]["id"], "C"] == [after[0]["id"], after[1]["name"]]
    assert ["A", None] == [
        (notes.request("GET", f"/v1/pages/{page['id']}")["properties"]["Kind"]["select"] or {}).get("name")
        for page in (remaining, gone)
    ]


def test_a_new_column_fills_existing_rows(notes: Notes) -> None:
    source = defined(notes)
    page = row(notes, source)
    reshaped(notes, source, No={"unique_id": {"prefix": "T"}}, State={"status": {}})
    properties = notes.request("GET", f"/v1/pages/{page['id']}")["properties"]

    assert {"prefix": "T", "number": 1} == properties["No"]["unique_id"]
    assert "Not started" == properties["State"]["status"]["name"]


def test_a_moved_page_retains_matching_properties(notes: Notes) -> None:
    old, new = (defined(notes, Price={"number": {}}, Empty={"rich_text": {}}) for _ in range(2))
    related = defined(notes, Of={"relation": {"data_source_id": new["id"], "single_property": {}}})
    page = row(notes, old, Price={"number": 3})
    moved = notes.request("POST", f"/v1/pages/{page['id']}/move", {"parent": {"data_source_id": new["id"]}})

    assert (new["id"], 3) == (moved["parent"]["data_source_id"], moved["properties"]["Price"]["number"])
    assert [] == notes.request("POST", f"/v1/data_sources/{old['id']}/query", {})["results"]
    assert [{"id": page["id"]}] == row(notes, related, Of={"relation": [{"id": page["id"]}]})["properties"]["Of"][
        "relation"
    ]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, "Title is not provided"),
        ({"A": {"title": {}}, "B": {"title": {}}}, "more than once"),
        ({"A": {"title": {}}, "B": {"nothing": {}}}, "B.nothing should be defined"),
        ({"A": {"title": {}}, "B": {"formula": {"expression": "1"}}}, "properties of type formula"),
        ({"A": {"title": {}}, "B": {"select": {"options": [{"name": "x"}, {"name": "x"}]}}}, "x already"),
        ({"A": {"title": {}}, "B": {"select": {"options": [{"name": "x", "color": "mauve"}]}}}, "color should be"),
    ],
)
def test_invalid_columns_are_rejected_without_a_change(notes: Notes, columns: dict[str, Any], expected: str) -> None:
    children = f"/v1/blocks/{notes.examples['page_id']}/children"
    before = notes.request("GET", children)["results"]
    body = {"parent": below(notes), "initial_data_source": {"properties": columns}}

    assert expected in notes.error("POST", "/v1/databases", body)[2]
    assert before == notes.request("GET", children)["results"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"Name": None}, "Cannot delete the title"),
        ({"Nope": None}, "not a property that exists"),
        ({"Name": {"checkbox": {}}}, "title"),
        ({"A": {"name": "Name"}}, "Name already"),
    ],
)
def test_invalid_column_changes_are_rejected(notes: Notes, columns: dict[str, Any], expected: str) -> None:
    source = defined(notes, A={"number": {}})

    assert expected in notes.error("PATCH", f"/v1/data_sources/{source['id']}", {"properties": columns})[2]


def test_moving_a_page_into_itself_and_updating_it_as_a_block_are_rejected(notes: Notes) -> None:
    page = notes.create({})

    assert "into itself" in notes.error("POST", f"/v1/pages/{page['id']}/move", {"parent": {"page_id": page["id"]}})[2]
    assert "not supported" in notes.error("PATCH", f"/v1/blocks/{page['id']}", {"paragraph": {}})[2]


def test_new_databases_and_moves_emit_events(notes: Notes) -> None:
    event_types: list[str] = []
    notes.emulator.workspace.emit = lambda change: event_types.append(change.type)
    source = defined(notes)
    page = notes.create({})
    notes.request("POST", f"/v1/pages/{page['id']}/move", {"parent": {"data_source_id": source["id"]}})
    reshaped(notes, source, New={"url": {}})

    assert [
        "database.created",
        "data_source.created",
        "page.created",
        "page.moved",
        "data_source.schema_updated",
    ] == event_types
