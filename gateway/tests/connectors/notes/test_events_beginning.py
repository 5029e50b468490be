"""The beginning of a watch: what is made or changed after it is an event, also before everything was polled once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.tests.connectors.notes.watching import Watched, share, source_of, watched_from_now
from harness.clocks import ShiftedClock
from harness.installation import run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.kit.faults import Fault
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.data_builder import DataBuilder


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_from_now(tmp_path_factory.mktemp("beginning"), "Leads", "Everything") as watched:
        yield watched


@pytest.fixture
def watched(room: Watched) -> Watched:
    """A new connection, whose first poll waits for its first answer for a while."""
    return begun(room)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Watched]:
    """The same where nobody has made or changed anything."""
    with watched_from_now(tmp_path, "Leads") as watched:
        yield begun(watched)


def begun(watched: Watched) -> Watched:
    """A new connection, whose first poll waits for its first answer for a while."""
    watched.gateway.clear("notes")
    watched.gateway.knob("notes", search_lag_seconds=0)
    watched.gateway.fault("notes", fault="delay", path="/v1/users/me", seconds=0.5)
    watched.gateway.connections["notes"] = connect(watched)
    return watched


def connect(watched: Watched) -> str:
    """A new connection of the workspace."""
    credentials = watched.emulator.credentials()
    whose = {
        "workspace_id": watched.gateway.workspace_id,
        "connector": "notes",
        "credentials": credentials,
        "verify": False,
    }
    made: str = watched.gateway.operator("POST", "/v1/connections", json=whose).data["connection_id"]
    return made


def warnings(watched: Watched) -> list[str]:
    """What readers are warned of."""
    return watched.gateway.get("/notes/events").headers.get_list("warning")


@requirement("notes-73")
def test_a_page_made_before_the_first_look_has_read_anything_is_an_event(fresh: Watched) -> None:
    page_id = fresh.create(Name="made in the first second")
    fresh.settle()

    assert [page_id] == fresh.created()
    assert [] == warnings(fresh)


@requirement("notes-68", "notes-73")
def test_a_page_made_during_the_first_look_is_one_event(watched: Watched) -> None:
    everything = watched.source("Everything").id
    watched.gateway.fault("notes", fault="delay", path=f"/v1/data_sources/{everything}/query", seconds=0.5)
    wait_until(lambda: sum(fault.times for fault in watched.emulator.context.faults) == 0)
    made = {watched.create(Name="its database was read"), watched.create("Everything", Title="it is being read")}
    watched.settle()
    watched.poll()

    assert made <= set(watched.created())
    assert [1, 1] == [watched.created().count(page_id) for page_id in made]


@requirement("notes-73")
def test_a_page_of_minutes_before_is_no_event_and_one_of_the_very_minute_is(room: Watched) -> None:
    room.emulator.context.clock = ShiftedClock(-121)
    before = room.create(Name="made two minutes before")
    room.emulator.context.clock = ShiftedClock(0)
    in_doubt = room.create(Name="nobody can tell whether that was before")
    room.gateway.connections["notes"] = connect(room)
    room.settle()

    assert before not in room.created()
    assert in_doubt in room.created()


@requirement("notes-73", "notes-81")
def test_a_change_made_before_the_first_look_has_read_the_page_is_told_to_be_missing(fresh: Watched) -> None:
    page_id = fresh.rows("Leads")[0].id
    fresh.update(page_id, Value=4711)
    fresh.settle()
    told = warnings(fresh)
    fresh.update(page_id, Value=4712)
    fresh.poll()

    assert 1 == len(told)
    assert "'Leads'" in told[0]
    assert [("Value", "4711", "4712")] == fresh.changes(page_id)


@requirement("notes-73")
def test_a_vendor_whose_clock_is_behind_hides_no_page(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "connector_gateway.connectors.notes.client.clock_skew",
        lambda date, now: -90.0 if date and now else 0.0,
    )
    watched.emulator.context.clock = ShiftedClock(-90)
    page_id = watched.create(Name="made by a clock that is behind")
    watched.settle()
    watched.emulator.context.clock = ShiftedClock(0)

    assert page_id in watched.created()


@requirement("notes-73", "notes-85")
def test_a_page_made_between_the_beginning_and_a_kill_is_an_event(tmp_path: Path) -> None:
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False}
        share(emulator, "Leads")
        emulator.context.faults.append(Fault("delay", path="/v1/search", seconds=2))
        with run_installation(sandbox, tmp_path, GATEWAY_WATCH="on") as installation:
            wait_until(lambda: emulator.context.faults[0].times == 0)
            database_id = source_of(emulator, "Leads").parent.id
            made = emulator.perform({"action": "create_page", "database_id": database_id, "properties": {}})
            installation.end()
            installation.start()
            query = {"connection_id": installation.connections["notes"]}
            headers = {"Authorization": f"Bearer {installation.key}"}
            url = f"{installation.base_url}/v1/connectors/notes/events"
            wait_until(lambda: bool(installation.http.get(url, params=query, headers=headers).json()["data"]))
            data = installation.http.get(url, params=query, headers=headers).json()["data"]

    assert [("page.created", made["page_id"])] == [(event["type"], event["page_id"]) for event in data]


@requirement("notes-73")
def test_what_is_made_in_a_database_while_credentials_are_replaced_is_an_event(tmp_path: Path) -> None:
    with watched_from_now(tmp_path, "Leads") as watched:
        watched.gateway.revoke("notes")
        seeder = DataBuilder(watched.emulator.workspace)
        seeder.people = [watched.emulator.seeded.person]
        made = seeder.table("Made meanwhile", time.time(), [seeder.property("title", "Name")])
        made.created_at = time.time()
        page_id = watched.create("Made meanwhile", Name="while nobody could poll")
        watched.gateway.authorise("notes")
        share(watched.emulator, "Leads", "Made meanwhile")
        body = {"credentials": watched.emulator.credentials(), "verify": False}
        watched.gateway.operator("PATCH", f"/v1/connections/{watched.connection_id}", json=body)
        watched.rouse()
        watched.settle()

        assert [page_id] == watched.created()


@requirement("notes-73", "notes-82")
def test_in_a_large_workspace_what_was_made_since_the_beginning_is_seen_first(tmp_path: Path) -> None:
    with watched_from_now(tmp_path) as watched:
        begun(watched)
        page_id = watched.create("Design bugs", Name="made in the first second")
        watched.settle()
        (first, *_) = [path for _, path, _ in watched.gateway.journal("notes") if path.endswith("/query")]

        assert watched.source("Design bugs").id in first
        assert [page_id] == watched.created()


# A withdrawn authorisation


@requirement("common-69", "notes-84")
def test_events_are_refused_at_once_when_the_authorisation_is_withdrawn(room: Watched) -> None:
    before = room.gateway.get("/notes/events")
    room.gateway.revoke("notes")
    refused = room.gateway.get("/notes/events")
    room.gateway.authorise("notes")
    after = room.gateway.get("/notes/events")

    assert (200, 401, 200) == (before.status, refused.status, after.status)
    assert "connection_revoked" == refused.code


@requirement("notes-84")
def test_what_was_missed_is_looked_for_as_soon_as_a_reader_gets_through_again(room: Watched) -> None:
    page_id = room.create(Name="to be changed")
    room.poll()
    room.gateway.revoke("notes")
    room.poll()
    room.update(page_id, Value=7)
    room.gateway.authorise("notes")
    room.gateway.get("/notes/events")
    wait_until(lambda: room.changes(page_id) == [("Value", "", "7")])


@requirement("notes-84")
def test_events_are_read_while_the_third_party_fails(watched: Watched) -> None:
    watched.gateway.fault("notes", fault="status", status=500, path="/v1/users/me", times=10)
    reply = watched.gateway.get("/notes/events")
    watched.gateway.clear("notes")

    assert 200 == reply.status
