"""What is observed of pages: that they are made, and every value that changes, once, with what it was before."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.tests.connectors.notes.watching import Watched, watched_from_now, watching
from harness.clocks import ShiftedClock
from harness.requirement import requirement
from harness.wait import wait_until


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_from_now(tmp_path_factory.mktemp("events"), "Leads", "Everything") as watched:
        yield watched


@pytest.fixture
def watched(room: Watched) -> Watched:
    room.gateway.clear("notes")
    room.gateway.knob("notes", search_lag_seconds=0)
    return room


@pytest.fixture
def page(watched: Watched) -> str:
    """A page that is known."""
    page_id = watched.create(Name="Acme", Stage="Open", Value=1)
    watched.poll()
    return page_id


# Pages


@requirement("notes-57", "notes-58")
def test_a_page_that_a_person_makes_is_observed(watched: Watched) -> None:
    page_id = watched.create(Name="made")
    watched.poll()

    (event,) = [event for event in watched.events(type="page.created") if event["page_id"] == page_id]
    assert {"event_id", "type", "page_id", "property", "from", "to", "observed_at"} == event.keys()
    assert event["event_id"].startswith("evt_")
    assert (None, None, None) == (event["property"], event["from"], event["to"])


@requirement("notes-71")
def test_what_is_made_and_changed_through_the_service_is_observed_too(watched: Watched) -> None:
    database_id = watched.source("Leads").parent.id
    made = watched.gateway.post("/notes/pages", database_id=database_id, properties={"Name": "ours"}).data["page_id"]
    watched.poll()
    watched.gateway.patch(f"/notes/pages/{made}", properties={"Value": 4})
    watched.poll()

    assert made in watched.created()
    assert [("Value", "", "4")] == watched.changes(made)


@requirement("notes-75")
def test_the_way_into_the_trash_and_back_is_no_event(watched: Watched, page: str) -> None:
    before = watched.events()
    watched.gateway.act("notes", action="trash_page", page_id=page)
    watched.poll()
    watched.gateway.act("notes", action="restore_page", page_id=page)
    watched.poll()

    assert before == watched.events()


@requirement("notes-75")
def test_what_changed_around_the_trash_is_seen_after_it(watched: Watched, page: str) -> None:
    watched.update(page, Value=2)
    watched.gateway.act("notes", action="trash_page", page_id=page)
    watched.poll()
    watched.gateway.act("notes", action="restore_page", page_id=page)
    watched.update(page, Stage="Won")
    watched.poll()

    assert {("Value", "1", "2"), ("Stage", "Open", "Won")} == set(watched.changes(page))


@requirement("notes-75")
def test_a_page_that_was_in_the_trash_at_first_sight_is_no_new_one_when_it_comes_back(watched: Watched) -> None:
    source = watched.source("Leads")
    trashed = next(uid for uid in source.rows if watched.emulator.workspace.pages[uid].in_trash)
    watched.gateway.act("notes", action="restore_page", page_id=trashed)
    watched.poll()

    assert trashed not in watched.created()


# Values


@requirement("notes-59")
def test_two_values_changed_at_once_are_two_events(watched: Watched, page: str) -> None:
    watched.update(page, Value=2.5, Stage="Won")
    watched.poll()

    assert {("Value", "1", "2.5"), ("Stage", "Open", "Won")} == set(watched.changes(page))


@requirement("notes-68", "notes-72")
def test_changes_back_and_forth_within_a_minute_are_as_many_events(watched: Watched, page: str) -> None:
    watched.update(page, Stage="Won")
    watched.poll()
    watched.update(page, Stage="Open")
    watched.poll()
    watched.update(page, Stage="Won")
    watched.poll()

    there, back = ("Stage", "Open", "Won"), ("Stage", "Won", "Open")
    assert [there, back, there] == watched.changes(page)


@requirement("notes-72")
@pytest.mark.parametrize("seconds", [-90, 90])
def test_the_clock_of_the_application_may_be_off(watched: Watched, page: str, seconds: float) -> None:
    watched.emulator.context.clock = ShiftedClock(seconds)
    watched.update(page, Value=2)
    made = watched.create(Name="by another clock")
    watched.poll()
    watched.emulator.context.clock = ShiftedClock(0)

    assert [("Value", "1", "2")] == watched.changes(page)
    assert made in watched.created()


@requirement("notes-60")
def test_related_pages_are_told_by_their_identifiers(watched: Watched) -> None:
    first, second = sorted(page.id for page in watched.rows("Leads")[:2])
    page_id = watched.create("Everything", Title="related", Relation=[second])
    watched.poll()
    watched.update(page_id, Relation=[second, first])
    watched.poll()

    assert [("Relation", second, f"{first}, {second}")] == watched.changes(page_id)


@requirement("notes-78")
def test_values_that_a_page_shows_in_part_are_compared_whole(watched: Watched) -> None:
    leads = sorted(page.id for page in watched.rows("Leads"))
    people = [user.name for user in watched.emulator.seeded.workspace.users.values() if user.kind == "person"]
    page_id = watched.create("Everything", Title="long", Relation=leads[:40], People=people[:30])
    watched.poll()
    watched.update(page_id, Relation=leads[:39], People=people[:31])
    watched.poll()

    assert {
        ("Relation", ", ".join(leads[:40]), ", ".join(leads[:39])),
        ("People", ", ".join(people[:30]), ", ".join(people[:31])),
    } == set(watched.changes(page_id))


def test_another_order_of_people_or_options_is_no_change(watched: Watched) -> None:
    page_id = watched.create("Leads", Tags=["eu", "us"], Owner=["Hana 佐藤", "Zoë de Vries"])
    watched.poll()
    watched.update(page_id, Tags=["us", "eu"], Owner=["Zoë de Vries", "Hana 佐藤"])
    watched.poll()

    assert [] == watched.changes(page_id)


# Schemas


@requirement("notes-76")
def test_a_renamed_property_is_no_change_and_is_told_by_its_new_name(watched: Watched, page: str) -> None:
    before = watched.events()
    watched.schema("rename_property", property="Value", name="Worth")
    watched.poll()
    renamed = watched.events()
    watched.update(page, Worth=2)
    watched.poll()
    watched.schema("rename_property", property="Worth", name="Value")

    assert before == renamed
    assert [("Worth", "1", "2")] == watched.changes(page)


@requirement("notes-76")
def test_a_renamed_option_is_no_change_and_is_told_by_its_new_name(watched: Watched, page: str) -> None:
    watched.schema("rename_option", property="Stage", option="Open", name="Opened")
    watched.update(page, Value=2)
    watched.poll()
    renamed = watched.changes(page)
    watched.update(page, Stage="Won")
    watched.poll()
    watched.schema("rename_option", property="Stage", option="Opened", name="Open")

    assert [("Value", "1", "2")] == renamed
    assert ("Stage", "Opened", "Won") == watched.changes(page)[-1]


@requirement("notes-77")
def test_a_property_that_is_added_begins_empty(watched: Watched, page: str) -> None:
    watched.schema("add_property", name="Note", type="rich_text")
    watched.schema("add_property", name="Signed", type="checkbox")
    watched.update(page, Value=2)
    watched.poll()
    added = watched.changes(page)
    watched.update(page, Note="first", Signed=True)
    watched.poll()

    assert [("Value", "1", "2")] == added
    assert {("Note", "", "first"), ("Signed", "false", "true")} == set(watched.changes(page)[1:])


@requirement("notes-77")
def test_a_property_that_is_added_and_filled_at_once_was_empty_before(watched: Watched, page: str) -> None:
    watched.schema("add_property", name="Colour", type="select", options=["red"])
    watched.update(page, Colour="red")
    watched.poll()

    assert [("Colour", "", "red")] == watched.changes(page)


@requirement("notes-56", "notes-61", "notes-62", "notes-63", "notes-64", "notes-65")
def test_the_feed_is_read_by_type_instant_and_page(watched: Watched) -> None:
    watched.update(watched.create(Name="read"), Value=1)
    watched.poll()
    feed, events = watched.gateway, watched.events()
    first = feed.get("/notes/events", limit=len(events) - 1)
    rest = feed.get("/notes/events", limit=len(events) - 1, cursor=first.body["next_cursor"])
    otherwise = feed.get("/notes/events", limit=2, cursor=first.body["next_cursor"], type="page.created")

    assert sorted(events, key=lambda event: str(event["observed_at"])) == events == first.data + rest.data
    assert (None, "invalid_cursor") == (rest.body["next_cursor"], otherwise.code)
    assert {"page.created"} == {event["type"] for event in watched.events(type="page.created")}
    assert events[-1:] == watched.events(since=events[-1]["observed_at"])[-1:]
    assert [] == watched.events(since="2100-01-01T00:00:00Z")
    assert "no longer stored" in feed.get("/notes/events", since="2020-01-01").headers["warning"]
    assert ["since"] == [detail["parameter"] for detail in feed.get("/notes/events", since="yesterday").details]


# Trouble


@requirement("notes-84")
@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "status": 429, "headers": {"Retry-After": "0"}, "times": 5},
        {"fault": "status", "status": 500, "times": 2},
        {"fault": "drop_after", "times": 2},
    ],
    ids=["throttled", "failing", "cut"],
)
def test_trouble_delays_events_and_loses_none(watched: Watched, page: str, fault: dict[str, Any]) -> None:
    watched.update(page, Value=2)
    watched.gateway.fault("notes", path="/v1/data_sources", **fault)
    watched.poll()
    watched.update(page, Value=3)
    watched.poll()

    assert [("Value", "1", "2"), ("Value", "2", "3")] == watched.changes(page)


@requirement("notes-84")
def test_a_data_source_that_cannot_be_read_is_read_later_and_does_not_hold_up_others(
    watched: Watched, page: str
) -> None:
    everything = watched.source("Everything").id
    other = watched.create("Everything", Title="behind the fault")
    watched.update(page, Value=2)
    watched.gateway.fault("notes", fault="status", status=500, path=f"/v1/data_sources/{everything}", times=3)
    watched.poll()
    meanwhile = watched.changes(page), watched.created()
    watched.poll()

    assert [("Value", "1", "2")] == meanwhile[0]
    assert other not in meanwhile[1]
    assert other in watched.created()


# The period


@requirement("notes-69")
def test_events_come_by_themselves_every_period(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("period")
    with watching(folder, ["Leads"], GATEWAY_NOTES_WATCH_SECONDS="0.2") as watched:
        wait_until(lambda: None in {source["reached"] for source in watched.remembered().values()})
        page_id = watched.create(Name="seen in time")
        wait_until(lambda: watched.created() == [page_id])
