"""Pages that are created in the notes emulator."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest

from sandbox.tests.notes.notes_client import Notes, plain, text, title

WRITES: list[tuple[str, Any, Any]] = [
    ("Title", {"title": text("Ünïcode 🎈")}, "Ünïcode 🎈"),
    ("Text", {"rich_text": text("a") + text("b")}, "ab"),
    ("Number", {"number": -12.5}, -12.5),
    ("Select", {"select": {"name": "Mid"}}, "Mid"),
    ("Status", {"status": {"name": "Done"}}, "Done"),
    ("Date", {"date": {"start": "2026-11-02"}}, "2026-11-02"),
    ("Date", {"date": {"start": "2026-11-02T10:00:00Z"}}, "2026-11-02T10:00:00.000+00:00"),
    ("Checkbox", {"type": "checkbox", "checkbox": True}, True),
    ("URL", {"url": "https://example.com"}, "https://example.com"),
    ("Email", {"email": "ann@example.com"}, "ann@example.com"),
    ("Phone", {"phone_number": "not checked"}, "not checked"),
]


@pytest.mark.parametrize(("name", "value", "read"), WRITES)
def test_a_written_value_is_read_back(notes: Notes, name: str, value: Any, read: Any) -> None:
    page = notes.create({name: value}, notes.source("Everything")["id"])

    assert read == plain(notes.request("GET", f"/v1/pages/{page['id']}"), name)


def test_references_files_and_locations_are_read_back(notes: Notes) -> None:
    source = notes.source("Everything")
    person = notes.request("GET", "/v1/users")["results"][0]
    link = {"name": "Plan", "external": {"url": "https://example.com/p.pdf"}}
    page = notes.create(
        {
            "People": {"people": [{"id": person["id"]}]},
            "Relation": {"relation": [{"id": notes.examples["page_id"]}]},
            "Files & media": {"files": [link]},
            "Place": {"place": {"lat": 1.5, "lon": -2, "name": "Here"}},
            "Verification": {"verification": {"state": "verified"}},
            "Multi-select": {"multi_select": [{"name": "beta"}, {"name": "alpha"}]},
        },
        source["id"],
    )
    me = notes.request("GET", "/v1/users/me")

    assert [person] == plain(page, "People")
    assert [{"id": notes.examples["page_id"]}] == plain(page, "Relation")
    assert False is page["properties"]["Relation"]["has_more"]
    assert [link | {"type": "external"}] == plain(page, "Files & media")
    assert (1.5, -2) == tuple(page["properties"]["Place"]["place"][axis] for axis in ("lat", "lon"))
    assert me["id"] == page["properties"]["Verification"]["verification"]["verified_by"]["id"]
    assert ["beta", "alpha"] == [option["name"] for option in plain(page, "Multi-select")]


def test_a_new_row_gets_a_number_a_status_and_its_creator(notes: Notes) -> None:
    source = notes.source("Everything")
    page = notes.create({}, source["id"])
    me = notes.request("GET", "/v1/users/me")

    assert {"prefix": "EV", "number": 321} == plain(page, "ID")
    assert "Not started" == plain(page, "Status")
    assert me["id"] == page["created_by"]["id"] == page["properties"]["Created by"]["created_by"]["id"]
    assert {} == plain(page, "Button")
    assert source["id"] == page["parent"]["data_source_id"]
    assert source["parent"]["database_id"] == page["parent"]["database_id"]
    assert (False, False, None) == (page["in_trash"], page["is_archived"], page["public_url"])
    assert "archived" not in page


def test_unknown_options_are_created_silently(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    page = notes.create(
        {"Stage": {"select": {"name": "Brand new"}}, "Tags": {"multi_select": [{"name": "eu"}, {"name": "mars"}]}}
    )
    columns = notes.request("GET", f"/v1/data_sources/{source_id}")["properties"]

    assert "Brand new" == plain(page, "Stage")
    assert plain(page, "Stage") in [option["name"] for option in columns["Stage"]["select"]["options"]]
    assert "mars" == columns["Tags"]["multi_select"]["options"][-1]["name"]


def test_options_may_be_written_by_id(notes: Notes) -> None:
    columns = notes.request("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]
    option = columns["Stage"]["select"]["options"][2]

    page = notes.create({"Stage": {"select": {"id": option["id"]}}})

    assert option["name"] == plain(page, "Stage")


def test_properties_may_be_written_by_their_returned_id(notes: Notes) -> None:
    columns = notes.request("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]

    page = notes.create({columns["Value"]["id"]: {"number": 7}, "title": {"title": text("By id")}})

    assert (7, "By id") == (plain(page, "Value"), title(page))


@pytest.mark.parametrize("encode", [unquote, lambda uid: quote(uid, safe="")])
def test_a_differently_spelled_property_id_is_rejected(notes: Notes, encode: Callable[[str], str]) -> None:
    column = notes.request("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]["Stage"]
    body = {"filter": {"property": encode(column["id"]), "select": {"is_empty": True}}}
    written = notes.create_error({encode(column["id"]): {"select": None}})
    error = notes.error("POST", f"/v1/data_sources/{notes.examples['data_source_id']}/query", body)

    assert [400, 400] == [written[0], error[0]]


def test_unknown_properties_and_wrong_types_are_rejected_together(notes: Notes) -> None:
    error = notes.create_error({"Colour": {"number": 1}, "Value": {"rich_text": []}, "name": {"title": []}})

    assert (
        400,
        "validation_error",
        "Colour is not a property that exists. Value is expected to be number. name is not a property that exists.",
    ) == error


def test_an_unknown_status_is_rejected(notes: Notes) -> None:
    status, code, message = notes.create_error({"Status": {"status": {"name": "Someday"}}})

    assert (400, "validation_error") == (status, code)
    assert 'Status option "Someday" does not exist' in message


def test_a_rejected_page_changes_nothing(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    before = notes.request("GET", f"/v1/data_sources/{source_id}"), len(notes.rows(source_id))
    notes.create_error({"Stage": {"select": {"name": "Fresh"}}, "Status": {"status": {"name": "Someday"}}})
    notes.create_error({"Stage": {"select": {"name": "Fresh"}}}, children=[{"mystery": {}}])
    after = notes.request("GET", f"/v1/data_sources/{source_id}"), len(notes.rows(source_id))

    assert before[0]["properties"] == after[0]["properties"]
    assert before[1] == after[1]


READ_ONLY = {
    "Formula": {"formula": {"number": 1}},
    "Rollup": {"rollup": {"number": 1}},
    "Created time": {"created_time": "2026-10-05T14:07:00.000Z"},
    "Last edited by": {"last_edited_by": {"id": "00000000-0000-4000-8000-000000000000"}},
    "ID": {"unique_id": {"number": 1}},
    "Button": {"button": {}},
    "Sentiment": {"sentiment": {}},
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_properties_are_rejected(notes: Notes, name: str) -> None:
    status, code, _ = notes.create_error({name: READ_ONLY[name]}, notes.source("Everything")["id"])

    assert (400, "validation_error") == (status, code)


@pytest.mark.parametrize("name", ["Formula", "Created time", "ID"])
def test_a_writable_type_is_rejected_for_a_read_only_property(notes: Notes, name: str) -> None:
    _, _, message = notes.create_error({name: {"rich_text": text("x")}}, notes.source("Everything")["id"])

    assert f"{name} is expected to be" in message


UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
INVALID_VALUES: list[tuple[str, Any]] = [
    ("Title", {"title": "plain"}),
    ("Title", {"title": None}),
    ("Title", {"title": [{"text": {"content": 5}}]}),
    ("Title", {"title": text("x" * 2001)}),
    ("Title", {"title": text("🎈" * 1001)}),
    ("Title", {"title": [{"text": {"content": "x", "link": {"url": "u" * 2001}}}]}),
    ("Text", {"rich_text": text("x") * 101}),
    ("Text", {"rich_text": [{"equation": {"expression": "x" * 1001}}]}),
    ("Number", {"number": "12"}),
    ("Number", {"number": True}),
    ("Select", {"select": "Mid"}),
    ("Select", {"select": {"name": 5}}),
    ("Select", {"select": {"name": ""}}),
    ("Select", {"select": {"name": "a,b"}}),
    ("Select", {"select": {"name": "x" * 101}}),
    ("Select", {"select": {"id": "unknown"}}),
    ("Multi-select", {"multi_select": {"name": "alpha"}}),
    ("Multi-select", {"multi_select": [{"name": str(number)} for number in range(101)]}),
    ("Date", {"date": "2026-11-02"}),
    ("Date", {"date": {"start": "2026-13-02"}}),
    ("Date", {"date": {"start": "02.11.2026"}}),
    ("Date", {"date": {"end": "2026-11-02"}}),
    ("Date", {"date": {"start": "2026-11-02", "end": "2026-11-01"}}),
    ("Date", {"date": {"start": "2026-11-02T10:00:00Z", "time_zone": "Europe/Berlin"}}),
    ("Checkbox", {"checkbox": None}),
    ("Checkbox", {"checkbox": 1}),
    ("URL", {"url": "https://example.com/" + "x" * 2000}),
    ("Email", {"email": "x" * 201}),
    ("Email", {"email": ["ann@example.com"]}),
    ("Phone", {"phone_number": "1" * 201}),
    ("People", {"people": [{"id": "ann"}]}),
    ("People", {"people": [{"id": UNKNOWN_ID}]}),
    ("People", {"people": [{"id": UNKNOWN_ID}] * 101}),
    ("Relation", {"relation": [{"id": UNKNOWN_ID}] * 101}),
    ("Files & media", {"files": [{"external": {"url": "https://example.com"}}]}),
    ("Files & media", {"files": [{"name": "f", "file_upload": {"id": UNKNOWN_ID}}]}),
    ("Place", {"place": {"lat": 1}}),
    ("Verification", {"verification": {"state": "perhaps"}}),
    ("Title", {}),
    ("Title", {"title": [], "number": 1}),
    ("Title", 5),
]


@pytest.mark.parametrize(("name", "value"), INVALID_VALUES)
def test_invalid_values_are_rejected(notes: Notes, name: str, value: Any) -> None:
    status, code, _ = notes.create_error({name: value}, notes.source("Everything")["id"])

    assert (400, "validation_error") == (status, code)


def test_an_error_names_the_json_path(notes: Notes) -> None:
    _, _, message = notes.create_error({"Name": {"title": text("x" * 2001)}})

    assert (
        "body failed validation: body.properties.Name.title[0].text.content.length should be ≤ `2000`, "
        "instead was `2001`."
    ) == message


def test_an_unshared_page_cannot_be_related(notes: Notes) -> None:
    unshared = notes.emulator.workspace.databases[notes.examples["unshared_database_id"]]
    page_id = notes.emulator.workspace.sources[unshared.source_ids[0]].rows[0]

    status, code, _ = notes.create_error(
        {"Relation": {"relation": [{"id": page_id}]}}, notes.source("Everything")["id"]
    )

    assert (404, "object_not_found") == (status, code)


@pytest.mark.parametrize(
    "more",
    [{"archived": False}, {"surprise": 1}, {"template": {"type": "default"}}, {"markdown": "# Hi", "children": []}],
)
def test_unknown_fields_of_a_create_are_rejected(notes: Notes, more: Any) -> None:
    status, _, _ = notes.create_error({}, **more)

    assert 400 == status


def test_a_page_needs_a_parent(notes: Notes) -> None:
    error = notes.error("POST", "/v1/pages", {"properties": {}})

    assert (
        400,
        "validation_error",
        "body failed validation: body.parent should be defined, instead was `undefined`.",
    ) == error


def test_a_parent_database_needs_a_single_data_source(notes: Notes) -> None:
    single, several = notes.examples["database_id"], notes.examples["multi_source_database_id"]

    page = notes.request("POST", "/v1/pages", {"parent": {"database_id": single}, "properties": {}})
    error = notes.http.post("/v1/pages", json={"parent": {"database_id": several}, "properties": {}}).json()

    assert notes.examples["data_source_id"] == page["parent"]["data_source_id"]
    assert "multiple_data_sources_for_database" == error["additional_data"]["error_type"]


def test_an_unshared_parent_is_not_found(notes: Notes) -> None:
    parent = {"database_id": notes.examples["unshared_database_id"]}

    status, code, _ = notes.error("POST", "/v1/pages", {"parent": parent, "properties": {}})

    assert (404, "object_not_found") == (status, code)


def test_a_page_outside_databases_has_only_a_title(notes: Notes) -> None:
    (handbook,) = notes.request("POST", "/v1/search", {"query": "handbook"})["results"]
    parent = {"page_id": handbook["id"]}

    page = notes.request("POST", "/v1/pages", {"parent": parent, "properties": {"title": text("Parental leave")}})
    error = notes.error("POST", "/v1/pages", {"parent": parent, "properties": {"Stage": {"number": 1}}})
    children = notes.request("GET", f"/v1/blocks/{handbook['id']}/children")["results"]

    assert {"type": "page_id", "page_id": handbook["id"]} == page["parent"]
    assert ["title"] == list(page["properties"])
    assert "Stage is not a property that exists." == error[2]
    assert {"title": "Parental leave"} == children[-1]["child_page"]


def test_a_failed_create_may_still_save_the_page(notes: Notes) -> None:
    notes.set_knobs(next_create="503_committed")

    response = notes.http.post(
        "/v1/pages", json={"parent": {"data_source_id": notes.examples["data_source_id"]}, "properties": {}}
    )
    saved = notes.request("GET", f"/v1/pages/{response.json()['additional_data']['committed_resource_id']}")
    again = notes.create()

    assert (503, "service_unavailable") == (response.status_code, response.json()["code"])
    assert "Do not repeat the write" in response.json()["additional_data"]["retry_guidance"]
    assert notes.examples["data_source_id"] == saved["parent"]["data_source_id"]
    assert saved["id"] != again["id"]


@pytest.mark.parametrize(
    ("failure", "status", "code"), [("503_uncommitted", 503, "service_unavailable"), ("529", 529, "service_overload")]
)
def test_a_failed_create_may_save_nothing(notes: Notes, failure: str, status: int, code: str) -> None:
    before = len(notes.rows(notes.examples["data_source_id"]))
    notes.set_knobs(next_create=failure)

    error = notes.create_error({})

    assert (status, code) == error[:2]
    assert before == len(notes.rows(notes.examples["data_source_id"]))
