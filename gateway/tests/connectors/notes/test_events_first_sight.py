"""What is there when a data source is seen for the first time is no event; whatever happens from then on is."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from connector_gateway.connectors.notes import events
from connector_gateway.storage import tables
from gateway.tests.connectors.notes.watching import Watched, share, source_of, watched_from_now, watching
from harness.clocks import ShiftedClock
from harness.gateway_server import WIDE
from harness.installation import Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.data_builder import DataBuilder


def remembered_rows(watched: Watched, title: str) -> int:
    """How many rows of a data source are remembered."""
    query = select(func.count()).select_from(tables.snapshots)
    query = query.where(tables.snapshots.c.scope == watched.source(title).id)
    counted: int = watched.gateway.run(
        watched.gateway.app.database.read(lambda reading: reading.execute(query).scalar_one())
    )
    return counted


def read(installation: Installation) -> list[tuple[str, str]]:
    """Type and page of every event."""
    query = {"connection_id": installation.connections["notes"]}
    headers = {"Authorization": f"Bearer {installation.key}"}
    answer = installation.http.get(f"{installation.base_url}/v1/connectors/notes/events", params=query, headers=headers)
    return [(event["type"], event["page_id"]) for event in answer.json()["data"]]


def queries(watched: Watched) -> list[str]:
    """The data sources whose rows were asked for since the journal was cleared, in order."""
    return [path.split("/")[3] for method, path, _ in watched.gateway.journal("notes") if path.endswith("/query")]


# The whole seeded workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_from_now(tmp_path_factory.mktemp("workspace")) as watched:
        yield watched


@pytest.fixture
def watched(workspace: Watched) -> Watched:
    workspace.gateway.clear("notes")
    workspace.gateway.knob("notes", search_lag_seconds=0)
    return workspace


@requirement("notes-74")
def test_hundreds_of_rows_that_were_there_before_are_no_events(tmp_path: Path) -> None:
    with watched_from_now(tmp_path) as watched:
        remembered = watched.remembered()

        assert [] == watched.events()
        assert len(remembered) > 150
        assert {None} == {source["reached"] for source in remembered.values()}
        assert len(watched.rows("Everything")) == remembered_rows(watched, "Everything")


@requirement("notes-58", "notes-74")
def test_what_happens_within_the_minute_of_the_first_sight_is_seen(watched: Watched) -> None:
    page_id = watched.rows("Everything")[-1].id
    watched.update(page_id, Number=4711)
    made = [watched.create("Everything", Title="made at once"), watched.create("Design vendors", Titel="new")]
    watched.poll()

    assert [("Number", "4711")] == [(name, after) for name, _, after in watched.changes(page_id)]
    assert set(made) == set(watched.created())


@requirement("notes-82")
def test_changes_that_a_search_finds_are_seen_first(watched: Watched) -> None:
    (page_id,) = [page.id for page in watched.rows("Design bugs")]
    watched.update(page_id, Name="edited")
    watched.gateway.clear("notes")
    watched.gateway.knob("notes", search_lag_seconds=0)
    watched.poll()
    asked = queries(watched)

    assert watched.source("Design bugs").id in asked[:4]
    assert len(asked) <= events.polls.SOURCES_PER_POLL + 4
    assert 1 == len(watched.changes(page_id))


@requirement("notes-82")
def test_changes_that_no_search_finds_are_seen_when_their_turn_comes(watched: Watched) -> None:
    (page_id,) = [page.id for page in watched.rows("Design hiring")]
    watched.gateway.knob("notes", search_lag_seconds=10**10)
    watched.update(page_id, Name="edited")
    watched.poll()
    watched.poll()
    watched.poll()
    watched.poll()
    watched.poll()
    watched.poll()

    assert 1 == len(watched.changes(page_id))


@requirement("notes-70", "notes-82")
def test_a_delivery_is_heeded_in_the_middle_of_a_long_look(tmp_path: Path) -> None:
    with watching(tmp_path, GATEWAY_NOTES_BUDGET="20/1") as watched:
        leads = watched.source("Leads").id
        wait_until(lambda: watched.remembered().get(leads, {"reached": ""})["reached"] is None)
        page_id = watched.create(Name="while others are read")
        app = watched.gateway.app
        watched.gateway.run(app._watches.wake([watched.connection_id], [leads]))
        wait_until(lambda: watched.created() == [page_id])
        progress = watched.gateway.run(app.connections.show(watched.connection_id))["watching_progress"]

        assert watched.is_due()
        assert 0 < progress["done"] < progress["total"]


# What is shared later


@requirement("notes-74")
def test_a_database_that_is_shared_later_is_seen_in_silence(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Leads") as watched:
        share(watched.emulator, "Leads", "Salaries 2025")
        watched.poll()
        before = watched.events()
        page_id = watched.rows("Salaries 2025")[0].id
        watched.update(page_id, Salary=1)
        watched.poll()

        assert [] == before
        assert [("Salary", "60000", "1")] == watched.changes(page_id)


@requirement("notes-58")
def test_a_database_that_is_made_meanwhile_is_new_with_all_its_rows(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Leads") as watched:
        seeder = DataBuilder(watched.emulator.workspace)
        seeder.people = [watched.emulator.seeded.person]
        made = seeder.table("Made meanwhile", time.time(), [seeder.property("title", "Name")])
        made.created_at = time.time()
        pages = {watched.create("Made meanwhile", Name=str(number)) for number in range(120)}
        share(watched.emulator, "Leads", "Made meanwhile")
        watched.poll()

        assert pages == set(watched.created())
        assert 120 == len(watched.events())


@requirement("notes-83")
def test_what_is_no_longer_shared_is_left_alone_until_it_is_shared_again(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Leads", "Salaries 2025") as watched:
        page_id = watched.rows("Salaries 2025")[0].id
        share(watched.emulator, "Leads")
        watched.update(page_id, Salary=1)
        watched.poll()
        unshared = watched.events()
        watched.gateway.clear("notes")
        watched.poll()
        left_alone = all(
            watched.source("Salaries 2025").id not in path for _, path, _ in watched.gateway.journal("notes")
        )
        share(watched.emulator, "Leads", "Salaries 2025")
        watched.gateway.knob("notes", search_lag_seconds=0)
        watched.poll()
        watched.gateway.knob("notes", search_lag_seconds=10**10)
        watched.update(page_id, Salary=2)
        watched.poll()

        assert [] == unshared
        assert left_alone
        assert [("Salary", "60000", "1"), ("Salary", "1", "2")] == watched.changes(page_id)


# More rows than are read at once


@requirement("notes-74", "notes-85")
def test_a_large_data_source_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.sources, "MAX_NEW_PAGES", 2)
    with watched_from_now(tmp_path, "Everything") as watched:
        newest, *_, oldest = (page.id for page in watched.rows("Everything"))
        begun = remembered_rows(watched, "Everything")
        watched.update(newest, Number=4711)
        made = watched.create("Everything", Title="made meanwhile")
        watched.poll()
        ended = remembered_rows(watched, "Everything")
        watched.update(oldest, Number=4712)
        watched.poll()

        assert (200, len(watched.rows("Everything"))) == (begun, ended)
        assert [made] == watched.created()
        assert [("4711", newest), ("4712", oldest)] == [
            (event["to"], event["page_id"]) for event in watched.events(type="page.property_updated")
        ]


@requirement("notes-80")
def test_more_rows_than_the_application_lists_are_all_watched(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Everything", row_cap=7) as watched:
        pages = [page.id for page in watched.rows("Everything")]
        remembered = remembered_rows(watched, "Everything")
        watched.update(*pages[::25], Number=4711)
        watched.poll()

        assert len(pages) == remembered
        assert set(pages[::25]) == {event["page_id"] for event in watched.events()}


@requirement("notes-80", "notes-81")
def test_more_rows_of_one_minute_than_are_listed_are_a_gap_that_is_told_once(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Leads", "Everything", row_cap=5) as watched:
        made = {watched.create(Name=str(number)) for number in range(9)}
        other = watched.rows("Everything")[0].id
        watched.update(other, Number=4711)
        watched.poll()
        watched.poll()
        runs = watched.gateway.request("GET", "/v1/runs", params={"operation": "observe_events"}).data
        reply = watched.gateway.get("/notes/events")

        assert [("partial", "events_missed")] == [(run["status"], run["code"]) for run in runs]
        assert runs[0]["run_id"] in reply.headers["warning"]
        assert 5 == len(made & set(watched.created()))
        assert 1 == len(watched.changes(other))


@requirement("notes-68")
def test_a_row_that_slips_from_one_page_of_a_list_to_the_one_before_is_found(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Everything", short_pages=True) as watched:
        newest = [page.id for page in watched.rows("Everything")[:70]]
        watched.emulator.context.clock = ShiftedClock(-90)
        watched.update(*newest, Number=4711)
        watched.emulator.context.clock = ShiftedClock(0)
        watched.emulator.context.request_log.clear()
        watched.gateway.fault("notes", fault="delay", path="/v1/data_sources", seconds=0)
        watched.gateway.fault("notes", fault="delay", path="/v1/data_sources", seconds=0.5)
        watched.begin_to_look()
        wait_until(lambda: len(queries(watched)) == 1)
        watched.gateway.act("notes", action="trash_page", page_id=newest[0])
        watched.gateway.act("notes", action="trash_page", page_id=newest[66])
        watched.settle()

        assert set(newest) - {newest[66]} == {event["page_id"] for event in watched.events()}


# Crashes


@requirement("notes-68", "notes-85")
def test_killed_in_the_middle_of_the_first_look_it_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False, "short_pages": True}
        share(emulator, "Everything")
        settings = {"GATEWAY_WATCH": "on", "GATEWAY_NOTES_WATCH_SECONDS": "0.5", "GATEWAY_NOTES_BUDGET": "4/1"}
        with run_installation(sandbox, tmp_path, **settings) as installation:
            wait_until(
                lambda: 3 <= len([seen for seen in emulator.context.request_log if seen.path.endswith("/query")])
            )
            installation.end()
            emulator.context.knobs["short_pages"] = False
            pages = emulator.workspace.active_rows(source_of(emulator, "Everything"))
            edited = {"action": "update_page", "page_id": pages[0].id, "properties": {"Title": "edited"}}
            emulator.perform(edited)
            database_id = source_of(emulator, "Everything").parent.id
            made = emulator.perform({"action": "create_page", "database_id": database_id, "properties": {}})
            installation.settings = {**settings, "GATEWAY_NOTES_BUDGET": WIDE}
            installation.start()
            wait_until(lambda: 2 <= len(read(installation)))
            seen = len(emulator.context.request_log)
            wait_until(lambda: seen + 6 <= len(emulator.context.request_log))

            assert {("page.created", made["page_id"]), ("page.property_updated", pages[0].id)} == set(
                read(installation)
            )
            assert 2 == len(read(installation))
