"""What calls leave behind in the application, looked at there, and what is said of it."""

from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.kit.budget import Budget
from harness.requirement import requirement
from harness.serving import Gateway
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.state import Workspace


@pytest.fixture
def workspace(gateway: Gateway) -> Workspace:
    """What the application holds."""
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    return emulator.workspace


def create(gateway: Gateway, database_id: str, **properties: Any) -> str:
    """The identifier of a new page."""
    return str(gateway.post("/notes/pages", database_id=database_id, properties=properties).data["page_id"])


@requirement("common-4", "notes-7", "notes-41")
def test_a_created_page_is_a_row_of_its_database(gateway: Gateway, leads: str, workspace: Workspace) -> None:
    page_id = create(gateway, leads, Name="A row")

    (source_id,) = workspace.databases[leads].source_ids
    assert page_id in workspace.sources[source_id].rows


@requirement("notes-26")
def test_an_update_leaves_every_other_value_as_it_was(gateway: Gateway, leads: str, workspace: Workspace) -> None:
    page_id = create(gateway, leads, Name="Kept", Value=1, Stage="Open", Tags=["eu"])
    before = dict(workspace.pages[page_id].values)

    gateway.patch(f"/notes/pages/{page_id}", properties={"Value": 2})

    after = workspace.pages[page_id].values
    assert 1 == len([property_id for property_id in before if before[property_id] != after[property_id]])


@requirement("notes-27", "notes-28")
def test_an_archived_page_lies_in_the_trash_and_comes_back_whole(
    gateway: Gateway, leads: str, workspace: Workspace
) -> None:
    page_id = create(gateway, leads, Name="Here and there")
    archived = gateway.patch(f"/notes/pages/{page_id}", archived=True).data["archived"]
    was_in_trash = workspace.pages[page_id].in_trash
    restored = gateway.patch(f"/notes/pages/{page_id}", archived=False).data["archived"]

    assert (True, True, False) == (archived, was_in_trash, restored)
    assert ("Here and there", False) == (workspace.pages[page_id].title, workspace.pages[page_id].in_trash)


@requirement("notes-34", "notes-35", "notes-37")
def test_a_search_tells_the_pages_of_the_database_asked_for(gateway: Gateway, leads: str) -> None:
    page_id = create(gateway, leads, Name=" Searched for ")
    create(gateway, gateway.examples("notes")["multi_source_database_id"], Client="Searched for")

    reply = gateway.post("/notes/pages/search", database_id=leads, property="Name", value="Searched for ")

    assert reply.data == {
        "match_count": 1,
        "pages": [{"page_id": page_id, "title": " Searched for ", "matched_on": "Name"}],
    }


@requirement("notes-38")
@pytest.mark.parametrize(("match", "count"), [({}, 0), ({"match": "exact"}, 0), ({"match": "contains"}, 1)])
def test_a_part_of_a_value_matches_only_where_that_is_asked_for(
    gateway: Gateway, leads: str, match: dict[str, Any], count: int
) -> None:
    name = f"Part of {count} {match}"
    create(gateway, leads, Name=f"{name}, and more")

    reply = gateway.post("/notes/pages/search", database_id=leads, property="Name", value=name, **match)

    assert count == reply.data["match_count"]


@requirement("common-39", "notes-56")
def test_a_forged_cursor_of_events_is_refused(gateway: Gateway) -> None:
    assert "invalid_cursor" == gateway.get("/notes/events", cursor="forged").code


@requirement("notes-55")
def test_the_budget_is_the_documented_one() -> None:
    assert {"integration": Budget(3, per_seconds=1)} == NOTES.budgets


@requirement("notes-31")
def test_the_limit_of_the_guard_against_changes_is_documented(gateway: Gateway) -> None:
    reference = gateway.http.get(f"{gateway.base_url}/openapi.json").text

    assert "the application keeps whole minutes only" in reference
