"""Listings of databases are complete despite concurrent listings and edits."""

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
def last_id(gateway: Gateway) -> str:
    """The identifier of the database that was edited longest ago."""
    first = gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=first.body["next_cursor"]).data
    gateway.clear("notes")
    return str(rest[-1]["database_id"])


def edit_database(gateway: Gateway, database_id: str) -> None:
    """Change a database as a person, which moves it to the start of all listings."""
    (name,) = {"Priority"} & set(get_property_names(gateway, database_id))
    gateway.act("notes", action="rename_property", database_id=database_id, property=name, name="Urgency")
    gateway.act("notes", action="rename_property", database_id=database_id, property="Urgency", name=name)


def get_property_names(gateway: Gateway, database_id: str) -> list[str]:
    workspace = create_emulator(gateway.sandbox, NotesEmulator).workspace
    (source_id,) = workspace.databases[database_id].source_ids
    return [prop.name for prop in workspace.sources[source_id].properties.values()]


def count_searches(gateway: Gateway) -> int:
    return len([path for _, path, _ in gateway.journal("notes") if path == "/v1/search"])


def list_ids(*replies: Any) -> list[str]:
    return [item["database_id"] for reply in replies for item in reply.data]


@requirement("notes-1")
def test_database_edited_while_the_list_is_read_is_listed(gateway: Gateway, last_id: str) -> None:
    gateway.fault("notes", method="POST", path="/v1/search", fault="delay", seconds=0.4, times=2)

    def edit_between() -> None:
        wait_until(lambda: count_searches(gateway) >= 1)
        edit_database(gateway, last_id)

    listed, _ = gateway.together(lambda: gateway.get("/notes/databases", limit=100), edit_between)
    rest = gateway.get("/notes/databases", limit=100, cursor=listed.body["next_cursor"])  # type: ignore[union-attr]

    assert 1 == list_ids(listed, rest).count(last_id)


@requirement("notes-1", "notes-6")
def test_concurrent_listing_after_an_edit_hides_no_database(gateway: Gateway, last_id: str) -> None:
    first = gateway.get("/notes/databases", limit=100)
    edit_database(gateway, last_id)
    gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=first.body["next_cursor"])

    assert 1 == list_ids(first, rest).count(last_id)


@requirement("notes-6")
def test_listing_continues_after_a_restart_with_edited_databases(
    gateway: Gateway, last_id: str, restartable_gateway: Restarting
) -> None:
    with restartable_gateway() as first_gateway:
        first = first_gateway.get("/notes/databases", limit=100)
    edit_database(gateway, last_id)
    with restartable_gateway() as second_gateway:
        second = second_gateway.get("/notes/databases", limit=30, cursor=first.body["next_cursor"])
        third = second_gateway.get("/notes/databases", limit=100, cursor=second.body["next_cursor"])
    first_page = gateway.get("/notes/databases", limit=100)
    rest = gateway.get("/notes/databases", limit=100, cursor=first_page.body["next_cursor"])

    assert sorted(list_ids(first_page, rest)) == sorted(list_ids(first, second, third))


def test_list_of_one_upstream_page_takes_one_request(gateway: Gateway) -> None:
    internal = create_emulator(gateway.sandbox, NotesEmulator).seeded.internal
    shared, few = internal.shared, set(sorted(internal.shared)[:5])
    internal.shared = few
    gateway.get("/notes/databases")
    internal.shared = shared

    assert 1 == count_searches(gateway)


def list_request_kinds(gateway: Gateway) -> list[str]:
    """Return the kinds of vendor requests since the journal was cleared."""
    return [path.split("/")[2] for _, path, _ in gateway.journal("notes")]


def list_following_pages(gateway: Gateway, page: Any) -> list[Any]:
    """Return the pages that follow a page."""
    if page.body["next_cursor"] is None:
        return []
    after = gateway.get("/notes/databases", limit=100, cursor=page.body["next_cursor"])
    return [after, *list_following_pages(gateway, after)]


@pytest.fixture
def fresh_gateway(gateway: Gateway, restartable_gateway: Restarting) -> Iterator[Gateway]:
    """A gateway with empty caches."""
    with restartable_gateway() as restarted:
        gateway.clear("notes")
        yield restarted


@requirement("notes-5")
def test_cached_single_source_database_takes_one_request(fresh_gateway: Gateway) -> None:
    first = fresh_gateway.get("/notes/databases", limit=1)
    first_requests = list_request_kinds(fresh_gateway)
    fresh_gateway.clear("notes")
    second = fresh_gateway.get("/notes/databases", limit=1)

    assert ["search", "databases"] == first_requests
    assert ["search"] == list_request_kinds(fresh_gateway)
    assert list_ids(first) == list_ids(second)


@requirement("notes-1", "notes-6")
def test_short_page_is_followed_by_all_other_databases_once(fresh_gateway: Gateway, last_id: str) -> None:
    first = fresh_gateway.get("/notes/databases", limit=1)
    edit_database(fresh_gateway, list_ids(first)[0])
    edit_database(fresh_gateway, last_id)
    listed_ids = list_ids(first, *list_following_pages(fresh_gateway, first))
    full_page = fresh_gateway.get("/notes/databases", limit=100)

    assert sorted(list_ids(full_page, *list_following_pages(fresh_gateway, full_page))) == sorted(listed_ids)


@requirement("notes-6")
def test_database_of_a_short_page_is_not_repeated_after_a_restart(
    gateway: Gateway, restartable_gateway: Restarting
) -> None:
    with restartable_gateway() as first_gateway:
        first = first_gateway.get("/notes/databases", limit=1)
        second = first_gateway.get("/notes/databases", limit=1, cursor=first.body["next_cursor"])
    with restartable_gateway() as second_gateway:
        third = second_gateway.get("/notes/databases", limit=100, cursor=second.body["next_cursor"])

    assert list_ids(first)[0] not in list_ids(second, third)


@requirement("notes-1")
def test_database_is_listed_with_a_data_source_of_a_later_page(fresh_gateway: Gateway) -> None:
    workspace = create_emulator(fresh_gateway.sandbox, NotesEmulator).workspace
    (database,) = [one for one in workspace.databases.values() if one.title == "Projects & clients"]
    near, far = (workspace.sources[source_id] for source_id in database.source_ids)
    near.edited_at, far.edited_at = time.time() + 60, 0.0
    (listed,) = fresh_gateway.get("/notes/databases", limit=1).data

    assert (database.id, database.title) == (listed["database_id"], listed["title"])
    assert {"Project", "Client"} <= set(listed["properties"])
