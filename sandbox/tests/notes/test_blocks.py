"""Blocks of the notes emulator."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from sandbox.tests.notes.notes_client import Notes, paragraph, text


def test_blocks_are_created_with_a_page_and_appended_later(notes: Notes) -> None:
    callout = {"callout": {"rich_text": text("note"), "icon": {"type": "emoji", "emoji": "🔔"}}}
    bullet = {"bulleted_list_item": {"rich_text": text("one")}}
    page = notes.create({}, children=[paragraph("Hello"), bullet])
    path = f"/v1/blocks/{page['id']}/children"

    appended = notes.request("PATCH", path, {"children": [callout], "position": {"type": "end"}})
    children = notes.request("GET", path)

    assert "block" == appended["type"] == children["type"]
    assert ["paragraph", "bulleted_list_item", "callout"] == [block["type"] for block in children["results"]]
    assert {"type": "emoji", "emoji": "🔔"} == appended["results"][0]["callout"]["icon"]
    assert "Hello" == children["results"][0]["paragraph"]["rich_text"][0]["plain_text"]
    assert {"type": "page_id", "page_id": page["id"]} == children["results"][0]["parent"]


def test_blocks_can_be_inserted_at_the_start_and_after_another(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("a"), paragraph("b")])
    path = f"/v1/blocks/{page['id']}/children"
    first = notes.request("GET", path)["results"][0]["id"]
    behind = {"type": "after_block", "after_block": {"id": first}}

    notes.request("PATCH", path, {"children": [paragraph("start")], "position": {"type": "start"}})
    notes.request("PATCH", path, {"children": [paragraph("between")], "position": behind})
    older = notes.request(
        "PATCH", path, {"children": [paragraph("older")], "after": first}, headers={"Notion-Version": "2025-09-03"}
    )
    error = notes.error("PATCH", path, {"children": [paragraph("x")], "after": first})
    texts = [block["paragraph"]["rich_text"][0]["plain_text"] for block in notes.request("GET", path)["results"]]

    assert ["start", "a", "older", "between", "b"] == texts
    assert False is older["results"][0]["archived"]
    assert "body.after should be not present" in error[2]


def test_children_of_blocks_may_be_nested_twice(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("1", paragraph("2", paragraph("3")))])
    path = f"/v1/blocks/{page['id']}/children"
    (first,) = notes.request("GET", path)["results"]
    (second,) = notes.request("GET", f"/v1/blocks/{first['id']}/children")["results"]

    too_deep = notes.error(
        "PATCH", path, {"children": [paragraph("1", paragraph("2", paragraph("3", paragraph("4"))))]}
    )

    assert (True, True) == (first["has_children"], second["has_children"])
    assert {"type": "block_id", "block_id": first["id"]} == second["parent"]
    assert ".paragraph.children should be not present" in too_deep[2]


BAD_CHILDREN: list[Any] = [
    None,
    {},
    [paragraph("x")] * 101,
    [paragraph("x", *[paragraph("y", *[paragraph("z")] * 20)] * 10)] * 5,
    [paragraph("x" * 2001)],
    [{"paragraph": {}}],
    [{"type": "bulleted_list_item", "paragraph": {"rich_text": []}}],
    [{"mystery": {}}],
    [{"paragraph": {"rich_text": [], "surprise": 1}}],
    [paragraph("x") | {"archived": False}],
    ["plain"],
]


@pytest.mark.parametrize("children", BAD_CHILDREN, ids=range(len(BAD_CHILDREN)))
def test_invalid_blocks_are_rejected(notes: Notes, children: Any) -> None:
    path = f"/v1/blocks/{notes.examples['page_id']}/children"

    status, code, _ = notes.error("PATCH", path, {"children": children})

    assert (400, "validation_error") == (status, code)


def test_deleted_blocks_and_pages_move_to_the_trash(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("gone")])
    path = f"/v1/blocks/{page['id']}/children"
    (block,) = notes.request("GET", path)["results"]

    deleted = notes.request("DELETE", f"/v1/blocks/{block['id']}")
    trashed = notes.request("DELETE", f"/v1/blocks/{page['id']}")

    assert True is deleted["in_trash"] is notes.request("GET", f"/v1/blocks/{block['id']}")["in_trash"]
    assert [] == notes.request("GET", path)["results"]
    assert ("child_page", True) == (trashed["type"], trashed["in_trash"])


def test_appending_updates_the_last_edited_time_of_the_page(notes: Notes, clock: ManualClock) -> None:
    page_id = notes.examples["page_id"]

    notes.request("PATCH", f"/v1/blocks/{page_id}/children", {"children": [paragraph("x")]})

    assert "2026-10-05T14:07:00.000Z" == notes.request("GET", f"/v1/pages/{page_id}")["last_edited_time"]
