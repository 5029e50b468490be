"""Pages of the notes emulator: changed, trashed, restored, and values too long for them."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from sandbox.tests.notes.notes_client import Notes, paragraph, plain


def test_an_update_changes_only_the_named_properties(notes: Notes, clock: ManualClock) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    before = notes.request("GET", path)

    after = notes.request("PATCH", path, {"properties": {"Value": {"number": 1}, "Due": {"date": None}}})

    assert (1, None) == (plain(after, "Value"), plain(after, "Due"))
    assert before["properties"]["Stage"] == after["properties"]["Stage"]
    assert before["created_time"] == after["created_time"]
    assert "2026-10-05T14:07:00.000Z" == after["last_edited_time"]
    assert after["properties"]["Score"]["formula"]["number"] // 1 == 1 or plain(after, "Score")


@pytest.mark.parametrize(
    ("name", "cleared", "read"),
    [
        ("Name", {"title": []}, []),
        ("Stage", {"select": None}, None),
        ("Tags", {"multi_select": []}, []),
        ("Value", {"number": None}, None),
        ("Email", {"email": None}, None),
        ("Owner", {"people": []}, []),
        ("Status", {"status": None}, "Not started"),
    ],
)
def test_null_clears_a_value_and_resets_a_status(notes: Notes, name: str, cleared: Any, read: Any) -> None:
    page = notes.request("PATCH", f"/v1/pages/{notes.examples['page_id']}", {"properties": {name: cleared}})

    assert read == plain(page, name)


def test_a_trashed_page_is_readable_hidden_and_read_only_until_restored(notes: Notes) -> None:
    page_id, source_id = notes.examples["page_id"], notes.examples["data_source_id"]
    path = f"/v1/pages/{page_id}"
    trashed = notes.request("PATCH", path, {"in_trash": True})
    read = notes.request("GET", path)
    rows = [row["id"] for row in notes.rows(source_id)]
    matches = notes.request("POST", "/v1/search", {"query": notes.examples["title"]})["results"]
    edit = notes.error("PATCH", path, {"properties": {"Value": {"number": 1}}})
    append = notes.error("PATCH", f"/v1/blocks/{page_id}/children", {"children": [paragraph("x")]})
    restored = notes.request("PATCH", path, {"in_trash": False})

    assert trashed["in_trash"] is read["in_trash"] is True
    assert page_id not in rows
    assert page_id not in [raw["id"] for raw in matches]
    assert (400, "validation_error") == edit[:2] == append[:2]
    assert "archived" in edit[2]
    assert False is restored["in_trash"]
    assert page_id in [row["id"] for row in notes.rows(source_id)]


def test_values_may_be_written_while_trashing(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"

    page = notes.request("PATCH", path, {"properties": {"Value": {"number": 3}}, "in_trash": True})

    assert (3, True) == (plain(page, "Value"), page["in_trash"])


def test_trashed_pages_can_be_searched_and_queried(notes: Notes) -> None:
    body = {"filter": {"property": "object", "value": "page", "in_trash": True}}

    matches = notes.request("POST", "/v1/search", body)["results"]
    rows = notes.rows(notes.examples["data_source_id"], in_trash=True)

    assert 4 == len(matches)
    assert 3 == len(rows)
    assert all(raw["in_trash"] for raw in matches + rows)


def test_only_older_versions_accept_archived(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"

    error = notes.error("PATCH", path, {"archived": True})
    page = notes.request("PATCH", path, {"archived": True}, headers={"Notion-Version": "2025-09-03"})

    assert "body failed validation: body.archived should be not present, instead was `true`." == error[2]
    assert page["in_trash"] is page["archived"] is True


def test_icon_cover_and_lock_can_be_set(notes: Notes) -> None:
    cover = {"type": "external", "external": {"url": "https://example.com/c.png"}}
    path = f"/v1/pages/{notes.examples['page_id']}"

    page = notes.request("PATCH", path, {"icon": {"emoji": "🛴"}, "cover": cover, "is_locked": True})
    bare = notes.request("PATCH", path, {"icon": None})

    assert {"type": "emoji", "emoji": "🛴"} == page["icon"]
    assert (cover, True) == (page["cover"], page["is_locked"])
    assert None is bare["icon"]


def test_an_unshared_page_is_not_found(notes: Notes) -> None:
    unshared = notes.emulator.workspace.databases[notes.examples["unshared_database_id"]]
    page_id = notes.emulator.workspace.sources[unshared.source_ids[0]].rows[0]

    status, code, _ = notes.error("PATCH", f"/v1/pages/{page_id}", {"in_trash": True})

    assert (404, "object_not_found") == (status, code)


@pytest.mark.parametrize(("name", "total", "included"), [("Relation", 40, 25), ("People", 30, 25), ("Text", 31, 25)])
def test_a_page_truncates_references_and_its_property_lists_all(
    notes: Notes, everything: list[dict[str, Any]], name: str, total: int, included: int
) -> None:
    page = next(row for row in everything if row["properties"]["Relation"]["has_more"])
    prop = page["properties"][name]
    path = f"/v1/pages/{page['id']}/properties/{prop['id']}"

    first = notes.request("GET", path, params={"page_size": "20"})
    second = notes.request("GET", first["property_item"]["next_url"].removeprefix(notes.address))
    items = first["results"] + second["results"]

    assert included == len(prop[prop["type"]])
    assert total == len(items)
    assert {"property_item"} == {item["object"] for item in items}
    assert prop[prop["type"]] == [item[prop["type"]] for item in items[:included]]
    assert (prop["id"], prop["type"]) == (second["property_item"]["id"], second["property_item"]["type"])
    assert None is second["property_item"]["next_url"]


def test_a_single_value_property_is_returned_as_one_object(notes: Notes) -> None:
    page = notes.request("GET", f"/v1/pages/{notes.examples['page_id']}")

    item = notes.request("GET", f"/v1/pages/{page['id']}/properties/{page['properties']['Value']['id']}")

    assert {"object": "property_item", "id": page["properties"]["Value"]["id"], "type": "number"} == {
        key: item[key] for key in ("object", "id", "type")
    }
    assert plain(page, "Value") == item["number"]


def test_an_unknown_property_has_no_values(notes: Notes) -> None:
    status, code, _ = notes.error("GET", f"/v1/pages/{notes.examples['page_id']}/properties/nope")

    assert (400, "validation_error") == (status, code)
