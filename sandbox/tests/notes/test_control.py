"""Throttling, faults and user actions of the notes emulator."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from sandbox.tests.notes.notes_client import Notes, pair, plain, status_with, title


def test_a_burst_is_accepted_and_then_three_requests_per_second(notes: Notes, clock: ManualClock) -> None:
    notes.set_knobs(limits=True)
    burst = [notes.http.get("/v1/users/me").status_code for _ in range(11)]
    throttled = notes.http.get("/v1/users/me")
    clock.at += int(throttled.headers["Retry-After"])
    later = [notes.http.get("/v1/users/me").status_code for _ in range(4)]

    assert burst == [200] * 10 + [429]
    assert "1" == throttled.headers["Retry-After"]
    assert "rate_limited" == throttled.json()["code"]
    assert "public_api_request_rate_limit" == throttled.json()["additional_data"]["rate_limit_reason"]
    assert [200, 200, 200, 429] == later


def test_each_token_has_its_own_budget(notes: Notes, clock: ManualClock) -> None:
    other = pair(notes)["access_token"]
    notes.set_knobs(limits=True)
    spent = [notes.http.get("/v1/users/me").status_code for _ in range(11)]

    assert 429 == spent[-1]
    assert 200 == status_with(notes, other)


def test_the_examples_are_consistent(notes: Notes) -> None:
    examples = notes.examples
    page = notes.request("GET", f"/v1/pages/{examples['page_id']}")
    database = notes.request("GET", f"/v1/databases/{examples['database_id']}")

    assert examples["title"] == title(page)
    assert examples["data_source_id"] == page["parent"]["data_source_id"] == database["data_sources"][0]["id"]
    assert examples["database_id"] == page["parent"]["database_id"]
    assert 52 == len(notes.rows(examples["data_source_id"]))


def test_user_actions_create_and_update_pages(notes: Notes) -> None:
    values = {"Name": "By hand", "Value": 5, "Stage": "Hand-made", "Tags": ["eu", "new"], "Due": "2026-01-02"}
    people = {"Owner": ["Ada Lindqvist"], "Hot": True, "Status": "Done", "Email": "a@example.com"}

    created = notes.perform(
        action="create_page", database_id=notes.examples["database_id"], properties=values | people
    ).json()
    notes.perform(action="update_page", page_id=created["page_id"], properties={"Value": None, "Name": "Renamed"})
    page = notes.request("GET", f"/v1/pages/{created['page_id']}")
    me = notes.request("GET", "/v1/users/me")

    assert ("Renamed", None, "Hand-made") == (title(page), plain(page, "Value"), plain(page, "Stage"))
    assert ("Done", True, "2026-01-02") == (plain(page, "Status"), plain(page, "Hot"), plain(page, "Due"))
    assert ["eu", "new"] == [option["name"] for option in plain(page, "Tags")]
    assert ["Ada Lindqvist"] == [user["name"] for user in plain(page, "Owner")]
    assert me["id"] not in {page["created_by"]["id"], page["last_edited_by"]["id"]}


def test_user_actions_trash_restore_and_rename(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    notes.perform(action="trash_page", page_id=notes.examples["page_id"])
    trashed = notes.request("GET", path)["in_trash"]
    notes.perform(action="restore_page", page_id=notes.examples["page_id"])
    notes.perform(action="rename_property", database_id=notes.examples["database_id"], property="Stage", name="Phase")
    page = notes.request("GET", path)

    assert (True, False) == (trashed, page["in_trash"])
    assert "Phase" in page["properties"]
    assert "Stage" not in page["properties"]


@pytest.mark.parametrize("actions", [["create_page"], ["update_page"], ["trash_page"], ["trash_page", "restore_page"]])
def test_a_user_action_updates_the_last_edited_time(notes: Notes, clock: ManualClock, actions: list[str]) -> None:
    target = {"page_id": notes.examples["page_id"], "database_id": notes.examples["database_id"]}
    results = [notes.perform(action=action, properties={"Value": 1}, **target).json() for action in actions]
    page = notes.request("GET", f"/v1/pages/{results[-1]['page_id']}")

    assert "2026-10-05T14:07:00.000Z" == page["last_edited_time"]


def test_renaming_an_option_changes_neither_its_id_nor_the_edit_time(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    before = notes.request("GET", path)
    stage = before["properties"]["Stage"]["select"]
    result = notes.perform(
        action="rename_option",
        database_id=notes.examples["database_id"],
        property="Stage",
        option=stage["name"],
        name="Somewhere",
    ).json()
    after = notes.request("GET", path)

    assert stage | {"name": "Somewhere"} == after["properties"]["Stage"]["select"]
    assert stage["id"] == result["option_id"]
    assert before["last_edited_time"] == after["last_edited_time"]


def test_an_added_property_is_empty_and_writable(notes: Notes) -> None:
    database_id, path = notes.examples["database_id"], f"/v1/pages/{notes.examples['page_id']}"
    result = notes.perform(
        action="add_property", database_id=database_id, name="Region", type="select", options=["North", "South"]
    ).json()
    empty = notes.request("GET", path)["properties"]["Region"]
    notes.perform(action="update_page", page_id=notes.examples["page_id"], properties={"Region": "South"})
    columns = notes.request("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]

    assert {"id": result["property_id"], "type": "select", "select": None} == empty
    assert ["North", "South"] == [option["name"] for option in columns["Region"]["select"]["options"]]
    assert "South" == plain(notes.request("GET", path), "Region")


@pytest.mark.parametrize(
    "action",
    [
        {"action": "rename_property", "property": "Nope", "name": "Phase"},
        {"action": "rename_property", "property": "Stage", "name": "Value"},
        {"action": "rename_property", "property": "Stage"},
        {"action": "rename_option", "property": "Stage", "option": "Nope", "name": "Gained"},
        {"action": "rename_option", "property": "Stage", "option": "Won", "name": "Lost"},
        {"action": "rename_option", "property": "Stage", "option": "Won", "name": "a,b"},
        {"action": "rename_option", "property": "Value", "option": "Won", "name": "Gained"},
        {"action": "add_property", "name": "Stage", "type": "select"},
        {"action": "add_property", "name": "Sum", "type": "rollup"},
        {"action": "add_property", "name": "Sum", "type": "select", "options": "North"},
        {"action": "add_property", "name": "", "type": "number"},
    ],
)
def test_invalid_schema_changes_are_rejected(notes: Notes, action: dict[str, Any]) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}"
    before = notes.request("GET", path)["properties"]

    response = notes.perform(database_id=notes.examples["database_id"], **action)

    assert 422 == response.status_code
    assert before == notes.request("GET", path)["properties"]


@pytest.mark.parametrize(
    "action",
    [
        {"action": "create_page", "database_id": "nowhere", "properties": {}},
        {"action": "update_page", "page_id": "nowhere", "properties": {}},
        {"action": "trash_page"},
    ],
)
def test_an_invalid_user_action_is_rejected(notes: Notes, action: dict[str, Any]) -> None:
    assert 422 == notes.perform(**action).status_code


@pytest.mark.parametrize("properties", [None, {"Nope": 1}, {"Status": "Someday"}, {"Value": "many"}])
def test_an_invalid_property_value_of_a_user_action_is_rejected(notes: Notes, properties: Any) -> None:
    response = notes.perform(action="update_page", page_id=notes.examples["page_id"], properties=properties)

    assert 422 == response.status_code
