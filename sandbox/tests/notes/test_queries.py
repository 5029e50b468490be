"""Queries of the notes emulator."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

from harness.clocks import ManualClock
from sandbox.tests.notes.notes_client import Notes, plain, title

Judge = Callable[[dict[str, Any]], bool]


FILTERS: list[tuple[dict[str, Any], Judge]] = [
    ({"property": "Name", "title": {"contains": "acme"}}, lambda row: "Acme" in title(row)),
    ({"property": "Name", "title": {"starts_with": "Fjord"}}, lambda row: title(row).startswith("Fjord")),
    ({"property": "Name", "title": {"ends_with": "pilot"}}, lambda row: title(row).endswith("pilot")),
    ({"property": "Name", "title": {"does_not_contain": "a"}}, lambda row: "a" not in title(row).casefold()),
    ({"property": "Name", "title": {"equals": "Acme GmbH: pilot"}}, lambda row: title(row) == "Acme GmbH: pilot"),
    ({"property": "Name", "title": {"is_empty": True}}, lambda row: not title(row)),
    ({"property": "Email", "email": {"contains": "@acme.example"}}, lambda row: "@acme" in (plain(row, "Email") or "")),
    ({"property": "Email", "email": {"is_empty": True}}, lambda row: plain(row, "Email") is None),
    ({"property": "Value", "number": {"greater_than": 50_000}}, lambda row: (plain(row, "Value") or 0) > 50_000),
    (
        {"property": "Value", "number": {"less_than_or_equal_to": 9000}},
        lambda row: (plain(row, "Value") or 1e9) <= 9000,
    ),
    ({"property": "Value", "number": {"is_not_empty": True}}, lambda row: plain(row, "Value") is not None),
    ({"property": "Value", "number": {"does_not_equal": 0}}, lambda row: True),
    ({"property": "Hot", "checkbox": {"equals": True}}, lambda row: plain(row, "Hot")),
    ({"property": "Hot", "checkbox": {"does_not_equal": True}}, lambda row: not plain(row, "Hot")),
    ({"property": "Stage", "select": {"equals": "Won"}}, lambda row: plain(row, "Stage") == "Won"),
    ({"property": "Stage", "select": {"equals": ["Won", "Lost"]}}, lambda row: plain(row, "Stage") in {"Won", "Lost"}),
    ({"property": "Stage", "select": {"does_not_equal": "Won"}}, lambda row: plain(row, "Stage") != "Won"),
    ({"property": "Status", "status": {"equals": "Done"}}, lambda row: plain(row, "Status") == "Done"),
    (
        {"property": "Tags", "multi_select": {"contains": "eu"}},
        lambda row: "eu" in [x["name"] for x in plain(row, "Tags")],
    ),
    ({"property": "Tags", "multi_select": {"is_empty": True}}, lambda row: not plain(row, "Tags")),
    ({"property": "Due", "date": {"equals": "2025-07-02"}}, lambda row: plain(row, "Due") == "2025-07-02"),
    ({"property": "Due", "date": {"on_or_after": "2025-09-01"}}, lambda row: (plain(row, "Due") or "") >= "2025-09-01"),
    (
        {"property": "Due", "date": {"before": "2025-09-01T00:00:00Z"}},
        lambda row: (plain(row, "Due") or "9") < "2025-09",
    ),
    ({"property": "Due", "date": {"is_empty": True}}, lambda row: plain(row, "Due") is None),
    ({"property": "Owner", "people": {"is_not_empty": True}}, lambda row: bool(plain(row, "Owner"))),
    (
        {"property": "Score", "formula": {"number": {"greater_than": 60}}},
        lambda row: plain(row, "Score")["number"] > 60,
    ),
    (
        {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2025-05-30"}},
        lambda row: row["last_edited_time"] >= "2025-05-30",
    ),
    (
        {
            "and": [
                {"property": "Hot", "checkbox": {"equals": True}},
                {"property": "Stage", "select": {"equals": "Won"}},
            ]
        },
        lambda row: plain(row, "Hot") and plain(row, "Stage") == "Won",
    ),
    (
        {
            "or": [
                {"property": "Stage", "select": {"equals": "Lost"}},
                {
                    "and": [
                        {"property": "Hot", "checkbox": {"equals": True}},
                        {"property": "Value", "number": {"less_than": 30_000}},
                    ]
                },
            ]
        },
        lambda row: plain(row, "Stage") == "Lost" or (plain(row, "Hot") and (plain(row, "Value") or 1e9) < 30_000),
    ),
]


@pytest.mark.parametrize(("filter_", "judge"), FILTERS, ids=[json.dumps(filter_)[:60] for filter_, _ in FILTERS])
def test_a_filter_returns_the_matching_rows(notes: Notes, filter_: dict[str, Any], judge: Judge) -> None:
    source_id = notes.examples["data_source_id"]

    expected = {row["id"] for row in notes.rows(source_id) if judge(row)}
    row_ids = {row["id"] for row in notes.rows(source_id, filter=filter_)}

    assert expected == row_ids
    assert row_ids


EVERYTHING_FILTERS: list[tuple[dict[str, Any], Judge]] = [
    ({"property": "Text", "rich_text": {"contains": "CAFÉ"}}, lambda row: "café" in plain(row, "Text")),
    ({"property": "URL", "url": {"ends_with": "/42?q=a%20b"}}, lambda row: "/42?" in (plain(row, "URL") or "")),
    ({"property": "Phone", "phone_number": {"contains": "0042"}}, lambda row: "0042" in (plain(row, "Phone") or "")),
    ({"property": "ID", "unique_id": {"less_than": 4}}, lambda row: plain(row, "ID")["number"] < 4),
    ({"property": "Files & media", "files": {"is_not_empty": True}}, lambda row: bool(plain(row, "Files & media"))),
    (
        {"property": "Formula", "formula": {"number": {"greater_than": 70}}},
        lambda row: (plain(row, "Formula").get("number") or 0) > 70,
    ),
    (
        {"property": "Formula text", "formula": {"string": {"contains": "42"}}},
        lambda row: "42" in (plain(row, "Formula text").get("string") or ""),
    ),
    (
        {"property": "Rollup", "rollup": {"number": {"greater_than": 9e4}}},
        lambda row: plain(row, "Rollup")["number"] > 9e4,
    ),
    (
        {"property": "Rollup list", "rollup": {"any": {"number": {"greater_than": 8e4}}}},
        lambda row: any((item["number"] or 0) > 8e4 for item in plain(row, "Rollup list")["array"]),
    ),
    (
        {"property": "Verification", "verification": {"status": "verified"}},
        lambda row: plain(row, "Verification")["state"] == "verified",
    ),
    (
        {"property": "Created time", "created_time": {"before": "2025-05-27"}},
        lambda row: row["created_time"] < "2025-05-27",
    ),
]


@pytest.mark.parametrize(
    ("filter_", "judge"), EVERYTHING_FILTERS, ids=[filter_["property"] for filter_, _ in EVERYTHING_FILTERS]
)
def test_a_filter_of_a_rarer_type_returns_the_matching_rows(
    notes: Notes, everything: list[dict[str, Any]], filter_: dict[str, Any], judge: Judge
) -> None:
    source_id = notes.source("Everything")["id"]

    expected = {row["id"] for row in everything if judge(row)}
    row_ids = {row["id"] for row in notes.rows(source_id, filter=filter_)}

    assert expected == row_ids
    assert row_ids


def uids(row: dict[str, Any], name: str) -> list[str]:
    """The ids of the users or pages that a property refers to."""
    value = plain(row, name)
    return [raw["id"] for raw in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize(
    ("name", "kind"), [("Relation", "relation"), ("People", "people"), ("Created by", "created_by")]
)
def test_references_are_filtered_by_id(notes: Notes, everything: list[dict[str, Any]], name: str, kind: str) -> None:
    expected = next(row for row in reversed(everything) if uids(row, name))
    uid = uids(expected, name)[0]

    matches = notes.rows(expected["parent"]["data_source_id"], filter={"property": name, kind: {"contains": uid}})

    assert {row["id"] for row in everything if uid in uids(row, name)} <= {row["id"] for row in matches}
    assert all(uid in uids(row, name) for row in matches if not row["properties"]["Relation"]["has_more"])


def test_relative_windows_use_the_clock(notes: Notes, clock: ManualClock) -> None:
    page = notes.create({"Due": {"date": {"start": "2026-10-06"}}})
    windows = ("this_week", "next_week", "past_week")
    source_id = notes.examples["data_source_id"]

    results = [notes.rows(source_id, filter={"property": "Due", "date": {window: {}}}) for window in windows]

    assert [[page["id"]], [page["id"]], []] == [[row["id"] for row in rows] for rows in results]


BAD_QUERIES: list[tuple[dict[str, Any], str]] = [
    ({"filter": {"property": "Colour", "number": {"equals": 1}}}, "Could not find property with name or id: Colour"),
    ({"filter": {"property": "Value", "rich_text": {"equals": "1"}}}, "database property number does not match filter"),
    ({"filter": {"property": "Stage", "select": {"equals": "Nope"}}}, 'select option "Nope" not found for property'),
    ({"filter": {"property": "Tags", "multi_select": {"contains": "x"}}}, 'Available options: "eu", "us"'),
    ({"filter": {"property": "Value", "number": {"contains": 1}}}, "body.filter.number.contains should be not present"),
    ({"filter": {"property": "Value", "number": {"equals": "1"}}}, "body.filter.number.equals should be a number"),
    ({"filter": {"property": "Value", "number": {"is_empty": False}}}, "should be `true`"),
    ({"filter": {"property": "Due", "date": {"equals": "soon"}}}, "valid ISO 8601"),
    ({"filter": {"property": "Owner", "people": {"contains": "Ada"}}}, "valid uuid"),
    ({"filter": {"property": "Value", "number": {}}}, "exactly one condition"),
    ({"filter": {"and": [{"or": [{"and": []}]}]}}, "body.filter.and[0].or[0].and should be not present"),
    ({"filter": None}, "body.filter should be an object"),
    ({"sorts": [{"property": "Colour", "direction": "ascending"}]}, "Could not find sort property with name or id"),
    ({"sorts": [{"property": "Value", "direction": "up"}]}, "body.sorts[0].direction"),
    ({"page_size": 101}, "body.page_size should be ≤ `100`"),
    ({"page_size": 0}, "body.page_size should be ≥ `1`"),
    ({"start_cursor": "made-up"}, "The start_cursor provided is invalid: made-up"),
    ({"start_cursor": None}, "body.start_cursor should be a string"),
    ({"archived": False}, "body.archived should be not present"),
    ({"limit": 5}, "body.limit should be not present"),
]


@pytest.mark.parametrize(("body", "part"), BAD_QUERIES, ids=[json.dumps(body)[:60] for body, _ in BAD_QUERIES])
def test_invalid_queries_are_rejected(notes: Notes, body: dict[str, Any], part: str) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"

    status, code, message = notes.error("POST", path, body)

    assert (400, "validation_error") == (status, code)
    assert part in message


def test_numbers_sort_with_empty_values_last(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]

    upwards = [
        plain(row, "Value") for row in notes.rows(source_id, sorts=[{"property": "Value", "direction": "ascending"}])
    ]
    downwards = [
        plain(row, "Value") for row in notes.rows(source_id, sorts=[{"property": "Value", "direction": "descending"}])
    ]
    filled = sorted(value for value in upwards if value is not None)

    assert filled == upwards[: len(filled)]
    assert filled[::-1] == downwards[: len(filled)]
    assert {None} == {*upwards[len(filled) :], *downwards[len(filled) :]}


def test_earlier_sorts_take_precedence_and_options_sort_by_position(notes: Notes) -> None:
    sorts = [{"property": "Stage", "direction": "ascending"}, {"timestamp": "created_time", "direction": "descending"}]
    stages = ["Open", "Qualified", "Proposal", "Won", "Lost", None]

    rows = notes.rows(notes.examples["data_source_id"], sorts=sorts)
    keys = [(stages.index(plain(row, "Stage")), row["created_time"]) for row in rows]

    assert sorted(key[0] for key in keys) == [key[0] for key in keys]
    opened = [time for stage, time in keys if stage == 0]
    assert sorted(opened, reverse=True) == opened


def instants(rows: list[dict[str, Any]]) -> list[str]:
    return [row["last_edited_time"] for row in rows]


def test_rows_sort_by_last_edit_in_both_directions(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    sort = {"timestamp": "last_edited_time", "direction": "ascending"}

    upwards = instants(notes.rows(source_id, sorts=[sort], page_size=20))
    downwards = instants(notes.rows(source_id, sorts=[sort | {"direction": "descending"}], page_size=20))

    assert len(set(upwards)) > 50
    assert sorted(upwards) == upwards
    assert upwards[::-1] == downwards


def test_an_edited_row_matches_the_window_of_its_minute(notes: Notes, clock: ManualClock) -> None:
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:00Z"}}
    source_id = notes.examples["data_source_id"]
    before = notes.rows(source_id, filter=since)
    notes.perform(action="update_page", page_id=notes.examples["page_id"], properties={"Value": 1})
    after = notes.rows(source_id, filter=since)

    assert [] == before
    assert [(notes.examples["page_id"], "2026-10-05T14:07:00.000Z")] == [
        (row["id"], row["last_edited_time"]) for row in after
    ]


def test_a_filter_by_last_edit_compares_full_minutes(notes: Notes, clock: ManualClock) -> None:
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:20Z"}}
    notes.create()

    assert [] == notes.rows(notes.examples["data_source_id"], filter=since)


def created_later(notes: Notes, clock: ManualClock) -> str:
    clock.at += 1
    return str(notes.create()["id"])


def test_rows_of_one_minute_are_not_sorted_by_time(notes: Notes, clock: ManualClock) -> None:
    pages = [created_later(notes, clock) for _ in range(8)]
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:00Z"}}
    sorts = [{"timestamp": "last_edited_time", "direction": "ascending"}]
    rows = [row["id"] for row in notes.rows(notes.examples["data_source_id"], filter=since, sorts=sorts)]

    assert sorted(pages) == rows
    assert pages != rows


def test_the_row_cap_drops_the_last_rows_in_sort_order(notes: Notes) -> None:
    notes.set_knobs(row_cap=10)
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"
    sort = {"timestamp": "last_edited_time", "direction": "descending"}
    capped = notes.request("POST", path, {"sorts": [sort]})
    notes.set_knobs(row_cap=10_000)
    complete = notes.request("POST", path, {"sorts": [sort]})

    assert instants(complete["results"])[:10] == instants(capped["results"])
    assert "incomplete" == capped["request_status"]["type"]


def test_a_cursor_of_another_query_is_rejected(notes: Notes) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"
    cursor = notes.request("POST", path, {"page_size": 5})["next_cursor"]
    sorts = [{"timestamp": "created_time", "direction": "ascending"}]

    error = notes.error("POST", path, {"page_size": 5, "start_cursor": cursor, "sorts": sorts})

    assert f"The start_cursor provided is invalid: {cursor}" == error[2]


def test_cursors_do_not_change_the_identifiers_of_new_objects(notes: Notes) -> None:
    identifiers = notes.emulator.workspace.random
    before = identifiers.getstate()

    page = notes.request("POST", f"/v1/data_sources/{notes.examples['data_source_id']}/query", {"page_size": 5})

    assert page["has_more"]
    assert before == identifiers.getstate()


def test_pages_of_rows_can_be_short(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    notes.set_knobs(short_pages=True)

    first = notes.request("POST", f"/v1/data_sources/{source_id}/query", {"page_size": 30})
    rows = {row["id"] for row in notes.rows(source_id, page_size=30)}

    assert (20, True) == (len(first["results"]), first["has_more"])
    assert 52 == len(rows)


def test_a_query_ends_at_the_row_cap_with_status_incomplete(notes: Notes) -> None:
    notes.set_knobs(row_cap=20)
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"

    first = notes.request("POST", path, {"page_size": 15})
    second = notes.request("POST", path, {"page_size": 15, "start_cursor": first["next_cursor"]})
    expected = {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}

    assert (15, 5) == (len(first["results"]), len(second["results"]))
    assert (True, False, None) == (first["has_more"], second["has_more"], second["next_cursor"])
    assert expected == first["request_status"] == second["request_status"]


def test_a_query_below_the_row_cap_has_no_request_status(notes: Notes) -> None:
    raw = notes.request("POST", f"/v1/data_sources/{notes.examples['data_source_id']}/query", {})

    assert "request_status" not in raw
    assert "page_or_data_source" == raw["type"]


@pytest.mark.parametrize("key", ["filter_properties", "filter_properties[]"])
@pytest.mark.parametrize("encode", [lambda raw: raw["name"], lambda raw: raw["id"], lambda raw: unquote(raw["id"])])
def test_a_query_may_select_properties(notes: Notes, key: str, encode: Callable[[Any], str]) -> None:
    source_id = notes.examples["data_source_id"]
    column = notes.request("GET", f"/v1/data_sources/{source_id}")["properties"]["Stage"]

    raw = notes.request("POST", f"/v1/data_sources/{source_id}/query", {}, params={key: ["title", encode(column)]})
    page = notes.request("GET", f"/v1/pages/{raw['results'][0]['id']}", params={key: [encode(column)]})

    assert {"Name", "Stage"} == raw["results"][0]["properties"].keys()
    assert {"Stage"} == page["properties"].keys()
