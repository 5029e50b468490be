"""Notes operations with invalid requests, vendor errors and network failures."""

from typing import Any
from uuid import uuid4

import pytest

from gateway.tests.connectors.notes.page_calls import (
    BLOCKS,
    PAGES,
    count_pages,
    create,
    get_block_texts,
    inject_status,
    list_writes,
    new_name,
    update,
)
from harness.gateway_server import Gateway
from harness.requirement import requirement
from workspace_sandbox.notes import NotesEmulator

# Databases and pages


@requirement("notes-47")
@pytest.mark.parametrize("route", ["/notes/pages", "/notes/pages/search"])
def test_unshared_database_is_forbidden(gateway: Gateway, route: str) -> None:
    unshared = gateway.examples("notes")["unshared_database_id"]
    more = {"properties": {"Name": "x"}} if route.endswith("pages") else {"property": "Name", "value": "x"}
    reply = gateway.post(route, database_id=unshared, **more)

    assert (403, "database_not_shared") == (reply.status, reply.code)
    assert [] == list_writes(gateway)


@requirement("notes-47")
def test_unknown_database_is_reported_as_not_shared(gateway: Gateway) -> None:
    assert "database_not_shared" == create(gateway, str(uuid4()), "x").code


@requirement("notes-48")
@pytest.mark.parametrize("database_id", ["nope", "", "../users/me", "0b1c2d3e-4f50-4617-8293", "g" * 32, 5, None])
def test_malformed_identifier_is_rejected_without_a_vendor_request(gateway: Gateway, database_id: Any) -> None:
    reply = gateway.post("/notes/pages", database_id=database_id, properties={"Name": "x"})

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["database_id"] == [detail["parameter"] for detail in reply.details]
    assert "pattern" not in reply.details[0]["message"]
    assert [] == gateway.journal("notes")


def test_identifier_without_dashes_is_accepted(gateway: Gateway, leads: str) -> None:
    name = new_name()
    create(gateway, leads.replace("-", ""), name)

    assert 1 == count_pages(gateway, leads, name)


@requirement("notes-49")
def test_unknown_page_is_not_found(gateway: Gateway) -> None:
    reply = gateway.patch(f"/notes/pages/{uuid4()}", archived=True)

    assert (404, "page_not_found") == (reply.status, reply.code)


@pytest.mark.parametrize("name", ["Stage", "Tags", "Status"])
def test_unknown_option_is_never_created(gateway: Gateway, leads: str, name: str) -> None:
    gateway.post("/notes/pages", database_id=leads, properties={"Name": "x", name: "Imaginary"})
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": "x", name: "Imaginary"})

    assert "select_option_missing" == reply.code


@requirement("notes-42")
def test_page_is_created_in_the_source_with_the_properties(gateway: Gateway) -> None:
    database_id, name = gateway.examples("notes")["multi_source_database_id"], new_name()
    gateway.post("/notes/pages", database_id=database_id, properties={"Client": name, "Email": "a@b.test"})
    reply = gateway.post("/notes/pages/search", database_id=database_id, property="Client", value=name)

    assert 1 == reply.data["match_count"]


def test_database_of_several_sources_is_listed_by_its_title(gateway: Gateway) -> None:
    listed = gateway.get("/notes/databases", query="Projects & clients").data

    assert [gateway.examples("notes")["multi_source_database_id"]] == [item["database_id"] for item in listed]
    assert {"Project", "Budget", "Client", "Email", "Site"} == set(listed[0]["properties"])


# Updating


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A new page for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


@requirement("notes-30")
def test_modified_page_is_not_updated(gateway: Gateway, page_id: str) -> None:
    reply = update(gateway, page_id, properties={"Value": 1}, if_unmodified_since="2020-01-01T00:00:00Z")

    assert (409, "page_modified") == (reply.status, reply.code)
    assert reply.details[0]["last_edited_at"].startswith("20")
    assert [("POST", PAGES)] == list_writes(gateway)


@requirement("notes-30")
def test_unmodified_page_is_updated(gateway: Gateway, page_id: str) -> None:
    first = update(gateway, page_id, properties={"Value": 1}).data
    again = update(gateway, page_id, properties={"Value": 2}, if_unmodified_since=first["last_edited_at"])

    assert ["Value"] == again.data["updated"]


@pytest.mark.parametrize("since", ["yesterday", "", 5, "2026-13-01T00:00:00Z"])
def test_invalid_timestamp_is_rejected(gateway: Gateway, page_id: str, since: Any) -> None:
    reply = update(gateway, page_id, archived=True, if_unmodified_since=since)

    assert ["if_unmodified_since"] == [detail["parameter"] for detail in reply.details]


@requirement("notes-27")
def test_trashing_a_trashed_page_sends_no_write(gateway: Gateway, page_id: str) -> None:
    first = update(gateway, page_id, archived=True)
    gateway.clear("notes")
    again = update(gateway, page_id, archived=True)

    assert (True, True) == (first.data["archived"], again.data["archived"])
    assert [] == list_writes(gateway)


def test_restoring_an_active_page_sends_no_write(gateway: Gateway, page_id: str) -> None:
    gateway.clear("notes")
    reply = update(gateway, page_id, archived=False)

    assert not reply.data["archived"]
    assert [] == list_writes(gateway)


@requirement("notes-28")
def test_page_is_restored_and_updated(gateway: Gateway, page_id: str) -> None:
    update(gateway, page_id, archived=True)
    reply = update(gateway, page_id, archived=False, properties={"Value": 7})

    assert (False, ["Value"]) == (reply.data["archived"], reply.data["updated"])


@requirement("notes-29")
def test_properties_are_written_before_trashing(gateway: Gateway, page_id: str, leads: str) -> None:
    reply = update(gateway, page_id, archived=True, properties={"Value": 7})
    restored = update(gateway, page_id, archived=False)

    assert (True, ["Value"]) == (reply.data["archived"], reply.data["updated"])
    assert not restored.data["archived"]


@requirement("notes-50")
@pytest.mark.parametrize("more", [{}, {"archived": True}])
def test_trashed_page_cannot_be_updated(gateway: Gateway, page_id: str, more: dict[str, Any]) -> None:
    update(gateway, page_id, archived=True)
    reply = update(gateway, page_id, properties={"Value": 1}, **more)

    assert (409, "page_in_trash") == (reply.status, reply.code)


@pytest.mark.parametrize("properties", [{}, {"Score": 5}])
def test_update_without_writable_properties_sends_no_write(
    gateway: Gateway, page_id: str, properties: dict[str, Any]
) -> None:
    gateway.clear("notes")
    reply = update(gateway, page_id, properties=properties)

    assert [] == reply.data["updated"]
    assert [] == list_writes(gateway)


def test_update_without_changes_is_rejected(gateway: Gateway, page_id: str) -> None:
    reply = update(gateway, page_id)

    assert (422, ["properties"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("notes-33")
def test_updates_of_one_page_are_serialized(gateway: Gateway, page_id: str) -> None:
    gateway.clear("notes")
    gateway.fault("notes", method="PATCH", path=PAGES, fault="delay", seconds=0.2, times=2)
    ids = [page_id, page_id.upper().replace("-", "")]
    gateway.together(*(lambda uid=uid: update(gateway, uid, properties={"Value": 3}) for uid in ids))

    assert ["PATCH", "GET", "PATCH"] == [method for method, path, _ in gateway.journal("notes") if PAGES in path][-3:]


def test_page_outside_databases_has_only_a_title(gateway: Gateway) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    handbook = next(page for page in emulator.workspace.pages.values() if page.title.startswith("Team handbook"))
    rejected = update(gateway, handbook.id, properties={"Value": 1})
    renamed = update(gateway, handbook.id, properties={"title": "Handbook"})

    assert "property_not_found" == rejected.code
    assert ["title"] == renamed.data["updated"]


# Names that change while they are cached


def test_renamed_property_is_accepted_immediately(gateway: Gateway) -> None:
    database_id = get_unused_database_id(gateway, 3)
    gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P1"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")
    created = gateway.post("/notes/pages", database_id=database_id, properties={"Urgency": "P1"})
    result = gateway.post("/notes/pages/search", database_id=database_id, property="Urgency", value="P1")

    assert 1 == created.data["properties_written"]
    assert result.data["match_count"] >= 2


def test_search_by_a_cached_old_name_finds_pages(gateway: Gateway) -> None:
    database_id = get_unused_database_id(gateway, 6)
    gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P2"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")
    result = gateway.post("/notes/pages/search", database_id=database_id, property="Priority", value="P2")

    assert result.data["match_count"] >= 1


def test_update_by_a_new_name_works_while_the_old_is_cached(gateway: Gateway) -> None:
    database_id = get_unused_database_id(gateway, 9)
    page_id = gateway.post("/notes/pages", database_id=database_id, properties={"Priority": "P2"}).data["page_id"]
    update(gateway, page_id, properties={"Priority": "P1"})
    gateway.act("notes", action="rename_property", database_id=database_id, property="Priority", name="Urgency")

    assert ["Urgency"] == update(gateway, page_id, properties={"Urgency": "P2"}).data["updated"]


def get_unused_database_id(gateway: Gateway, number: int) -> str:
    """Return a database that no other test uses."""
    listed = gateway.get("/notes/databases", limit=100).data
    return str([item for item in listed if "Priority" in item["properties"]][number]["database_id"])


# More blocks than a request may contain


@requirement("notes-14", "notes-17")
def test_many_blocks_are_written_in_order(gateway: Gateway, leads: str) -> None:
    texts = [f"line {number}" for number in range(250)]
    created = create(gateway, leads, new_name(), children=texts).data

    assert texts == get_block_texts(gateway, created["page_id"])
    assert [("POST", PAGES), *[("PATCH", f"{BLOCKS}/{created['page_id']}/children")] * 2] == list_writes(gateway)


# Idempotency


@pytest.mark.parametrize(
    "properties",
    [
        {"Tags": ["us", "eu"], "Stage": "Open", "Hot": False, "Value": "12.0"},
        {"Due": "2026-11-02T09:30:00.250+02:00", "Email": None, "Stage": None, "Tags": []},
        {"Value": None, "Due": None, "Score": 1},
    ],
)
def test_page_with_a_lost_response_is_recognised_by_its_values(
    gateway: Gateway, leads: str, properties: dict[str, Any]
) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": name} | properties)

    assert 200 == reply.status
    assert 1 == count_pages(gateway, leads, name)


def test_page_with_truncated_people_is_recognised(gateway: Gateway, leads: str) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    people, name = [user.id for user in emulator.workspace.users.values() if user.kind == "person"][:30], new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="drop_after")
    reply = gateway.post("/notes/pages", database_id=leads, properties={"Name": name, "Owner": people})

    assert 200 == reply.status
    assert 1 == count_pages(gateway, leads, name)


# The vendor fails


@requirement("common-7")
@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {"Retry-After": "soon"}, {"Retry-After": "nan"}, {}])
@pytest.mark.parametrize("status", [429, 529])
def test_throttled_write_is_retried(gateway: Gateway, leads: str, status: int, headers: dict[str, str]) -> None:
    name = new_name()
    inject_status(gateway, "POST", PAGES, status, headers=headers, body={"object": "error", "code": "rate_limited"})

    assert 200 == create(gateway, leads, name).status
    assert 1 == count_pages(gateway, leads, name)


def test_blocked_request_is_not_retried(gateway: Gateway) -> None:
    reason = {
        "object": "error",
        "code": "rate_limited",
        "additional_data": {"rate_limit_reason": "public_api_request_blocked"},
    }
    inject_status(gateway, "POST", "/v1/search", 429, headers={"Retry-After": "1"}, body=reason)

    assert (403, "upstream_forbidden") == ((reply := gateway.get("/notes/databases")).status, reply.code)


def test_503_with_the_saved_page_is_a_success(gateway: Gateway, leads: str) -> None:
    name = new_name()
    gateway.knob("notes", next_create="503_committed")
    created = create(gateway, leads, name, children=[f"line {number}" for number in range(120)])

    assert 200 == created.status
    assert 120 == len(get_block_texts(gateway, created.data["page_id"]))
    assert 1 == count_pages(gateway, leads, name)


def test_write_conflict_is_retried(gateway: Gateway, page_id: str) -> None:
    inject_status(gateway, "PATCH", PAGES, 409, times=2, body={"object": "error", "code": "conflict_error"})

    assert 200 == update(gateway, page_id, properties={"Value": 1}).status


def test_lasting_write_conflict_is_reported(gateway: Gateway, page_id: str) -> None:
    inject_status(gateway, "PATCH", PAGES, 409, times=3, body={"object": "error", "code": "conflict_error"})
    reply = update(gateway, page_id, properties={"Value": 1})

    assert (409, "upstream_conflict") == (reply.status, reply.code)


def test_row_limit_is_reported_without_a_retry(gateway: Gateway, leads: str) -> None:
    inject_status(gateway, "POST", PAGES, 409, times=3, body={"object": "error", "code": "row_limit_exceeded"})
    reply = create(gateway, leads, "one too many")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert [{"vendor_code": "row_limit_exceeded"}] == reply.facts
    assert 1 == len([entry for entry in gateway.sandbox.emulators["notes"].context.request_log if entry.status == 409])


def test_html_403_is_an_upstream_error(gateway: Gateway) -> None:
    inject_status(gateway, "POST", "/v1/search", 403, body="<html>Attention required</html>")
    reply = gateway.get("/notes/databases")

    assert (502, "upstream_error") == (reply.status, reply.code)


def test_missing_capability_is_reported_as_forbidden(gateway: Gateway, leads: str) -> None:
    inject_status(gateway, "POST", PAGES, 403, body={"object": "error", "code": "restricted_resource"})
    reply = create(gateway, leads, "x")

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Searching


def search(gateway: Gateway, database_id: str, name: str, value: str, match: str = "exact") -> Any:
    return gateway.post("/notes/pages/search", database_id=database_id, property=name, value=value, match=match).data


def get_full_database_id(gateway: Gateway) -> str:
    return str(next(item for item in gateway.get("/notes/databases", query="everything").data)["database_id"])


@requirement("notes-34", "notes-39")
@pytest.mark.parametrize(
    ("name", "value", "match", "min_count"),
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
    gateway: Gateway, name: str, value: str, match: str, min_count: int
) -> None:
    result = search(gateway, get_full_database_id(gateway), name, value, match)

    assert (
        min_count <= result["match_count"] == len(result["pages"]) == len({page["page_id"] for page in result["pages"]})
    )
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
def test_search_for_absent_values_returns_no_pages(gateway: Gateway, name: str, value: str) -> None:
    assert {"match_count": 0, "pages": []} == search(gateway, get_full_database_id(gateway), name, value)


def test_pages_are_found_by_truncated_relations(gateway: Gateway) -> None:
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    related = emulator.workspace.sources[gateway.examples("notes")["data_source_id"]].rows[39]
    text = search(gateway, get_full_database_id(gateway), "Text", "and so on", "contains")
    result = search(gateway, get_full_database_id(gateway), "Relation", related)

    assert text["pages"][0]["page_id"] in {page["page_id"] for page in result["pages"]}


@requirement("notes-34", "notes-35", "notes-37")
def test_search_returns_only_pages_of_the_requested_database(gateway: Gateway, leads: str) -> None:
    page_id = create(gateway, leads, " Searched for ").data["page_id"]
    other_database_id = gateway.examples("notes")["multi_source_database_id"]
    gateway.post("/notes/pages", database_id=other_database_id, properties={"Client": "Searched for"})

    reply = gateway.post("/notes/pages/search", database_id=leads, property="Name", value="Searched for ")

    assert reply.data == {
        "match_count": 1,
        "pages": [{"page_id": page_id, "title": " Searched for ", "matched_on": "Name"}],
    }


@requirement("notes-31")
def test_precision_of_if_unmodified_since_is_documented(gateway: Gateway) -> None:
    reference = gateway.http.get(f"{gateway.base_url}/openapi.json").text

    assert "The vendor stores times in whole minutes only" in reference


@requirement("notes-51")
def test_unknown_search_property_is_rejected_with_the_allowed_names(gateway: Gateway, leads: str) -> None:
    reply = gateway.post("/notes/pages/search", database_id=leads, property="name", value="x")

    assert (404, "property_not_found") == (reply.status, reply.code)
    assert "Name" in reply.details[0]["allowed"]


@requirement("notes-36")
@pytest.mark.parametrize("knobs", [{"short_pages": True}, {"row_cap": 100}, {"row_cap": 7, "short_pages": True}])
def test_short_pages_and_query_limits_hide_no_pages(gateway: Gateway, knobs: dict[str, Any]) -> None:
    database_id = get_full_database_id(gateway)
    complete = search(gateway, database_id, "Title", "", "contains")
    gateway.knob("notes", **knobs)
    paged = search(gateway, database_id, "Title", "", "contains")

    assert complete["match_count"] == paged["match_count"] >= 300
    assert {page["page_id"] for page in complete["pages"]} == {page["page_id"] for page in paged["pages"]}


def test_trashed_pages_are_not_found(gateway: Gateway, leads: str, page_id: str) -> None:
    name = new_name()
    trashed_id = create(gateway, leads, name).data["page_id"]
    update(gateway, trashed_id, archived=True)

    assert 0 == count_pages(gateway, leads, name)


# The listing


@requirement("notes-4")
@pytest.mark.parametrize("query", ["MARKETING TASKS", "marketing tasks", "ting ta"])
def test_titles_match_regardless_of_case(gateway: Gateway, query: str) -> None:
    assert {"Marketing tasks"} == {item["title"] for item in gateway.get("/notes/databases", query=query).data}


@requirement("notes-1")
def test_unshared_databases_are_not_listed(gateway: Gateway) -> None:
    assert [] == gateway.get("/notes/databases", query="Salaries").data
