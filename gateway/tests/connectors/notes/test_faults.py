"""What the notes room does when something is wrong: with the request, with the vendor, or in between."""

from typing import Any
from uuid import uuid4

import pytest

from gateway.tests.connectors.notes.pages import (
    BLOCKS,
    PAGES,
    answers,
    body_of,
    create,
    found,
    new_name,
    update,
    writes,
)
from harness.gateway_server import Gateway
from harness.requirement import requirement
from workspace_sandbox.notes import NotesEmulator

# Databases and pages


@requirement("notes-47")
@pytest.mark.parametrize("route", ["/notes/pages", "/notes/pages/search"])
def test_a_database_that_is_not_shared_is_forbidden(gateway: Gateway, route: str) -> None:
    unshared = gateway.examples("notes")["unshared_database_id"]
    more = {"properties": {"Name": "x"}} if route.endswith("pages") else {"property": "Name", "value": "x"}
    reply = gateway.post(route, database_id=unshared, **more)

    assert (403, "database_not_shared") == (reply.status, reply.code)
    assert [] == writes(gateway)


@requirement("notes-47")
def test_a_database_that_does_not_exist_looks_the_same(gateway: Gateway) -> None:
    assert "database_not_shared" == create(gateway, str(uuid4()), "x").code


@requirement("notes-48")
@pytest.mark.parametrize("database_id", ["nope", "", "../users/me", "0b1c2d3e-4f50-4617-8293", "g" * 32, 5, None])
def test_a_malformed_identifier_is_refused_before_anything_is_asked(gateway: Gateway, database_id: Any) -> None:
    reply = gateway.post("/notes/pages", database_id=database_id, properties={"Name": "x"})

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["database_id"] == [detail["parameter"] for detail in reply.details]
    assert "pattern" not in reply.details[0]["message"]
    assert [] == gateway.journal("notes")


def test_an_identifier_may_come_without_dashes(gateway: Gateway, leads: str) -> None:
    name = new_name()
    create(gateway, leads.replace("-", ""), name)

    assert 1 == found(gateway, leads, name)


@requirement("notes-49")
def test_a_page_that_does_not_exist_is_not_found(gateway: Gateway) -> None:
    reply = gateway.patch(f"/notes/pages/{uuid4()}", archived=True)

    assert (404, "page_not_found") == (reply.status, reply.code)


@pytest.mark.parametrize("name", ["Stage", "Tags", "Status"])
def test_no_option_is_ever_created_on_the_way(gateway: Gateway, leads: str, name: str) -> None:
    gateway.post("/notes/pages", database_id=leads, properties={"Name": "x", name: "Imaginary"})
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": "x", name: "Imaginary"})

    assert "select_option_missing" == reply.code


@requirement("notes-42")
def test_of_several_sources_the_one_that_has_the_properties_is_written_to(gateway: Gateway) -> None:
    database_id, name = gateway.examples("notes")["multi_source_database_id"], new_name()
    gateway.post("/notes/pages", database_id=database_id, properties={"Client": name, "Email": "a@b.test"})
    reply = gateway.post("/notes/pages/search", database_id=database_id, property="Client", value=name)

    assert 1 == reply.data["match_count"]


def test_a_database_of_several_sources_is_listed_by_its_own_title(gateway: Gateway) -> None:
    listed = gateway.get("/notes/databases", query="Projects & clients").data

    assert [gateway.examples("notes")["multi_source_database_id"]] == [item["database_id"] for item in listed]
    assert {"Project", "Budget", "Client", "Email", "Site"} == set(listed[0]["properties"])


# Updating


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A page of its own for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


@requirement("notes-30")
def test_a_page_that_changed_since_is_left_alone(gateway: Gateway, page_id: str) -> None:
    reply = update(gateway, page_id, properties={"Value": 1}, if_unmodified_since="2020-01-01T00:00:00Z")

    assert (409, "page_modified") == (reply.status, reply.code)
    assert reply.details[0]["last_edited_at"].startswith("20")
    assert [("POST", PAGES)] == writes(gateway)


@requirement("notes-30")
def test_a_page_that_did_not_change_since_is_written(gateway: Gateway, page_id: str) -> None:
    first = update(gateway, page_id, properties={"Value": 1}).data
    again = update(gateway, page_id, properties={"Value": 2}, if_unmodified_since=first["last_edited_at"])

    assert ["Value"] == again.data["updated"]


@pytest.mark.parametrize("since", ["yesterday", "", 5, "2026-13-01T00:00:00Z"])
def test_an_instant_that_is_none_is_refused(gateway: Gateway, page_id: str, since: Any) -> None:
    reply = update(gateway, page_id, archived=True, if_unmodified_since=since)

    assert ["if_unmodified_since"] == [detail["parameter"] for detail in reply.details]


@requirement("notes-27")
def test_trashing_twice_is_done_once(gateway: Gateway, page_id: str) -> None:
    first = update(gateway, page_id, archived=True)
    gateway.clear("notes")
    again = update(gateway, page_id, archived=True)

    assert (True, True) == (first.data["archived"], again.data["archived"])
    assert [] == writes(gateway)


def test_restoring_what_is_not_in_the_trash_changes_nothing(gateway: Gateway, page_id: str) -> None:
    gateway.clear("notes")
    reply = update(gateway, page_id, archived=False)

    assert not reply.data["archived"]
    assert [] == writes(gateway)


@requirement("notes-28")
def test_a_page_is_restored(gateway: Gateway, page_id: str) -> None:
    update(gateway, page_id, archived=True)
    reply = update(gateway, page_id, archived=False, properties={"Value": 7})

    assert (False, ["Value"]) == (reply.data["archived"], reply.data["updated"])


@requirement("notes-29")
def test_properties_and_the_trash_together_write_first(gateway: Gateway, page_id: str, leads: str) -> None:
    reply = update(gateway, page_id, archived=True, properties={"Value": 7})
    restored = update(gateway, page_id, archived=False)

    assert (True, ["Value"]) == (reply.data["archived"], reply.data["updated"])
    assert not restored.data["archived"]


@requirement("notes-50")
@pytest.mark.parametrize("more", [{}, {"archived": True}])
def test_a_page_in_the_trash_cannot_be_written(gateway: Gateway, page_id: str, more: dict[str, Any]) -> None:
    update(gateway, page_id, archived=True)
    reply = update(gateway, page_id, properties={"Value": 1}, **more)

    assert (409, "page_in_trash") == (reply.status, reply.code)


@pytest.mark.parametrize("properties", [{}, {"Score": 5}])
def test_an_update_that_changes_nothing_asks_for_nothing(
    gateway: Gateway, page_id: str, properties: dict[str, Any]
) -> None:
    gateway.clear("notes")
    reply = update(gateway, page_id, properties=properties)

    assert [] == reply.data["updated"]
    assert [] == writes(gateway)


def test_an_update_of_nothing_is_refused(gateway: Gateway, page_id: str) -> None:
    reply = update(gateway, page_id)

    assert (422, ["properties"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("notes-33")
def test_updates_of_one_page_happen_one_after_the_other(gateway: Gateway, page_id: str) -> None:
    gateway.clear("notes")
    gateway.fault("notes", method="PATCH", path=PAGES, fault="delay", seconds=0.2, times=2)
    ids = [page_id, page_id.upper().replace("-", "")]
    gateway.together(*(lambda uid=uid: update(gateway, uid, properties={"Value": 3}) for uid in ids))

    assert ["PATCH", "GET", "PATCH"] == [method for method, path, _ in gateway.journal("notes") if PAGES in path][-3:]


def test_a_page_outside_databases_has_a_title_only(gateway: Gateway) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    handbook = next(page for page in emulator.workspace.pages.values() if page.title.startswith("Team handbook"))
    refused = update(gateway, handbook.id, properties={"Value": 1})
    renamed = update(gateway, handbook.id, properties={"title": "Handbook"})

    assert "property_not_found" == refused.code
    assert ["title"] == renamed.data["updated"]


# Names that change while they are remembered


def test_a_property_that_was_renamed_is_known_by_its_new_name_at_once(gateway: Gateway) -> None:
    database_id = shelf(gateway, 3)
    gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P1"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")
    created = gateway.post("/notes/pages", database_id=database_id, properties={"Urgency": "P1"})
    result = gateway.post("/notes/pages/search", database_id=database_id, property="Urgency", value="P1")

    assert 1 == created.data["properties_written"]
    assert result.data["match_count"] >= 2


def test_a_search_by_a_name_of_a_moment_ago_still_finds(gateway: Gateway) -> None:
    database_id = shelf(gateway, 6)
    gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P2"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")
    result = gateway.post("/notes/pages/search", database_id=database_id, property="Priority", value="P2")

    assert result.data["match_count"] >= 1


def test_an_update_by_a_new_name_is_understood_while_the_old_one_is_remembered(gateway: Gateway) -> None:
    database_id = shelf(gateway, 9)
    made = gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P2"}).data["page_id"]
    update(gateway, made, properties={"Priority": "P1"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")

    assert ["Urgency"] == update(gateway, made, properties={"Urgency": "P2"}).data["updated"]


def shelf(gateway: Gateway, number: int) -> str:
    """A database that no other test looks at."""
    listed = gateway.get("/notes/databases", limit=100).data
    return str([item for item in listed if "Priority" in item["properties"]][number]["database_id"])


# More blocks than a request takes


@requirement("notes-14", "notes-17")
def test_many_blocks_arrive_in_order(gateway: Gateway, leads: str) -> None:
    texts = [f"line {number}" for number in range(250)]
    created = create(gateway, leads, new_name(), children=texts).data

    assert texts == body_of(gateway, created["page_id"])
    assert [("POST", PAGES), *[("PATCH", f"{BLOCKS}/{created['page_id']}/children")] * 2] == writes(gateway)


# Idempotency


@pytest.mark.parametrize(
    "properties",
    [
        {"Tags": ["us", "eu"], "Stage": "Open", "Hot": False, "Value": "12.0"},
        {"Due": "2026-11-02T09:30:00.250+02:00", "Email": None, "Stage": None, "Tags": []},
        {"Value": None, "Due": None, "Score": 1},
    ],
)
def test_a_page_is_recognised_whatever_was_written_on_it(
    gateway: Gateway, leads: str, properties: dict[str, Any]
) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": name} | properties)

    assert 200 == reply.status
    assert 1 == found(gateway, leads, name)


def test_a_page_with_more_people_than_are_shown_is_recognised(gateway: Gateway, leads: str) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    people, name = [user.id for user in emulator.workspace.users.values() if user.kind == "person"][:30], new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": name, "Owner": people})

    assert 200 == reply.status
    assert 1 == found(gateway, leads, name)


# The vendor fails


@requirement("common-7")
@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {"Retry-After": "soon"}, {"Retry-After": "nan"}, {}])
@pytest.mark.parametrize("status", [429, 529])
def test_throttling_is_waited_out(gateway: Gateway, leads: str, status: int, headers: dict[str, str]) -> None:
    name = new_name()
    answers(gateway, "POST", PAGES, status, headers=headers, body={"object": "error", "code": "rate_limited"})

    assert 200 == create(gateway, leads, name).status
    assert 1 == found(gateway, leads, name)


def test_being_blocked_is_no_throttling(gateway: Gateway) -> None:
    reason = {
        "object": "error",
        "code": "rate_limited",
        "additional_data": {"rate_limit_reason": "public_api_request_blocked"},
    }
    answers(gateway, "POST", "/v1/search", 429, headers={"Retry-After": "1"}, body=reason)

    assert (403, "upstream_forbidden") == ((reply := gateway.get("/notes/databases")).status, reply.code)


def test_a_503_that_names_the_page_is_a_success(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.knob("notes", next_create="503_committed")
    created = create(gateway, leads, name, children=[f"line {number}" for number in range(120)])

    assert 200 == created.status
    assert 120 == len(body_of(gateway, created.data["page_id"]))
    assert 1 == found(gateway, leads, name)


def test_a_503_that_names_nothing_is_a_failure_that_can_be_repeated(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.knob("notes", next_create="503_uncommitted")
    first = create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert 200 == again.status
    assert 1 == found(gateway, leads, name)


def test_a_slow_body_is_waited_for_within_the_time(gateway: Gateway, leads: str) -> None:
    gateway.fault("notes", method="POST", path=PAGES, fault="slow_body", seconds=0.5)

    assert 200 == create(gateway, leads, new_name()).status


def test_a_body_slower_than_the_time_leaves_the_write_in_doubt_and_it_is_found(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="slow_body", seconds=5.5)

    assert 200 == create(gateway, leads, name).status
    assert 1 == found(gateway, leads, name)


def test_a_collision_of_saves_is_tried_again(gateway: Gateway, page_id: str) -> None:
    answers(gateway, "PATCH", PAGES, 409, times=2, body={"object": "error", "code": "conflict_error"})

    assert 200 == update(gateway, page_id, properties={"Value": 1}).status


def test_a_collision_that_lasts_is_said(gateway: Gateway, page_id: str) -> None:
    answers(gateway, "PATCH", PAGES, 409, times=3, body={"object": "error", "code": "conflict_error"})
    reply = update(gateway, page_id, properties={"Value": 1})

    assert (409, "upstream_conflict") == (reply.status, reply.code)


def test_a_limit_of_rows_is_said_at_once(gateway: Gateway, leads: str) -> None:
    answers(gateway, "POST", PAGES, 409, times=3, body={"object": "error", "code": "row_limit_exceeded"})
    reply = create(gateway, leads, "one too many")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert [{"vendor_code": "row_limit_exceeded"}] == reply.facts
    assert 1 == len([sent for sent in gateway.sandbox.emulators["notes"].context.request_log if sent.status == 409])


def test_a_firewall_in_between_is_no_refusal_of_the_vendors(gateway: Gateway) -> None:
    answers(gateway, "POST", "/v1/search", 403, body="<html>Attention required</html>")
    reply = gateway.get("/notes/databases")

    assert (502, "upstream_error") == (reply.status, reply.code)


def test_a_missing_capability_is_forbidden(gateway: Gateway, leads: str) -> None:
    answers(gateway, "POST", PAGES, 403, body={"object": "error", "code": "restricted_resource"})
    reply = create(gateway, leads, "x")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Searching


def search(gateway: Gateway, database_id: str, name: str, value: str, match: str = "exact") -> Any:
    return gateway.post("/notes/pages/search", database_id=database_id, property=name, value=value, match=match).data


def everything(gateway: Gateway) -> str:
    return str(next(item for item in gateway.get("/notes/databases", query="everything").data)["database_id"])


@requirement("notes-34", "notes-39")
@pytest.mark.parametrize(
    ("name", "value", "match", "least"),
    [
        ("Title", "Änderungsantrag 0", "exact", 1),
        ("Title", "  Änderungsantrag 0\n", "exact", 1),
        ("Title", "Änderungsantrag", "contains", 32),
        ("Text", "leading and trailing blanks", "exact", 1),
        ("Text", "naïve café", "contains", 10),
        ("Number", "3", "exact", 1),
        ("Number", "-39.75", "exact", 1),
        ("Number", "3.0", "exact", 1),
        ("Number", "9", "contains", 5),
        ("Select", "Höchste", "exact", 20),
        ("Select", "öch", "contains", 20),
        ("Multi-select", "γάμμα", "exact", 20),
        ("Status", "Done", "exact", 20),
        ("Date", "2025-01-13", "exact", 1),
        ("Date", "2025-02", "contains", 5),
        ("Checkbox", "true", "exact", 50),
        ("Checkbox", "false", "exact", 50),
        ("URL", "https://example.com/notes/7?q=a%20b", "exact", 1),
        ("Email", "reader.7@example.com", "exact", 1),
        ("Phone", "+49 30 5550 0007", "exact", 1),
        ("People", "Ada Lindqvist", "exact", 1),
        ("Files & media", "Plan.pdf", "exact", 20),
        ("Place", "東京", "exact", 20),
        ("Verification", "verified", "exact", 20),
        ("Formula", "6", "exact", 1),
        ("Formula text", "№ 3", "exact", 1),
        ("Rollup", "0", "exact", 1),
        ("ID", "EV-7", "exact", 1),
        ("ID", "7", "exact", 1),
        ("Created time", "2025-05", "contains", 1),
        ("Created by", "Ada Lindqvist", "exact", 1),
        ("Last edited by", "Ada Lindqvist", "exact", 1),
        ("Text", "", "exact", 50),
    ],
)
def test_pages_are_found_by_every_type_of_property(
    gateway: Gateway, name: str, value: str, match: str, least: int
) -> None:
    result = search(gateway, everything(gateway), name, value, match)

    assert least <= result["match_count"] == len(result["pages"]) == len({page["page_id"] for page in result["pages"]})
    assert {name} == {page["matched_on"] for page in result["pages"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Select", "Lower"),
        ("Multi-select", "alphabet"),
        ("Status", "done"),
        ("Number", "many"),
        ("Number", "1e999999999"),
        ("Checkbox", "maybe"),
        ("Button", "x"),
        ("Sentiment", "calm"),
        ("Title", "änderungsantrag 0"),
        ("ID", "ev-7"),
        ("Relation", "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"),
    ],
)
def test_what_is_not_there_is_not_found(gateway: Gateway, name: str, value: str) -> None:
    assert {"match_count": 0, "pages": []} == search(gateway, everything(gateway), name, value)


def test_pages_are_found_by_a_relation_that_is_longer_than_what_is_shown(gateway: Gateway) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    related = emulator.workspace.sources[gateway.examples("notes")["data_source_id"]].rows[39]
    text = search(gateway, everything(gateway), "Text", "and so on", "contains")
    result = search(gateway, everything(gateway), "Relation", related)

    assert text["pages"][0]["page_id"] in {page["page_id"] for page in result["pages"]}


@requirement("notes-34", "notes-35", "notes-37")
def test_a_search_tells_the_pages_of_the_database_asked_for(gateway: Gateway, leads: str) -> None:
    page_id = create(gateway, leads, " Searched for ").data["page_id"]
    several = gateway.examples("notes")["multi_source_database_id"]
    gateway.post("/notes/pages", database_id=several, properties={"Client": "Searched for"})

    reply = gateway.post("/notes/pages/search", database_id=leads, property="Name", value="Searched for ")

    assert reply.data == {
        "match_count": 1,
        "pages": [{"page_id": page_id, "title": " Searched for ", "matched_on": "Name"}],
    }


@requirement("notes-31")
def test_the_limit_of_the_guard_against_changes_is_documented(gateway: Gateway) -> None:
    reference = gateway.http.get(f"{gateway.base_url}/openapi.json").text

    assert "The vendor stores times in whole minutes only" in reference


@requirement("notes-51")
def test_an_unknown_property_to_search_by_is_named(gateway: Gateway, leads: str) -> None:
    reply = gateway.post("/notes/pages/search", database_id=leads, property="name", value="x")

    assert (404, "property_not_found") == (reply.status, reply.code)
    assert "Name" in reply.details[0]["allowed"]


@requirement("notes-36")
@pytest.mark.parametrize("knobs", [{"short_pages": True}, {"row_cap": 100}, {"row_cap": 7, "short_pages": True}])
def test_short_pages_and_capped_queries_hide_nothing(gateway: Gateway, knobs: dict[str, Any]) -> None:
    database_id = everything(gateway)
    whole = search(gateway, database_id, "Title", "", "contains")
    gateway.knob("notes", **knobs)
    pieced = search(gateway, database_id, "Title", "", "contains")

    assert whole["match_count"] == pieced["match_count"] >= 300
    assert {page["page_id"] for page in whole["pages"]} == {page["page_id"] for page in pieced["pages"]}


def test_pages_in_the_trash_are_not_found(gateway: Gateway, leads: str, page_id: str) -> None:
    name = new_name()
    made = create(gateway, leads, name).data["page_id"]
    update(gateway, made, archived=True)

    assert 0 == found(gateway, leads, name)


# The listing


@requirement("notes-4")
@pytest.mark.parametrize("query", ["MARKETING TASKS", "marketing tasks", "ting ta"])
def test_titles_are_matched_whatever_their_case(gateway: Gateway, query: str) -> None:
    assert {"Marketing tasks"} == {item["title"] for item in gateway.get("/notes/databases", query=query).data}


@requirement("notes-1")
def test_nothing_that_is_not_shared_is_listed(gateway: Gateway) -> None:
    assert [] == gateway.get("/notes/databases", query="Salaries").data
