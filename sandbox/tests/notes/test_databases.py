"""Databases and data sources of the notes emulator."""

from typing import Any

from harness.clocks import ManualClock
from sandbox.tests.notes.notes_client import Notes, text, title


def test_shared_data_sources_are_paged_newest_first(notes: Notes) -> None:
    body: dict[str, Any] = {"filter": {"property": "object", "value": "data_source"}, "page_size": 100}
    first = notes.request("POST", "/v1/search", body)
    second = notes.request("POST", "/v1/search", body | {"start_cursor": first["next_cursor"]})
    results = first["results"] + second["results"]
    times = [raw["last_edited_time"] for raw in results]

    assert (100, 56) == (len(first["results"]), len(second["results"]))
    assert sorted(times, reverse=True) == times
    assert 155 == len({raw["parent"]["database_id"] for raw in results})
    assert "page_or_data_source" == first["type"]


def test_search_can_sort_oldest_first(notes: Notes) -> None:
    matches = notes.request("POST", "/v1/search", {"sort": {"timestamp": "last_edited_time", "direction": "ascending"}})
    times = [raw["last_edited_time"] for raw in matches["results"]]

    assert sorted(times) == times


def test_search_ignores_case_and_a_typing_error(notes: Notes) -> None:
    matches = notes.request("POST", "/v1/search", {"query": "evrything"})

    assert ["Everything"] == [raw["title"][0]["plain_text"] for raw in matches["results"]]


def test_search_finds_a_new_page_after_a_delay(notes: Notes, clock: ManualClock) -> None:
    notes.create({"Name": {"title": text("Zanzibar")}})
    at_once = notes.request("POST", "/v1/search", {"query": "Zanzibar"})
    clock.at += 2.0
    later = notes.request("POST", "/v1/search", {"query": "Zanzibar"})

    assert [] == at_once["results"]
    assert ["Zanzibar"] == [title(page) for page in later["results"]]


def test_search_rejects_the_database_filter(notes: Notes) -> None:
    body = {"filter": {"property": "object", "value": "database"}}

    status, code, message = notes.error("POST", "/v1/search", body)

    assert (400, "validation_error") == (status, code)
    assert '`"page"` or `"data_source"`' in message


def test_a_database_in_a_shared_page_is_readable_but_not_listed(notes: Notes) -> None:
    (handbook,) = notes.request("POST", "/v1/search", {"query": "handbook"})["results"]
    children = notes.request("GET", f"/v1/blocks/{handbook['id']}/children")["results"]
    nested = next(child for child in children if child["type"] == "child_database")
    database = notes.request("GET", f"/v1/databases/{nested['id']}")
    matches = notes.request("POST", "/v1/search", {"query": "Meeting rooms"})

    assert {"title": "Meeting rooms"} == nested["child_database"]
    assert {"type": "page_id", "page_id": handbook["id"]} == database["parent"]
    assert [] == matches["results"]


def test_a_database_has_data_sources_and_no_properties(notes: Notes) -> None:
    database = notes.request("GET", f"/v1/databases/{notes.examples['multi_source_database_id']}")

    assert ["Projects", "Clients"] == [source["name"] for source in database["data_sources"]]
    assert "Projects & clients" == database["title"][0]["plain_text"]
    assert not {"properties", "archived"} & database.keys()


def test_an_unshared_database_is_rejected_like_a_missing_one(notes: Notes) -> None:
    unshared, absent = notes.examples["unshared_database_id"], "00000000-0000-4000-8000-000000000000"

    first = notes.http.get(f"/v1/databases/{unshared}").json()
    second = notes.http.get(f"/v1/databases/{absent}").json()

    assert (404, "object_not_found") == (first["status"], first["code"])
    assert first["message"].replace(unshared, absent) == second["message"]
    assert first["additional_data"].keys() == {"integration_id"} == second["additional_data"].keys()


def test_a_database_id_is_no_data_source_id(notes: Notes) -> None:
    database_id = notes.examples["database_id"]

    status, code, _ = notes.error("GET", f"/v1/data_sources/{database_id}")

    assert (404, "object_not_found") == (status, code)


def test_page_times_are_floored_to_minutes_unlike_database_times(notes: Notes, clock: ManualClock) -> None:
    page = notes.create({"Name": {"title": text("Now")}})
    database = notes.request("GET", f"/v1/databases/{notes.examples['database_id']}")

    assert "2026-10-05T14:07:00.000Z" == page["created_time"] == page["last_edited_time"]
    assert "2025-06-02T09:30:12.345+00:00" == database["last_edited_time"]


def test_the_schema_of_everything_has_every_type(notes: Notes) -> None:
    columns = notes.source("Everything")["properties"]
    types = {column["type"] for column in columns.values()}

    assert {
        *("title", "rich_text", "number", "select", "multi_select", "status", "date", "checkbox", "url", "email"),
        *("phone_number", "people", "relation", "files", "place", "verification", "formula", "rollup"),
        *("created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id", "button", "sentiment"),
    } == types
    assert all(column["type"] in column and column["name"] == name for name, column in columns.items())
    assert {"id", "name", "color", "option_ids"} == columns["Status"]["status"]["groups"][0].keys()


def test_an_older_version_sees_a_database_with_properties_and_rows(notes: Notes) -> None:
    older = {"Notion-Version": "2022-06-28"}
    path = f"/v1/databases/{notes.examples['database_id']}"

    database = notes.request("GET", path, headers=older)
    rows = notes.request("POST", f"{path}/query", {"page_size": 1}, headers=older)

    assert "Stage" in database["properties"]
    assert "data_sources" not in database
    assert {"type": "database_id", "database_id": database["id"]} == rows["results"][0]["parent"]
    assert False is rows["results"][0]["archived"]


def test_an_older_version_cannot_read_a_database_of_several_sources(notes: Notes) -> None:
    database_id = notes.examples["multi_source_database_id"]
    sources = notes.request("GET", f"/v1/databases/{database_id}")["data_sources"]

    raw = notes.http.get(f"/v1/databases/{database_id}", headers={"Notion-Version": "2022-06-28"}).json()

    assert (400, "validation_error") == (raw["status"], raw["code"])
    assert {
        "error_type": "multiple_data_sources_for_database",
        "database_id": database_id,
        "child_data_source_ids": [source["id"] for source in sources],
        "minimum_api_version": "2025-09-03",
    } == raw["additional_data"]


def test_search_of_an_older_version_finds_databases(notes: Notes) -> None:
    body = {"filter": {"property": "object", "value": "database"}}

    matches = notes.request("POST", "/v1/search", body, headers={"Notion-Version": "2022-06-28"})

    assert {"database"} == {raw["object"] for raw in matches["results"]}
