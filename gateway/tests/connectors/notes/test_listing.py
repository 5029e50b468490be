"""A listing of databases is complete, whatever others list and edit while it is read or paged through."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from harness.gateway_server import Gateway, Restarting
from harness.requirement import requirement
from harness.sandbox_server import create_emulator
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def last(gateway: Gateway) -> str:
    """The database that was edited longest ago."""
    first = gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=first.body["next_cursor"]).data
    gateway.clear("notes")
    return str(rest[-1]["database_id"])


def edit(gateway: Gateway, database_id: str) -> None:
    """Let a person change a database, which moves it to the front of all listings."""
    (name,) = {"Priority"} & set(named(gateway, database_id))
    gateway.act("notes", action="rename_property", database_id=database_id, property=name, name="Urgency")
    gateway.act("notes", action="rename_property", database_id=database_id, property="Urgency", name=name)


def named(gateway: Gateway, database_id: str) -> list[str]:
    workspace = create_emulator(gateway.sandbox, NotesEmulator).workspace
    (source_id,) = workspace.databases[database_id].source_ids
    return [prop.name for prop in workspace.sources[source_id].properties.values()]


def searches(gateway: Gateway) -> int:
    return len([path for _, path, _ in gateway.journal("notes") if path == "/v1/search"])


def ids(*replies: Any) -> list[str]:
    return [item["database_id"] for reply in replies for item in reply.data]


@requirement("notes-1")
def test_a_database_that_is_edited_while_the_list_is_read_is_listed(gateway: Gateway, last: str) -> None:
    gateway.fault("notes", method="POST", path="/v1/search", fault="delay", seconds=0.4, times=2)

    def edit_between() -> None:
        wait_until(lambda: searches(gateway) >= 1)
        edit(gateway, last)

    listed, _ = gateway.together(lambda: gateway.get("/notes/databases", limit=100), edit_between)
    rest = gateway.get("/notes/databases", limit=100, cursor=listed.body["next_cursor"])  # type: ignore[union-attr]

    assert 1 == ids(listed, rest).count(last)


@requirement("notes-1", "notes-6")
def test_what_others_list_after_an_edit_hides_nothing_from_who_pages(gateway: Gateway, last: str) -> None:
    first = gateway.get("/notes/databases", limit=100)
    edit(gateway, last)
    gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=first.body["next_cursor"])

    assert 1 == ids(first, rest).count(last)


@requirement("notes-6")
def test_a_listing_that_was_forgotten_is_taken_up_with_what_was_edited_since(
    gateway: Gateway, last: str, restarting: Restarting
) -> None:
    with restarting() as before:
        first = before.get("/notes/databases", limit=100)
    edit(gateway, last)
    with restarting() as after:
        second = after.get("/notes/databases", limit=30, cursor=first.body["next_cursor"])
        third = after.get("/notes/databases", limit=100, cursor=second.body["next_cursor"])
    whole = gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=whole.body["next_cursor"])

    assert sorted(ids(whole, rest)) == sorted(ids(first, second, third))


def test_a_list_of_one_upstream_page_is_asked_for_once(gateway: Gateway) -> None:
    internal = create_emulator(gateway.sandbox, NotesEmulator).seeded.internal
    shared, few = internal.shared, set(sorted(internal.shared)[:5])
    internal.shared = few
    gateway.get("/notes/databases")
    internal.shared = shared

    assert 1 == searches(gateway)


def asked(gateway: Gateway) -> list[str]:
    """The kinds of requests to the application since the journal was cleared."""
    return [path.split("/")[2] for _, path, _ in gateway.journal("notes")]


def following(gateway: Gateway, page: Any) -> list[Any]:
    """The pages that follow a page."""
    if page.body["next_cursor"] is None:
        return []
    after = gateway.get("/notes/databases", limit=100, cursor=page.body["next_cursor"])
    return [after, *following(gateway, after)]


@pytest.fixture
def alone(gateway: Gateway, restarting: Restarting) -> Iterator[Gateway]:
    """A gateway that remembers nothing yet."""
    with restarting() as fresh:
        gateway.clear("notes")
        yield fresh


@requirement("notes-5")
def test_one_database_takes_one_request_once_it_is_known_to_have_one_data_source(alone: Gateway) -> None:
    first = alone.get("/notes/databases", limit=1)
    looked_up = asked(alone)
    alone.clear("notes")
    second = alone.get("/notes/databases", limit=1)

    assert ["search", "databases"] == looked_up
    assert ["search"] == asked(alone)
    assert ids(first) == ids(second)


@requirement("notes-1", "notes-6")
def test_after_a_short_page_come_all_others_and_none_twice(alone: Gateway, last: str) -> None:
    first = alone.get("/notes/databases", limit=1)
    edit(alone, ids(first)[0])
    edit(alone, last)
    found = ids(first, *following(alone, first))
    whole = alone.get("/notes/databases", limit=100)

    assert sorted(ids(whole, *following(alone, whole))) == sorted(found)


@requirement("notes-6")
def test_a_database_of_a_short_page_does_not_come_again_after_a_restart(
    gateway: Gateway, restarting: Restarting
) -> None:
    with restarting() as before:
        first = before.get("/notes/databases", limit=1)
        second = before.get("/notes/databases", limit=1, cursor=first.body["next_cursor"])
    with restarting() as after:
        third = after.get("/notes/databases", limit=100, cursor=second.body["next_cursor"])

    assert ids(first)[0] not in ids(second, third)


@requirement("notes-1")
def test_a_database_whose_other_data_source_is_far_down_the_list_is_told_with_both(alone: Gateway) -> None:
    workspace = create_emulator(alone.sandbox, NotesEmulator).workspace
    (database,) = [one for one in workspace.databases.values() if one.title == "Projects & clients"]
    near, far = (workspace.sources[source_id] for source_id in database.source_ids)
    near.edited_at, far.edited_at = time.time() + 60, 0.0
    (listed,) = alone.get("/notes/databases", limit=1).data

    assert (database.id, database.title) == (listed["database_id"], listed["title"])
    assert {"Project", "Client"} <= set(listed["properties"])
