"""Events of pages: creation, and each changed value once, with its previous value."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.tests.connectors.notes.event_feed import EventFeed, run_event_feed, start_event_feed
from harness.clocks import ShiftedClock
from harness.requirement import requirement
from harness.wait import wait_until


@pytest.fixture(scope="module")
def module_feed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventFeed]:
    with start_event_feed(tmp_path_factory.mktemp("events"), "Leads", "Everything") as feed:
        yield feed


@pytest.fixture
def feed(module_feed: EventFeed) -> EventFeed:
    module_feed.gateway.clear("notes")
    module_feed.gateway.knob("notes", search_lag_seconds=0)
    return module_feed


@pytest.fixture
def page(feed: EventFeed) -> str:
    """A page that was polled."""
    page_id = feed.create(Name="Acme", Stage="Open", Value=1)
    feed.poll()
    return page_id


# Pages


@requirement("notes-57", "notes-58")
def test_page_created_by_a_person_is_observed(feed: EventFeed) -> None:
    page_id = feed.create(Name="created")
    feed.poll()

    (event,) = [event for event in feed.events(type="page.created") if event["page_id"] == page_id]
    assert {"event_id", "type", "page_id", "property", "from", "to", "observed_at"} == event.keys()
    assert event["event_id"].startswith("evt_")
    assert (None, None, None) == (event["property"], event["from"], event["to"])


@requirement("common-235")
def test_an_announcement_in_a_response_to_a_poll_is_counted(feed: EventFeed) -> None:
    changes = feed.gateway.app.runs.vendor_changes
    changes.counted.clear()
    feed.gateway.fault("notes", fault="status", status=503, headers={"Sunset": "Sat, 01 Jan 2028 00:00:00 GMT"})
    feed.poll()

    assert {("sunset", "2028-01-01")} == {(key.kind, key.place) for key in changes.counted}


@requirement("notes-71")
def test_writes_through_the_gateway_are_observed(feed: EventFeed) -> None:
    database_id = feed.source("Leads").parent.id
    page_id = feed.gateway.post("/notes/pages", database_id=database_id, properties={"Name": "ours"}).data["page_id"]
    feed.poll()
    feed.gateway.patch(f"/notes/pages/{page_id}", properties={"Value": 4})
    feed.poll()

    assert page_id in feed.created_page_ids()
    assert [("Value", "", "4")] == feed.changes(page_id)


@requirement("notes-75")
def test_trashing_and_restoring_a_page_is_no_event(feed: EventFeed, page: str) -> None:
    before = feed.events()
    feed.gateway.act("notes", action="trash_page", page_id=page)
    feed.poll()
    feed.gateway.act("notes", action="restore_page", page_id=page)
    feed.poll()

    assert before == feed.events()


@requirement("notes-75")
def test_changes_around_trashing_are_observed_after_restoring(feed: EventFeed, page: str) -> None:
    feed.update(page, Value=2)
    feed.gateway.act("notes", action="trash_page", page_id=page)
    feed.poll()
    feed.gateway.act("notes", action="restore_page", page_id=page)
    feed.update(page, Stage="Won")
    feed.poll()

    assert {("Value", "1", "2"), ("Stage", "Open", "Won")} == set(feed.changes(page))


@requirement("notes-75")
def test_restored_page_from_before_the_watch_is_not_new(feed: EventFeed) -> None:
    source = feed.source("Leads")
    trashed = next(uid for uid in source.rows if feed.emulator.workspace.pages[uid].in_trash)
    feed.gateway.act("notes", action="restore_page", page_id=trashed)
    feed.poll()

    assert trashed not in feed.created_page_ids()


# Values


@requirement("notes-59")
def test_two_values_changed_together_are_two_events(feed: EventFeed, page: str) -> None:
    feed.update(page, Value=2.5, Stage="Won")
    feed.poll()

    assert {("Value", "1", "2.5"), ("Stage", "Open", "Won")} == set(feed.changes(page))


@requirement("notes-68", "notes-72")
def test_repeated_changes_within_a_minute_are_separate_events(feed: EventFeed, page: str) -> None:
    feed.update(page, Stage="Won")
    feed.poll()
    feed.update(page, Stage="Open")
    feed.poll()
    feed.update(page, Stage="Won")
    feed.poll()

    to_won, to_open = ("Stage", "Open", "Won"), ("Stage", "Won", "Open")
    assert [to_won, to_open, to_won] == feed.changes(page)


@requirement("notes-72")
@pytest.mark.parametrize("seconds", [-90, 90])
def test_vendor_clock_skew_hides_no_events(feed: EventFeed, page: str, seconds: float) -> None:
    feed.emulator.context.clock = ShiftedClock(seconds)
    feed.update(page, Value=2)
    page_id = feed.create(Name="with clock skew")
    feed.poll()
    feed.emulator.context.clock = ShiftedClock(0)

    assert [("Value", "1", "2")] == feed.changes(page)
    assert page_id in feed.created_page_ids()


@requirement("notes-60")
def test_related_pages_are_reported_by_identifier(feed: EventFeed) -> None:
    first, second = sorted(page.id for page in feed.rows("Leads")[:2])
    page_id = feed.create("Everything", Title="related", Relation=[second])
    feed.poll()
    feed.update(page_id, Relation=[second, first])
    feed.poll()

    assert [("Relation", second, f"{first}, {second}")] == feed.changes(page_id)


@requirement("notes-78")
def test_truncated_values_are_compared_in_full(feed: EventFeed) -> None:
    leads = sorted(page.id for page in feed.rows("Leads"))
    people = [user.name for user in feed.emulator.seeded.workspace.users.values() if user.kind == "person"]
    page_id = feed.create("Everything", Title="long", Relation=leads[:40], People=people[:30])
    feed.poll()
    feed.update(page_id, Relation=leads[:39], People=people[:31])
    feed.poll()

    assert {
        ("Relation", ", ".join(leads[:40]), ", ".join(leads[:39])),
        ("People", ", ".join(people[:30]), ", ".join(people[:31])),
    } == set(feed.changes(page_id))


def test_reordered_people_or_options_are_no_change(feed: EventFeed) -> None:
    page_id = feed.create("Leads", Tags=["eu", "us"], Owner=["Hana 佐藤", "Zoë de Vries"])
    feed.poll()
    feed.update(page_id, Tags=["us", "eu"], Owner=["Zoë de Vries", "Hana 佐藤"])
    feed.poll()

    assert [] == feed.changes(page_id)


# Schemas


@requirement("notes-76")
def test_renamed_property_is_no_change_and_reported_by_its_new_name(feed: EventFeed, page: str) -> None:
    before = feed.events()
    feed.change_schema("rename_property", property="Value", name="Worth")
    feed.poll()
    renamed = feed.events()
    feed.update(page, Worth=2)
    feed.poll()
    feed.change_schema("rename_property", property="Worth", name="Value")

    assert before == renamed
    assert [("Worth", "1", "2")] == feed.changes(page)


@requirement("notes-76")
def test_renamed_option_is_no_change_and_reported_by_its_new_name(feed: EventFeed, page: str) -> None:
    feed.change_schema("rename_option", property="Stage", option="Open", name="Opened")
    feed.update(page, Value=2)
    feed.poll()
    renamed = feed.changes(page)
    feed.update(page, Stage="Won")
    feed.poll()
    feed.change_schema("rename_option", property="Stage", option="Opened", name="Open")

    assert [("Value", "1", "2")] == renamed
    assert ("Stage", "Opened", "Won") == feed.changes(page)[-1]


@requirement("notes-77")
def test_added_property_starts_empty(feed: EventFeed, page: str) -> None:
    feed.change_schema("add_property", name="Note", type="rich_text")
    feed.change_schema("add_property", name="Signed", type="checkbox")
    feed.update(page, Value=2)
    feed.poll()
    added = feed.changes(page)
    feed.update(page, Note="first", Signed=True)
    feed.poll()

    assert [("Value", "1", "2")] == added
    assert {("Note", "", "first"), ("Signed", "false", "true")} == set(feed.changes(page)[1:])


@requirement("notes-77")
def test_added_and_filled_property_was_empty_before(feed: EventFeed, page: str) -> None:
    feed.change_schema("add_property", name="Colour", type="select", options=["red"])
    feed.update(page, Colour="red")
    feed.poll()

    assert [("Colour", "", "red")] == feed.changes(page)


@requirement("notes-56", "notes-61", "notes-62", "notes-63", "notes-64", "notes-65")
def test_events_are_filtered_by_type_and_time_and_paged(feed: EventFeed) -> None:
    feed.update(feed.create(Name="read"), Value=1)
    feed.poll()
    gateway, events = feed.gateway, feed.events()
    first = gateway.get("/notes/events", limit=len(events) - 1)
    rest = gateway.get("/notes/events", limit=len(events) - 1, cursor=first.body["next_cursor"])
    other_filter = gateway.get("/notes/events", limit=2, cursor=first.body["next_cursor"], type="page.created")

    assert sorted(events, key=lambda event: str(event["observed_at"])) == events == first.data + rest.data
    assert (None, "invalid_cursor") == (rest.body["next_cursor"], other_filter.code)
    assert {"page.created"} == {event["type"] for event in feed.events(type="page.created")}
    assert events[-1:] == feed.events(since=events[-1]["observed_at"])[-1:]
    assert [] == feed.events(since="2100-01-01T00:00:00Z")
    assert "no longer stored" in gateway.get("/notes/events", since="2020-01-01").headers["warning"]
    assert ["since"] == [detail["parameter"] for detail in gateway.get("/notes/events", since="yesterday").details]


# Vendor failures


@requirement("notes-84")
@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "status": 429, "headers": {"Retry-After": "0"}, "times": 5},
        {"fault": "status", "status": 500, "times": 2},
        {"fault": "drop_after", "times": 2},
    ],
    ids=["throttled", "failing", "connection lost"],
)
def test_vendor_failures_delay_events_without_loss(feed: EventFeed, page: str, fault: dict[str, Any]) -> None:
    feed.update(page, Value=2)
    feed.gateway.fault("notes", path="/v1/data_sources", **fault)
    feed.poll()
    feed.update(page, Value=3)
    feed.poll()

    assert [("Value", "1", "2"), ("Value", "2", "3")] == feed.changes(page)


@requirement("notes-84")
def test_failing_data_source_is_read_later_without_delaying_others(feed: EventFeed, page: str) -> None:
    everything = feed.source("Everything").id
    other = feed.create("Everything", Title="delayed")
    feed.update(page, Value=2)
    feed.gateway.fault("notes", fault="status", status=500, path=f"/v1/data_sources/{everything}", times=3)
    feed.poll()
    after_first_poll = feed.changes(page), feed.created_page_ids()
    feed.poll()

    assert [("Value", "1", "2")] == after_first_poll[0]
    assert other not in after_first_poll[1]
    assert other in feed.created_page_ids()


# The poll interval


@requirement("notes-69")
def test_events_are_observed_at_the_poll_interval(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("period")
    with run_event_feed(folder, ["Leads"], GATEWAY_NOTES_WATCH_SECONDS="0.2") as feed:
        wait_until(lambda: None in {source["reached"] for source in feed.source_snapshots().values()})
        page_id = feed.create(Name="seen in time")
        wait_until(lambda: feed.created_page_ids() == [page_id])
