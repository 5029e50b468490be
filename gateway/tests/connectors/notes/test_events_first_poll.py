"""The first poll of a data source: existing rows are not events, but all later changes are."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from connector_gateway.connectors.notes import events
from connector_gateway.storage.sql import tables
from gateway.tests.connectors.notes.event_feed import EventFeed, find_source, run_event_feed, share, start_event_feed
from harness.clocks import ShiftedClock
from harness.gateway_process import Installation, run_installation
from harness.gateway_server import WIDE
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.default_data_builder import DataBuilder


def count_row_snapshots(feed: EventFeed, title: str) -> int:
    """Return the number of stored row snapshots of a data source."""
    query = select(func.count()).select_from(tables.snapshots)
    query = query.where(tables.snapshots.c.scope == feed.source(title).id)
    count: int = feed.gateway.run(feed.gateway.app.database.read(lambda db: db.execute(query).scalar_one()))
    return count


def read_events(installation: Installation) -> list[tuple[str, str]]:
    """Return type and page of every event."""
    query = {"connection_id": installation.connections["notes"]}
    headers = {"Authorization": f"Bearer {installation.key}"}
    response = installation.http.get(
        f"{installation.base_url}/v1/connectors/notes/events", params=query, headers=headers
    )
    return [(event["type"], event["page_id"]) for event in response.json()["data"]]


def list_queried_sources(feed: EventFeed) -> list[str]:
    """Return the data sources whose rows were queried since the journal was cleared, in order."""
    return [path.split("/")[3] for method, path, _ in feed.gateway.journal("notes") if path.endswith("/query")]


# The complete seeded workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventFeed]:
    with start_event_feed(tmp_path_factory.mktemp("workspace")) as feed:
        yield feed


@pytest.fixture
def feed(workspace: EventFeed) -> EventFeed:
    workspace.gateway.clear("notes")
    workspace.gateway.knob("notes", search_lag_seconds=0)
    return workspace


@requirement("notes-74")
def test_existing_rows_are_not_reported_as_events(tmp_path: Path) -> None:
    with start_event_feed(tmp_path) as feed:
        source_snapshots = feed.source_snapshots()

        assert [] == feed.events()
        assert len(source_snapshots) > 150
        assert {None} == {source["reached"] for source in source_snapshots.values()}
        assert len(feed.rows("Everything")) == count_row_snapshots(feed, "Everything")


@requirement("notes-58", "notes-74")
def test_changes_in_the_minute_of_the_first_poll_are_observed(feed: EventFeed) -> None:
    page_id = feed.rows("Everything")[-1].id
    feed.update(page_id, Number=4711)
    page_ids = [feed.create("Everything", Title="created immediately"), feed.create("Design vendors", Titel="new")]
    feed.poll()

    assert [("Number", "4711")] == [(name, after) for name, _, after in feed.changes(page_id)]
    assert set(page_ids) == set(feed.created_page_ids())


@requirement("notes-82")
def test_sources_with_searchable_changes_are_polled_first(feed: EventFeed) -> None:
    (page_id,) = [page.id for page in feed.rows("Design bugs")]
    feed.update(page_id, Name="edited")
    feed.gateway.clear("notes")
    feed.gateway.knob("notes", search_lag_seconds=0)
    feed.poll()
    queried = list_queried_sources(feed)

    assert feed.source("Design bugs").id in queried[:4]
    assert len(queried) <= events.polls.SOURCES_PER_POLL + 4
    assert 1 == len(feed.changes(page_id))


@requirement("notes-82")
def test_changes_missed_by_searches_are_observed_in_rotation(feed: EventFeed) -> None:
    (page_id,) = [page.id for page in feed.rows("Design hiring")]
    feed.gateway.knob("notes", search_lag_seconds=10**10)
    feed.update(page_id, Name="edited")
    feed.poll()
    feed.poll()
    feed.poll()
    feed.poll()
    feed.poll()
    feed.poll()

    assert 1 == len(feed.changes(page_id))


@requirement("notes-70", "notes-82")
def test_delivery_is_handled_during_a_long_poll(tmp_path: Path) -> None:
    with run_event_feed(tmp_path, GATEWAY_NOTES_BUDGET="20/1") as feed:
        leads = feed.source("Leads").id
        wait_until(lambda: feed.source_snapshots().get(leads, {"reached": ""})["reached"] is None)
        page_id = feed.create(Name="during the poll")
        app = feed.gateway.app
        feed.gateway.run(app._watches.wake([feed.connection_id], [leads]))
        wait_until(lambda: feed.created_page_ids() == [page_id])
        progress = feed.gateway.run(app.connections.show(feed.connection_id))["watching_progress"]

        assert feed.is_due()
        assert 0 < progress["done"] < progress["total"]


@requirement("notes-70", "notes-100")
def test_delivery_interrupts_the_first_read_of_a_large_source(tmp_path: Path) -> None:
    with run_event_feed(tmp_path, ("Everything", "Leads"), GATEWAY_NOTES_BUDGET="2/1") as feed:
        large, announced = feed.source("Everything").id, feed.source("Leads").id
        wait_until(lambda: large in list_queried_sources(feed))
        feed.gateway.run(feed.gateway.app._watches.wake([feed.connection_id], [announced]))
        feed.wait_until_idle()
        queried = list_queried_sources(feed)
        since_large = queried[queried.index(large) :]

        assert large in since_large[since_large.index(announced) :]
        assert len(feed.rows("Everything")) == count_row_snapshots(feed, "Everything")


# Databases that are shared later


@requirement("notes-74")
def test_rows_of_a_newly_shared_database_are_not_events(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Leads") as feed:
        share(feed.emulator, "Leads", "Salaries 2025")
        feed.poll()
        before = feed.events()
        page_id = feed.rows("Salaries 2025")[0].id
        feed.update(page_id, Salary=1)
        feed.poll()

        assert [] == before
        assert [("Salary", "60000", "1")] == feed.changes(page_id)


@requirement("notes-58")
def test_all_rows_of_a_new_database_are_events(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Leads") as feed:
        seeder = DataBuilder(feed.emulator.workspace)
        seeder.people = [feed.emulator.seeded.person]
        source = seeder.table("New database", time.time(), [seeder.property("title", "Name")])
        source.created_at = time.time()
        pages = {feed.create("New database", Name=str(number)) for number in range(120)}
        share(feed.emulator, "Leads", "New database")
        feed.poll()

        assert pages == set(feed.created_page_ids())
        assert 120 == len(feed.events())


@requirement("notes-83")
def test_unshared_database_is_not_polled_until_shared_again(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Leads", "Salaries 2025") as feed:
        page_id = feed.rows("Salaries 2025")[0].id
        share(feed.emulator, "Leads")
        feed.update(page_id, Salary=1)
        feed.poll()
        events_while_unshared = feed.events()
        feed.gateway.clear("notes")
        feed.poll()
        not_requested = all(feed.source("Salaries 2025").id not in path for _, path, _ in feed.gateway.journal("notes"))
        share(feed.emulator, "Leads", "Salaries 2025")
        feed.gateway.knob("notes", search_lag_seconds=0)
        feed.poll()
        feed.gateway.knob("notes", search_lag_seconds=10**10)
        feed.update(page_id, Salary=2)
        feed.poll()

        assert [] == events_while_unshared
        assert not_requested
        assert [("Salary", "60000", "1"), ("Salary", "1", "2")] == feed.changes(page_id)


# More rows than one poll reads


@requirement("notes-74", "notes-85")
def test_large_data_source_is_read_over_several_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.data_source_polls, "MAX_NEW_PAGES", 2)
    with start_event_feed(tmp_path, "Everything") as feed:
        newest, *_, oldest = (page.id for page in feed.rows("Everything"))
        first_count = count_row_snapshots(feed, "Everything")
        feed.update(newest, Number=4711)
        page_id = feed.create("Everything", Title="created meanwhile")
        feed.poll()
        last_count = count_row_snapshots(feed, "Everything")
        feed.update(oldest, Number=4712)
        feed.poll()

        assert (200, len(feed.rows("Everything"))) == (first_count, last_count)
        assert [page_id] == feed.created_page_ids()
        assert [("4711", newest), ("4712", oldest)] == [
            (event["to"], event["page_id"]) for event in feed.events(type="page.property_updated")
        ]


@requirement("notes-80")
def test_rows_after_the_query_limit_are_observed(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Everything", row_cap=7) as feed:
        pages = [page.id for page in feed.rows("Everything")]
        snapshot_count = count_row_snapshots(feed, "Everything")
        feed.update(*pages[::25], Number=4711)
        feed.poll()

        assert len(pages) == snapshot_count
        assert set(pages[::25]) == {event["page_id"] for event in feed.events()}


@requirement("notes-80", "notes-81")
def test_more_rows_per_minute_than_listed_are_reported_once(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Leads", "Everything", row_cap=5) as feed:
        page_ids = {feed.create(Name=str(number)) for number in range(9)}
        other = feed.rows("Everything")[0].id
        feed.update(other, Number=4711)
        feed.poll()
        feed.poll()
        runs = feed.gateway.request("GET", "/v1/runs", params={"operation": "observe_events"}).data
        reply = feed.gateway.get("/notes/events")

        assert [("partial", "events_missed")] == [(run["status"], run["code"]) for run in runs]
        assert runs[0]["run_id"] in reply.headers["warning"]
        assert 5 == len(page_ids & set(feed.created_page_ids()))
        assert 1 == len(feed.changes(other))


@requirement("notes-68")
def test_row_that_moves_to_an_already_read_page_is_observed(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Everything", short_pages=True) as feed:
        newest = [page.id for page in feed.rows("Everything")[:70]]
        feed.emulator.context.clock = ShiftedClock(-90)
        feed.update(*newest, Number=4711)
        feed.emulator.context.clock = ShiftedClock(0)
        feed.emulator.context.request_log.clear()
        feed.gateway.fault("notes", fault="delay", path="/v1/data_sources", seconds=0)
        feed.gateway.fault("notes", fault="delay", path="/v1/data_sources", seconds=0.5)
        feed.start_poll()
        wait_until(lambda: len(list_queried_sources(feed)) == 1)
        feed.gateway.act("notes", action="trash_page", page_id=newest[0])
        feed.gateway.act("notes", action="trash_page", page_id=newest[66])
        feed.wait_until_idle()

        assert set(newest) - {newest[66]} == {event["page_id"] for event in feed.events()}


# Crashes


@requirement("notes-68", "notes-85")
def test_kill_during_the_first_poll_loses_and_duplicates_no_events(tmp_path: Path) -> None:
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False, "short_pages": True}
        share(emulator, "Everything")
        settings = {"GATEWAY_WATCH": "on", "GATEWAY_NOTES_WATCH_SECONDS": "0.5", "GATEWAY_NOTES_BUDGET": "4/1"}
        with run_installation(sandbox, tmp_path, **settings) as installation:
            wait_until(
                lambda: (
                    3
                    <= len(
                        [
                            request_count
                            for request_count in emulator.context.request_log
                            if request_count.path.endswith("/query")
                        ]
                    )
                )
            )
            installation.end()
            emulator.context.knobs["short_pages"] = False
            pages = emulator.workspace.active_rows(find_source(emulator, "Everything"))
            edited = {"action": "update_page", "page_id": pages[0].id, "properties": {"Title": "edited"}}
            emulator.perform(edited)
            database_id = find_source(emulator, "Everything").parent.id
            response = emulator.perform({"action": "create_page", "database_id": database_id, "properties": {}})
            installation.settings = {**settings, "GATEWAY_NOTES_BUDGET": WIDE}
            installation.start()
            wait_until(lambda: 2 <= len(read_events(installation)))
            request_count = len(emulator.context.request_log)
            wait_until(lambda: request_count + 6 <= len(emulator.context.request_log))

            assert {("page.created", response["page_id"]), ("page.property_updated", pages[0].id)} == set(
                read_events(installation)
            )
            assert 2 == len(read_events(installation))
