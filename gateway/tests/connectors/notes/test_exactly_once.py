"""Writes with a key create exactly one page, and errors report partial results."""

from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from gateway.tests.connectors.notes.page_calls import (
    BLOCKS,
    PAGES,
    count_pages,
    create,
    get_block_texts,
    get_workspace,
    inject_status,
    list_writes,
    new_name,
    update,
)
from harness.gateway_server import Gateway, Reply, Restarting, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from sandbox.tests.notes.notes_client import Notes, text
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data import page_edits
from workspace_sandbox.notes.data.state import User, Workspace

HTML = "<html><body>Bad Gateway</body></html>"
TIED = "This says the same."
LINES = [f"line {number}" for number in range(250)]


@pytest.fixture
def workspace(gateway: Gateway) -> Workspace:
    """The emulator's workspace."""
    return get_workspace(gateway)


@pytest.fixture
def person(workspace: Workspace) -> User:
    """A person with an account at the vendor."""
    return next(user for user in workspace.users.values() if user.kind == "person")


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A new page for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


def get_value(workspace: Workspace, page_id: str, name: str) -> Any:
    """Return a page's value of a property."""
    page = workspace.pages[page_id]
    source = workspace.get_source(page)
    assert source is not None
    prop = source.find(name)
    assert prop is not None
    return page.values.get(prop.id)


def list_create_statuses(gateway: Gateway) -> list[int | None]:
    """Return the vendor's status for each creation."""
    return [status for method, path, status in gateway.journal("notes") if (method, path) == ("POST", PAGES)]


# Recognition of created pages


@requirement("notes-20")
@pytest.mark.parametrize("fault", [{"fault": "drop_before"}, {"fault": "status", "status": 500}])
@pytest.mark.parametrize("properties", [{"Stage": "Open"}, {}])
def test_page_of_a_colleague_is_not_taken_for_ours(
    gateway: Gateway, leads: str, properties: dict[str, Any], fault: dict[str, Any]
) -> None:
    gateway.fault("notes", method="POST", path=PAGES, **fault)
    colleague_page_id = gateway.act("notes", action="create_page", database_id=leads, properties=properties)["page_id"]
    key = new_name()
    first = gateway.post("/notes/pages", database_id=leads, properties=properties, idempotency_key=key)
    again = gateway.post("/notes/pages", database_id=leads, properties=properties, idempotency_key=key)

    assert 502 == first.status
    assert colleague_page_id != again.data["page_id"]


@requirement("notes-20")
@pytest.mark.parametrize(
    "more",
    [
        {"properties": {"Value": {"number": 0}}},
        {"properties": {"Hot": {"checkbox": True}}},
        {"properties": {"Status": {"status": {"name": "Done"}}}},
        {"properties": {"Due": {"date": {"start": "2026-11-02", "end": "2026-11-03"}}}},
        {"icon": {"type": "emoji", "emoji": "💡"}},
        {"children": [{"paragraph": {"rich_text": text("More")}}]},
    ],
)
def test_page_with_additional_content_is_not_taken_for_ours(gateway: Gateway, leads: str, more: dict[str, Any]) -> None:
    name = new_name()
    direct = Notes(gateway.sandbox)
    direct.examples = gateway.examples("notes")
    other_id = direct.create({"Name": {"title": text(name)}} | more.get("properties", {}), **_without_properties(more))[
        "id"
    ]
    direct.close()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert other_id != again.data["page_id"]


def _without_properties(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "properties"}


@requirement("notes-20")
def test_page_from_before_the_call_is_not_taken_for_its_result(
    gateway: Gateway, leads: str, workspace: Workspace
) -> None:
    direct = Notes(gateway.sandbox)
    direct.examples = gateway.examples("notes")
    earlier_id = direct.create()["id"]
    direct.close()
    workspace.pages[earlier_id].created_at -= 125
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    key = new_name()
    gateway.post("/notes/pages", database_id=leads, properties={}, idempotency_key=key)
    again = gateway.post("/notes/pages", database_id=leads, properties={}, idempotency_key=key)

    assert earlier_id != again.data["page_id"]


@requirement("notes-20")
def test_page_is_recognised_by_its_first_blocks(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    gateway.fault("notes", method="GET", path=BLOCKS, fault="status", status=500, times=6)
    create(gateway, leads, name, idempotency_key=f"{name} 1", children=["One"])
    gateway.clear("notes")
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    create(gateway, leads, name, idempotency_key=f"{name} 2", children=["Two"])
    two = create(gateway, leads, name, idempotency_key=f"{name} 2")
    one = create(gateway, leads, name, idempotency_key=f"{name} 1")

    assert ["One"] == get_block_texts(gateway, one.data["page_id"])
    assert ["Two"] == get_block_texts(gateway, two.data["page_id"])
    assert 2 == count_pages(gateway, leads, name)


@requirement("notes-21")
def test_truncated_listing_leaves_the_outcome_unknown(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    gateway.knob("notes", row_cap=0)
    first = create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)
    gateway.clear("notes")
    late = create(gateway, leads, name, idempotency_key=name)

    assert ((502, "outcome_unknown"), (502, "outcome_unknown")) == (
        (first.status, first.code),
        (again.status, again.code),
    )
    assert 200 == late.status
    assert 1 == count_pages(gateway, leads, name)


def test_lost_response_is_resolved_after_each_sandbox_reset(tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}) as gateway,
    ):
        leads = str(gateway.examples("notes")["database_id"])
        for _ in range(3):
            sandbox.reset()
            gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")

            assert 200 == create(gateway, leads, "Again", idempotency_key=new_name()).status


# Appended blocks


def test_unkeyed_call_reports_the_page_of_lost_blocks(gateway: Gateway, leads: str) -> None:
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="drop_before")
    reply = create(gateway, leads, new_name(), children=LINES)

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert LINES[:100] == get_block_texts(gateway, reply.details[0]["page_id"])


@requirement("notes-22")
def test_retry_completes_a_rejected_body_on_the_same_page(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="delay", seconds=0)
    inject_status(gateway, "PATCH", BLOCKS, 400, body={"object": "error", "code": "validation_error"})
    rejected = create(gateway, leads, name, children=LINES, idempotency_key=name)
    created = create(gateway, leads, name, children=LINES, idempotency_key=name)

    assert (422, "upstream_refused") == (rejected.status, rejected.code)
    assert [
        {"vendor_code": "validation_error"},
        {"done": "create the page", "page_id": created.data["page_id"]},
        {"done": "append blocks", "blocks": 200},
    ] == rejected.facts
    assert LINES == get_block_texts(gateway, created.data["page_id"])
    assert 1 == count_pages(gateway, leads, name)


@requirement("notes-17")
@pytest.mark.parametrize("position", ["start", "end"])
def test_lost_blocks_are_not_confused_with_blocks_of_people(
    gateway: Gateway, leads: str, person: User, position: str
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="drop_before")
    first = create(gateway, leads, name, children=[TIED] * 102, idempotency_key=name)
    page_id = first.details[0]["page_id"]
    append_as_person(gateway, page_id, person, position)
    again = create(gateway, leads, name, idempotency_key=name)

    assert page_id == again.data["page_id"]
    assert [TIED] * 104 == get_block_texts(gateway, page_id)


@requirement("notes-17")
@pytest.mark.parametrize("position", ["start", "end"])
def test_written_blocks_are_recognised_among_blocks_of_people(
    gateway: Gateway, leads: str, person: User, position: str
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="slow_body", seconds=5.5)
    inject_status(gateway, "GET", BLOCKS, 500, times=6)
    first = create(gateway, leads, name, children=[TIED] * 102, idempotency_key=name)
    page_id = first.details[0]["page_id"]
    append_as_person(gateway, page_id, person, position)
    gateway.clear("notes")
    again = create(gateway, leads, name, idempotency_key=name)

    assert page_id == again.data["page_id"]
    assert [TIED] * 104 == get_block_texts(gateway, page_id)


def append_as_person(gateway: Gateway, page_id: str, person: User, position: str) -> None:
    """Append two lines to a page as a person, at its start or end."""
    workspace = get_workspace(gateway)
    lines = {"children": [{"paragraph": {"rich_text": text(TIED)}}] * 2, "position": {"type": position}}
    page_edits.append(workspace, workspace.pages[page_id], lines, person)


@requirement("notes-17")
def test_written_blocks_are_recognised_after_people_delete_others(
    gateway: Gateway, leads: str, workspace: Workspace
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="slow_body", seconds=5.5)
    inject_status(gateway, "GET", BLOCKS, 500, times=6)
    first = create(gateway, leads, name, children=LINES[:102], idempotency_key=name)
    page = workspace.pages[first.details[0]["page_id"]]
    del page.children[:10]
    gateway.clear("notes")
    again = create(gateway, leads, name, idempotency_key=name)

    assert 200 == again.status
    assert LINES[10:102] == get_block_texts(gateway, page.id)


@requirement("notes-22")
def test_created_but_unreadable_page_is_reported_and_not_duplicated(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.knob("notes", next_create="503_committed")
    inject_status(gateway, "GET", PAGES, 500, times=3, body=HTML)
    first = create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert (502, "upstream_error") == (first.status, first.code)
    assert [{"done": "create the page", "page_id": again.data["page_id"]}] == first.details
    assert 1 == count_pages(gateway, leads, name)


# Cached schemas


@requirement("notes-24")
def test_write_rejected_with_a_cached_schema_is_retried_with_the_current(gateway: Gateway, leads: str) -> None:
    name = new_name()
    create(gateway, leads, new_name())
    gateway.clear("notes")
    inject_status(gateway, "POST", PAGES, 400, body={"object": "error", "code": "validation_error"})
    created = create(gateway, leads, name, idempotency_key=name)

    assert 200 == created.status
    assert [400, 200] == list_create_statuses(gateway)


def test_write_rejected_with_a_current_schema_is_not_retried(
    gateway: Gateway, leads: str, restartable_gateway: Restarting
) -> None:
    inject_status(gateway, "POST", PAGES, 400, body={"object": "error", "code": "validation_error"})
    with restartable_gateway() as restarted:
        rejected = create(restarted, leads, new_name())

    assert (422, "upstream_refused") == (rejected.status, rejected.code)
    assert [400] == list_create_statuses(gateway)


# Guarded changes


LONG_AGO = "2020-01-01T00:00:00Z"


def update_guarded(gateway: Gateway, page_id: str, key: str) -> Reply:
    """Write a value and move the page to the trash, unless it was modified."""
    body = {"properties": {"Value": 8}, "archived": True, "if_unmodified_since": LONG_AGO}
    return update(gateway, page_id, headers={"Idempotency-Key": key}, **body)


def fail_second(gateway: Gateway, **fault: Any) -> None:
    """Make the second change of a page fail."""
    gateway.fault("notes", method="PATCH", path=PAGES, fault="delay", seconds=0)
    gateway.fault("notes", method="PATCH", path=PAGES, **fault)


@requirement("notes-22", "notes-32")
@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "status": 400, "body": {"object": "error", "code": "validation_error"}},
        {"fault": "drop_before"},
    ],
)
def test_own_first_change_does_not_count_as_a_modification(
    gateway: Gateway, page_id: str, workspace: Workspace, fault: dict[str, Any]
) -> None:
    workspace.pages[page_id].edited_at = 0
    key = new_name()
    fail_second(gateway, **fault)
    first = update_guarded(gateway, page_id, key)
    again = update_guarded(gateway, page_id, key)

    assert first.status in {422, 502}
    assert [{"done": "change the page", "page_id": page_id, "updated": ["Value"]}] == first.details[-1:]
    assert (True, ["Value"]) == (again.data["archived"], again.data["updated"])
    assert (8, True) == (get_value(workspace, page_id, "Value"), workspace.pages[page_id].in_trash)


@requirement("notes-22", "notes-32")
def test_foreign_change_between_both_steps_is_reported_with_the_done_step(
    gateway: Gateway, page_id: str, workspace: Workspace
) -> None:
    workspace.pages[page_id].edited_at = 0
    key = new_name()
    fail_second(gateway, fault="drop_before")
    update_guarded(gateway, page_id, key)
    gateway.act("notes", action="update_page", page_id=page_id, properties={"Value": 9})
    again = update_guarded(gateway, page_id, key)

    assert (409, "page_modified") == (again.status, again.code)
    assert {"done": "change the page", "page_id": page_id, "updated": ["Value"]} == again.details[-1]
    assert (9, False) == (get_value(workspace, page_id, "Value"), workspace.pages[page_id].in_trash)


@requirement("notes-30")
def test_change_in_doubt_is_not_resent_over_a_foreign_change(
    gateway: Gateway, page_id: str, workspace: Workspace
) -> None:
    workspace.pages[page_id].edited_at = 0
    header = {"Idempotency-Key": new_name()}
    guard = {"properties": {"Value": 1}, "if_unmodified_since": LONG_AGO}
    gateway.fault("notes", method="PATCH", path=PAGES, fault="drop_before")
    update(gateway, page_id, headers=header, **guard)
    gateway.act("notes", action="update_page", page_id=page_id, properties={"Value": 2})
    again = update(gateway, page_id, headers=header, **guard)

    assert (409, "page_modified") == (again.status, again.code)
    assert 2 == get_value(workspace, page_id, "Value")


@requirement("common-93")
@pytest.mark.parametrize(("fault", "write_count"), [("drop_before", 3), ("drop_after", 2)])
def test_both_steps_of_a_change_are_performed_once(
    gateway: Gateway, page_id: str, fault: str, write_count: int
) -> None:
    gateway.clear("notes")
    header = {"Idempotency-Key": new_name()}
    fail_second(gateway, fault=fault)
    update(gateway, page_id, headers=header, properties={"Value": 5}, archived=True)
    again = update(gateway, page_id, headers=header, properties={"Value": 5}, archived=True)

    assert (True, ["Value"]) == (again.data["archived"], again.data["updated"])
    assert write_count == len(list_writes(gateway))
