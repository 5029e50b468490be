"""Every keyed write makes one page, the right one, and nothing half done goes untold."""

from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from gateway.tests.connectors.notes.pages import (
    BLOCKS,
    PAGES,
    answers,
    body_of,
    create,
    found,
    new_name,
    update,
    workspace_of,
    writes,
)
from harness.gateway_server import Gateway, Reply, Restarting, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from sandbox.tests.notes.notes_client import Notes, text
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data import edits
from workspace_sandbox.notes.data.state import User, Workspace

HTML = "<html><body>Bad Gateway</body></html>"
TIED = "This says the same."
LINES = [f"line {number}" for number in range(250)]


@pytest.fixture
def workspace(gateway: Gateway) -> Workspace:
    """What the application holds."""
    return workspace_of(gateway)


@pytest.fixture
def person(workspace: Workspace) -> User:
    """Somebody who works in the application."""
    return next(user for user in workspace.users.values() if user.kind == "person")


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A page of its own for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


def value_of(workspace: Workspace, page_id: str, name: str) -> Any:
    """What a page holds."""
    page = workspace.pages[page_id]
    source = workspace.get_source(page)
    assert source is not None
    prop = source.find(name)
    assert prop is not None
    return page.values.get(prop.id)


def posts(gateway: Gateway) -> list[int | None]:
    """How the application answered each creation."""
    return [status for method, path, status in gateway.journal("notes") if (method, path) == ("POST", PAGES)]


# Whose a page is


@requirement("notes-20")
@pytest.mark.parametrize("fault", [{"fault": "drop_before"}, {"fault": "status", "status": 500}])
@pytest.mark.parametrize("properties", [{"Stage": "Open"}, {}])
def test_a_page_that_a_colleague_makes_is_never_taken_for_ours(
    gateway: Gateway, leads: str, properties: dict[str, Any], fault: dict[str, Any]
) -> None:
    gateway.fault("notes", method="POST", path=PAGES, **fault)
    by_hand = gateway.act("notes", action="create_page", database_id=leads, properties=properties)["page_id"]
    key = new_name()
    first = gateway.post("/notes/pages", database_id=leads, properties=properties, idempotency_key=key)
    again = gateway.post("/notes/pages", database_id=leads, properties=properties, idempotency_key=key)

    assert 502 == first.status
    assert by_hand != again.data["page_id"]


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
def test_a_page_that_has_more_than_was_written_is_not_ours(gateway: Gateway, leads: str, more: dict[str, Any]) -> None:
    name = new_name()
    direct = Notes(gateway.sandbox)
    direct.examples = gateway.examples("notes")
    other = direct.create({"Name": {"title": text(name)}} | more.get("properties", {}), **_beside(more))["id"]
    direct.close()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert other != again.data["page_id"]


def _beside(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "properties"}


@requirement("notes-20")
def test_a_page_of_ours_from_before_the_call_is_not_what_it_made(
    gateway: Gateway, leads: str, workspace: Workspace
) -> None:
    direct = Notes(gateway.sandbox)
    direct.examples = gateway.examples("notes")
    before = direct.create()["id"]
    direct.close()
    workspace.pages[before].created_at -= 125
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    key = new_name()
    gateway.post("/notes/pages", database_id=leads, properties={}, idempotency_key=key)
    again = gateway.post("/notes/pages", database_id=leads, properties={}, idempotency_key=key)

    assert before != again.data["page_id"]


@requirement("notes-20")
def test_a_page_is_known_by_its_first_blocks(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    gateway.fault("notes", method="GET", path=BLOCKS, fault="status", status=500, times=6)
    create(gateway, leads, name, idempotency_key=f"{name} 1", children=["One"])
    gateway.clear("notes")
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_before")
    create(gateway, leads, name, idempotency_key=f"{name} 2", children=["Two"])
    two = create(gateway, leads, name, idempotency_key=f"{name} 2")
    one = create(gateway, leads, name, idempotency_key=f"{name} 1")

    assert ["One"] == body_of(gateway, one.data["page_id"])
    assert ["Two"] == body_of(gateway, two.data["page_id"])
    assert 2 == found(gateway, leads, name)


@requirement("notes-21")
def test_a_listing_that_is_cut_off_is_no_evidence_that_nothing_was_made(gateway: Gateway, leads: str) -> None:
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
    assert 1 == found(gateway, leads, name)


def test_a_lost_answer_is_found_after_each_reset_of_the_sandbox(tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}) as gateway,
    ):
        leads = str(gateway.examples("notes")["database_id"])
        for _ in range(3):
            sandbox.reset()
            gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")

            assert 200 == create(gateway, leads, "Again", idempotency_key=new_name()).status


# Blocks that follow


def test_without_a_key_blocks_that_never_arrived_are_told_with_their_page(gateway: Gateway, leads: str) -> None:
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="drop_before")
    reply = create(gateway, leads, new_name(), children=LINES)

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert LINES[:100] == body_of(gateway, reply.details[0]["page_id"])


@requirement("notes-22")
def test_a_body_that_was_refused_is_told_and_completed_by_a_repeat_on_the_same_page(
    gateway: Gateway, leads: str
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="delay", seconds=0)
    answers(gateway, "PATCH", BLOCKS, 400, body={"object": "error", "code": "validation_error"})
    refused = create(gateway, leads, name, children=LINES, idempotency_key=name)
    created = create(gateway, leads, name, children=LINES, idempotency_key=name)

    assert (422, "upstream_refused") == (refused.status, refused.code)
    assert [
        {"vendor_code": "validation_error"},
        {"done": "create the page", "page_id": created.data["page_id"]},
        {"done": "append blocks", "blocks": 200},
    ] == refused.facts
    assert LINES == body_of(gateway, created.data["page_id"])
    assert 1 == found(gateway, leads, name)


@requirement("notes-17")
@pytest.mark.parametrize("position", ["start", "end"])
def test_blocks_that_never_arrived_are_not_seen_in_what_people_write(
    gateway: Gateway, leads: str, person: User, position: str
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="drop_before")
    first = create(gateway, leads, name, children=[TIED] * 102, idempotency_key=name)
    page_id = first.details[0]["page_id"]
    write_down(gateway, page_id, person, position)
    again = create(gateway, leads, name, idempotency_key=name)

    assert page_id == again.data["page_id"]
    assert [TIED] * 104 == body_of(gateway, page_id)


@requirement("notes-17")
@pytest.mark.parametrize("position", ["start", "end"])
def test_blocks_that_arrived_are_known_whatever_people_write(
    gateway: Gateway, leads: str, person: User, position: str
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="slow_body", seconds=5.5)
    answers(gateway, "GET", BLOCKS, 500, times=6)
    first = create(gateway, leads, name, children=[TIED] * 102, idempotency_key=name)
    page_id = first.details[0]["page_id"]
    write_down(gateway, page_id, person, position)
    gateway.clear("notes")
    again = create(gateway, leads, name, idempotency_key=name)

    assert page_id == again.data["page_id"]
    assert [TIED] * 104 == body_of(gateway, page_id)


def write_down(gateway: Gateway, page_id: str, person: User, position: str) -> None:
    """Let somebody write two lines into a page, at its start or end."""
    workspace = workspace_of(gateway)
    lines = {"children": [{"paragraph": {"rich_text": text(TIED)}}] * 2, "position": {"type": position}}
    edits.append(workspace, workspace.pages[page_id], lines, person)


@requirement("notes-17")
def test_blocks_are_known_though_people_took_more_of_ours_away_than_there_are(
    gateway: Gateway, leads: str, workspace: Workspace
) -> None:
    name = new_name()
    gateway.fault("notes", method="PATCH", path=BLOCKS, fault="slow_body", seconds=5.5)
    answers(gateway, "GET", BLOCKS, 500, times=6)
    first = create(gateway, leads, name, children=LINES[:102], idempotency_key=name)
    page = workspace.pages[first.details[0]["page_id"]]
    del page.children[:10]
    gateway.clear("notes")
    again = create(gateway, leads, name, idempotency_key=name)

    assert 200 == again.status
    assert LINES[10:102] == body_of(gateway, page.id)


@requirement("notes-22")
def test_a_page_that_was_made_and_cannot_be_read_is_told_and_not_made_again(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.knob("notes", next_create="503_committed")
    answers(gateway, "GET", PAGES, 500, times=3, body=HTML)
    first = create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert (502, "upstream_error") == (first.status, first.code)
    assert [{"done": "create the page", "page_id": again.data["page_id"]}] == first.details
    assert 1 == found(gateway, leads, name)


# A schema that is remembered


@requirement("notes-24")
def test_what_is_refused_by_a_remembered_schema_is_tried_once_by_the_one_of_today(gateway: Gateway, leads: str) -> None:
    name = new_name()
    create(gateway, leads, new_name())
    gateway.clear("notes")
    answers(gateway, "POST", PAGES, 400, body={"object": "error", "code": "validation_error"})
    created = create(gateway, leads, name, idempotency_key=name)

    assert 200 == created.status
    assert [400, 200] == posts(gateway)


def test_what_is_refused_by_a_schema_just_read_is_refused_at_once(
    gateway: Gateway, leads: str, restarting: Restarting
) -> None:
    answers(gateway, "POST", PAGES, 400, body={"object": "error", "code": "validation_error"})
    with restarting() as fresh:
        refused = create(fresh, leads, new_name())

    assert (422, "upstream_refused") == (refused.status, refused.code)
    assert [400] == posts(gateway)


# Changes under a guard


LONG_AGO = "2020-01-01T00:00:00Z"


def guarded(gateway: Gateway, page_id: str, key: str) -> Reply:
    """Write a value and move the page to the trash, unless it was changed."""
    body = {"properties": {"Value": 8}, "archived": True, "if_unmodified_since": LONG_AGO}
    return update(gateway, page_id, headers={"Idempotency-Key": key}, **body)


def fail_second(gateway: Gateway, **fault: Any) -> None:
    """Let the second change of a page go wrong."""
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
def test_our_own_first_half_is_not_somebody_elses_change(
    gateway: Gateway, page_id: str, workspace: Workspace, fault: dict[str, Any]
) -> None:
    workspace.pages[page_id].edited_at = 0
    key = new_name()
    fail_second(gateway, **fault)
    first = guarded(gateway, page_id, key)
    again = guarded(gateway, page_id, key)

    assert first.status in {422, 502}
    assert [{"done": "change the page", "page_id": page_id, "updated": ["Value"]}] == first.details[-1:]
    assert (True, ["Value"]) == (again.data["archived"], again.data["updated"])
    assert (8, True) == (value_of(workspace, page_id, "Value"), workspace.pages[page_id].in_trash)


@requirement("notes-22", "notes-32")
def test_a_change_between_both_halves_is_somebody_elses_and_tells_what_stands(
    gateway: Gateway, page_id: str, workspace: Workspace
) -> None:
    workspace.pages[page_id].edited_at = 0
    key = new_name()
    fail_second(gateway, fault="drop_before")
    guarded(gateway, page_id, key)
    gateway.act("notes", action="update_page", page_id=page_id, properties={"Value": 9})
    again = guarded(gateway, page_id, key)

    assert (409, "page_modified") == (again.status, again.code)
    assert {"done": "change the page", "page_id": page_id, "updated": ["Value"]} == again.details[-1]
    assert (9, False) == (value_of(workspace, page_id, "Value"), workspace.pages[page_id].in_trash)


@requirement("notes-30")
def test_a_change_in_doubt_is_not_sent_again_over_somebody_elses(
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
    assert 2 == value_of(workspace, page_id, "Value")


@requirement("common-93")
@pytest.mark.parametrize(("fault", "sent"), [("drop_before", 3), ("drop_after", 2)])
def test_both_halves_of_a_change_are_made_once_each(gateway: Gateway, page_id: str, fault: str, sent: int) -> None:
    gateway.clear("notes")
    header = {"Idempotency-Key": new_name()}
    fail_second(gateway, fault=fault)
    update(gateway, page_id, headers=header, properties={"Value": 5}, archived=True)
    again = update(gateway, page_id, headers=header, properties={"Value": 5}, archived=True)

    assert (True, ["Value"]) == (again.data["archived"], again.data["updated"])
    assert sent == len(writes(gateway))
