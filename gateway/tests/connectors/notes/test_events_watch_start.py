"""The start of a watch: later changes are events, even before the first poll has ended."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.tests.connectors.notes.event_feed import EventFeed, find_source, share, start_event_feed
from harness.clocks import ShiftedClock
from harness.gateway_process import run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.kit.faults import Fault
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.default_data_builder import DataBuilder


@pytest.fixture(scope="module")
def module_feed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventFeed]:
    with start_event_feed(tmp_path_factory.mktemp("beginning"), "Leads", "Everything") as feed:
        yield feed


@pytest.fixture
def feed(module_feed: EventFeed) -> EventFeed:
    """A new connection whose first poll has a delayed first response."""
    return start_delayed(module_feed)


@pytest.fixture
def fresh_feed(tmp_path: Path) -> Iterator[EventFeed]:
    """Such a connection in a new sandbox without changes."""
    with start_event_feed(tmp_path, "Leads") as feed:
        yield start_delayed(feed)


def start_delayed(feed: EventFeed) -> EventFeed:
    """Create a connection whose first poll has a delayed first response."""
    feed.gateway.clear("notes")
    feed.gateway.knob("notes", search_lag_seconds=0)
    feed.gateway.fault("notes", fault="delay", path="/v1/users/me", seconds=0.5)
    feed.gateway.connections["notes"] = connect(feed)
    return feed


def connect(feed: EventFeed) -> str:
    """Create a connection to the workspace, and return its identifier."""
    credentials = feed.emulator.credentials()
    body = {
        "workspace_id": feed.gateway.workspace_id,
        "connector": "notes",
        "credentials": credentials,
        "verify": False,
    }
    connection_id: str = feed.gateway.operator("POST", "/v1/connections", json=body).data["connection_id"]
    return connection_id


def warnings(feed: EventFeed) -> list[str]:
    """Return the warnings of a read."""
    return feed.gateway.get("/notes/events").headers.get_list("warning")


@requirement("notes-73")
def test_page_created_before_the_first_response_is_an_event(fresh_feed: EventFeed) -> None:
    page_id = fresh_feed.create(Name="created in the first second")
    fresh_feed.wait_until_idle()

    assert [page_id] == fresh_feed.created_page_ids()
    assert [] == warnings(fresh_feed)


@requirement("notes-68", "notes-73")
def test_page_created_during_the_first_poll_is_one_event(feed: EventFeed) -> None:
    everything = feed.source("Everything").id
    feed.gateway.fault("notes", fault="delay", path=f"/v1/data_sources/{everything}/query", seconds=0.5)
    wait_until(lambda: sum(fault.times for fault in feed.emulator.context.faults) == 0)
    page_ids = {feed.create(Name="its database was read"), feed.create("Everything", Title="it is being read")}
    feed.wait_until_idle()
    feed.poll()

    assert page_ids <= set(feed.created_page_ids())
    assert [1, 1] == [feed.created_page_ids().count(page_id) for page_id in page_ids]


@requirement("notes-73")
def test_page_of_the_starting_minute_is_an_event_but_older_are_not(module_feed: EventFeed) -> None:
    module_feed.emulator.context.clock = ShiftedClock(-121)
    earlier = module_feed.create(Name="created two minutes before")
    module_feed.emulator.context.clock = ShiftedClock(0)
    same_minute = module_feed.create(Name="created in the same minute")
    module_feed.gateway.connections["notes"] = connect(module_feed)
    module_feed.wait_until_idle()

    assert earlier not in module_feed.created_page_ids()
    assert same_minute in module_feed.created_page_ids()


@requirement("notes-73", "notes-81")
def test_change_before_the_first_read_is_reported_as_a_gap(fresh_feed: EventFeed) -> None:
    page_id = fresh_feed.rows("Leads")[0].id
    fresh_feed.update(page_id, Value=4711)
    fresh_feed.wait_until_idle()
    warning_headers = warnings(fresh_feed)
    fresh_feed.update(page_id, Value=4712)
    fresh_feed.poll()

    assert 1 == len(warning_headers)
    assert "'Leads'" in warning_headers[0]
    assert [("Value", "4711", "4712")] == fresh_feed.changes(page_id)


@requirement("notes-73")
def test_slow_vendor_clock_hides_no_created_page(feed: EventFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "connector_gateway.connectors.notes.client.clock_skew",
        lambda date, now: -90.0 if date and now else 0.0,
    )
    feed.emulator.context.clock = ShiftedClock(-90)
    page_id = feed.create(Name="created by a slow clock")
    feed.wait_until_idle()
    feed.emulator.context.clock = ShiftedClock(0)

    assert page_id in feed.created_page_ids()


@requirement("notes-73", "notes-85")
def test_page_created_between_the_start_and_a_kill_is_an_event(tmp_path: Path) -> None:
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False}
        share(emulator, "Leads")
        emulator.context.faults.append(Fault("delay", path="/v1/search", seconds=2))
        with run_installation(sandbox, tmp_path, GATEWAY_WATCH="on") as installation:
            wait_until(lambda: emulator.context.faults[0].times == 0)
            database_id = find_source(emulator, "Leads").parent.id
            response = emulator.perform({"action": "create_page", "database_id": database_id, "properties": {}})
            installation.end()
            installation.start()
            query = {"connection_id": installation.connections["notes"]}
            headers = {"Authorization": f"Bearer {installation.key}"}
            url = f"{installation.base_url}/v1/connectors/notes/events"
            wait_until(lambda: bool(installation.http.get(url, params=query, headers=headers).json()["data"]))
            data = installation.http.get(url, params=query, headers=headers).json()["data"]

    assert [("page.created", response["page_id"])] == [(event["type"], event["page_id"]) for event in data]


@requirement("notes-73")
def test_page_in_a_database_created_during_reauthorisation_is_an_event(tmp_path: Path) -> None:
    with start_event_feed(tmp_path, "Leads") as feed:
        feed.gateway.revoke("notes")
        seeder = DataBuilder(feed.emulator.workspace)
        seeder.people = [feed.emulator.seeded.person]
        source = seeder.table("New database", time.time(), [seeder.property("title", "Name")])
        source.created_at = time.time()
        page_id = feed.create("New database", Name="created while revoked")
        feed.gateway.authorise("notes")
        share(feed.emulator, "Leads", "New database")
        body = {"credentials": feed.emulator.credentials(), "verify": False}
        feed.gateway.operator("PATCH", f"/v1/connections/{feed.connection_id}", json=body)
        feed.wake()
        feed.wait_until_idle()

        assert [page_id] == feed.created_page_ids()


@requirement("notes-73", "notes-82")
def test_new_pages_of_a_large_workspace_are_observed_first(tmp_path: Path) -> None:
    with start_event_feed(tmp_path) as feed:
        start_delayed(feed)
        page_id = feed.create("Design bugs", Name="created in the first second")
        feed.wait_until_idle()
        (first, *_) = [path for _, path, _ in feed.gateway.journal("notes") if path.endswith("/query")]

        assert feed.source("Design bugs").id in first
        assert [page_id] == feed.created_page_ids()


# A revoked authorisation


@requirement("common-69", "notes-84")
def test_events_are_rejected_when_the_authorisation_is_revoked(module_feed: EventFeed) -> None:
    before = module_feed.gateway.get("/notes/events")
    module_feed.gateway.revoke("notes")
    rejected = module_feed.gateway.get("/notes/events")
    module_feed.gateway.authorise("notes")
    after = module_feed.gateway.get("/notes/events")

    assert (200, 401, 200) == (before.status, rejected.status, after.status)
    assert "connection_revoked" == rejected.code


@requirement("notes-84")
def test_successful_read_after_reauthorisation_triggers_a_poll(module_feed: EventFeed) -> None:
    page_id = module_feed.create(Name="to be changed")
    module_feed.poll()
    module_feed.gateway.revoke("notes")
    module_feed.poll()
    module_feed.update(page_id, Value=7)
    module_feed.gateway.authorise("notes")
    module_feed.gateway.get("/notes/events")
    wait_until(lambda: module_feed.changes(page_id) == [("Value", "", "7")])


@requirement("notes-84")
def test_events_are_readable_while_the_vendor_fails(feed: EventFeed) -> None:
    feed.gateway.fault("notes", fault="status", status=500, path="/v1/users/me", times=10)
    reply = feed.gateway.get("/notes/events")
    feed.gateway.clear("notes")

    assert 200 == reply.status
