"""The feed of notes events as callers read it: filters, pages, cursors, and what is asked for wrongly."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from connectors.notes.watching import Watched, watched_from_now
from harness.requirement import requirement
from harness.serving import Gateway


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Three pages that were made, two of them changed after that."""
    with watched_from_now(tmp_path_factory.mktemp("feed"), "Leads") as watched:
        made = [watched.create(Name=str(number)) for number in range(3)]
        watched.poll()
        watched.update(*made[:2], Value=1)
        watched.poll()
        yield watched


@pytest.fixture(scope="module")
def gateway(watched: Watched) -> Gateway:
    return watched.gateway


@pytest.fixture(scope="module")
def events(watched: Watched) -> list[dict[str, Any]]:
    """All five of them."""
    return watched.events()


def test_events_come_in_the_order_in_which_they_were_observed(events: list[dict[str, Any]]) -> None:
    assert ["page.created"] * 3 + ["page.property_updated"] * 2 == [event["type"] for event in events]
    assert sorted(events, key=lambda event: str(event["observed_at"])) == events


@requirement("notes-61")
def test_only_events_since_an_instant_are_read(gateway: Gateway, events: list[dict[str, Any]]) -> None:
    since = events[3]["observed_at"]

    assert events[3:] == gateway.get("/notes/events", since=since).data


@requirement("notes-62")
@pytest.mark.parametrize(("kind", "part"), [("page.created", slice(3)), ("page.property_updated", slice(3, 5))])
def test_only_events_of_a_type_are_read(gateway: Gateway, events: list[dict[str, Any]], kind: str, part: slice) -> None:
    assert events[part] == gateway.get("/notes/events", type=kind).data


@requirement("notes-56", "notes-63")
def test_a_feed_goes_on_at_its_cursor(gateway: Gateway, events: list[dict[str, Any]]) -> None:
    first = gateway.get("/notes/events", limit=2)
    second = gateway.get("/notes/events", limit=2, cursor=first.body["next_cursor"])
    third = gateway.get("/notes/events", limit=2, cursor=second.body["next_cursor"])

    assert events == first.data + second.data + third.data
    assert third.body["next_cursor"] is None


@requirement("notes-56")
def test_a_cursor_holds_for_its_own_connection_and_filters_only(gateway: Gateway, watched: Watched) -> None:
    cursor = gateway.get("/notes/events", limit=2).body["next_cursor"]
    created = gateway.run(gateway.app.connections.create(gateway.workspace_id, "notes", watched.emulator.credentials()))
    elsewhere = gateway.get("/notes/events", limit=2, cursor=cursor, connection_id=created["connection_id"])
    otherwise = gateway.get("/notes/events", limit=2, cursor=cursor, type="page.created")

    assert [(422, "invalid_cursor")] * 2 == [(reply.status, reply.code) for reply in (elsewhere, otherwise)]


@requirement("notes-65")
def test_an_instant_in_the_future_gives_an_empty_page(gateway: Gateway) -> None:
    reply = gateway.get("/notes/events", since=(datetime.now(UTC) + timedelta(days=1)).isoformat())

    assert ([], None) == (reply.data, reply.body["next_cursor"])


@requirement("notes-65")
def test_an_instant_before_what_is_kept_gives_what_is_kept_and_a_warning(
    gateway: Gateway, events: list[dict[str, Any]]
) -> None:
    reply = gateway.get("/notes/events", since="2020-01-01")

    assert events == reply.data
    assert "no longer kept" in reply.headers["warning"]


@requirement("notes-64")
@pytest.mark.parametrize("since", ["", "yesterday", "2026-13-01", "2026-11-02T25:00:00Z", "1795000000"])
def test_what_is_no_instant_is_refused(gateway: Gateway, since: str) -> None:
    reply = gateway.get("/notes/events", since=since)

    assert (422, ["since"]) == (reply.status, [detail["parameter"] for detail in reply.details])
