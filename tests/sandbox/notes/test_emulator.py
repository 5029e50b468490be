import base64
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import httpx
import pytest

from harness.clocks import HandClock
from harness.playing import playing
from sandbox.notes.asking import Notes, text
from workspace_sandbox.notes import CLIENT_ID, CLIENT_SECRET, NotesEmulator
from workspace_sandbox.notes.routes import ROUTES
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with playing(notes=NotesEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def client(sandbox: Sandbox) -> Iterator[Notes]:
    made = Notes(sandbox)
    yield made
    made.close()


@pytest.fixture
def notes(client: Notes) -> Notes:
    client.freshen()
    return client


@pytest.fixture(scope="module")
def everything(client: Notes) -> list[dict[str, Any]]:
    """All rows of the database that has a property of every type."""
    client.freshen()
    return client.rows(client.source("Everything")["id"])


def title(page: dict[str, Any]) -> str:
    """The title of a page, whatever the property is called."""
    of_title = next(raw for raw in page["properties"].values() if raw["type"] == "title")
    return "".join(item["plain_text"] for item in of_title["title"])


@pytest.fixture
def clock(notes: Notes) -> Iterator[HandClock]:
    """A hand clock in place of the emulator's own, at 2026-10-05T14:07:31.402Z."""
    own = notes.emulator.stage.clock
    made = HandClock(1_791_209_251.402)
    notes.emulator.stage.clock = made
    yield made
    notes.emulator.stage.clock = own


def paragraph(content: str, *children: Any) -> dict[str, Any]:
    nested = {"children": list(children)} if children else {}
    return {"object": "block", "type": "paragraph", "paragraph": {"rich_text": text(content)} | nested}


def plain(page: dict[str, Any], name: str) -> Any:
    """The value of a property as a person would read it."""
    value = page["properties"][name][page["properties"][name]["type"]]
    if isinstance(value, dict) and "color" in value:
        return value["name"]
    if isinstance(value, dict) and "start" in value:
        return value["start"]
    if isinstance(value, list) and value and "plain_text" in value[0]:
        return "".join(item["plain_text"] for item in value)
    return value


# Who asks, and how


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer ntn_other"}])
def test_a_request_without_a_good_token_is_unauthorised(notes: Notes, headers: dict[str, str]) -> None:
    refusal = notes.refused("GET", "/v1/users/me", headers=headers)

    assert (401, "unauthorized", "API token is invalid.") == refusal


def test_a_request_without_a_version_is_refused(notes: Notes) -> None:
    response = httpx.get(f"{notes.address}/v1/users/me", headers={"Authorization": notes.http.headers["Authorization"]})

    assert 400 == response.status_code
    assert "missing_version" == response.json()["code"]


def test_an_unknown_version_is_refused(notes: Notes) -> None:
    status, code, message = notes.refused("GET", "/v1/users/me", headers={"Notion-Version": "2027-01-01"})

    assert (400, "validation_error") == (status, code)
    assert '"2026-03-11"' in message


def test_every_answer_has_a_request_id_of_its_own(notes: Notes) -> None:
    first = notes.http.get("/v1/users/me")
    refused = notes.http.get("/v1/nothing")

    assert first.json()["request_id"] == first.headers["x-notion-request-id"]
    assert refused.json()["request_id"] == refused.headers["x-notion-request-id"]
    assert first.json()["request_id"] != refused.json()["request_id"]
    assert "application/json; charset=utf-8" == first.headers["content-type"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/invalid"), ("GET", "/"), ("PUT", "/v1/pages")])
def test_a_url_the_api_does_not_have_is_refused(notes: Notes, method: str, path: str) -> None:
    refusal = notes.refused(method, path)

    assert (400, "invalid_request_url", "Invalid request URL.") == refusal


def test_an_identifier_may_be_written_without_dashes(notes: Notes) -> None:
    page_id = notes.examples["page_id"]

    page = notes.ask("GET", f"/v1/pages/{page_id.replace('-', '').upper()}")

    assert page_id == page["id"]


def test_a_malformed_identifier_is_refused(notes: Notes) -> None:
    status, code, message = notes.refused("GET", "/v1/pages/abc")

    assert (400, "validation_error") == (status, code)
    assert 'path failed validation: path.page_id should be a valid uuid, instead was `"abc"`.' == message


@pytest.mark.parametrize("sent", [b"{", b'{"page_size": NaN}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_json_is_refused(notes: Notes, sent: bytes) -> None:
    response = notes.http.post("/v1/search", content=sent)

    assert (400, "invalid_json") == (response.status_code, response.json()["code"])


def test_a_body_of_more_than_half_a_megabyte_is_refused(notes: Notes) -> None:
    status, code, _ = notes.refused("POST", "/v1/search", {"query": "x" * 500_000})

    assert (400, "validation_error") == (status, code)


def test_the_listed_routes_are_the_ones_served(notes: Notes) -> None:
    (made,) = notes.emulator.applications().values()
    routes = [route for route in made.router.routes() if route.method != "HEAD"]
    served = [(route.method, route.resource.canonical) for route in routes if route.resource]

    assert [(route.method, route.path) for route in ROUTES] == served


# Users


def test_the_token_belongs_to_a_bot_of_a_workspace(notes: Notes) -> None:
    me = notes.ask("GET", "/v1/users/me")

    assert "bot" == me["type"]
    assert {"type": "workspace", "workspace": True} == me["bot"]["owner"]
    assert {"workspace_id", "workspace_name"} < me["bot"].keys()


def test_users_are_listed_in_pages_and_read_one_by_one(notes: Notes) -> None:
    first = notes.ask("GET", "/v1/users?page_size=30")
    second = notes.ask("GET", f"/v1/users?page_size=30&start_cursor={first['next_cursor']}")
    one = notes.ask("GET", f"/v1/users/{second['results'][0]['id']}")

    assert 35 == len(first["results"] + second["results"])
    assert (True, False, None) == (first["has_more"], second["has_more"], second["next_cursor"])
    assert "user" == first["type"]
    assert second["results"][0] == {key: one[key] for key in second["results"][0]}


def test_an_unknown_user_is_not_found(notes: Notes) -> None:
    status, code, _ = notes.refused("GET", "/v1/users/00000000-0000-4000-8000-000000000000")

    assert (404, "object_not_found") == (status, code)


# Databases and data sources


def test_shared_data_sources_are_listed_over_pages_newest_first(notes: Notes) -> None:
    body: dict[str, Any] = {"filter": {"property": "object", "value": "data_source"}, "page_size": 100}
    first = notes.ask("POST", "/v1/search", body)
    second = notes.ask("POST", "/v1/search", body | {"start_cursor": first["next_cursor"]})
    found = first["results"] + second["results"]
    times = [raw["last_edited_time"] for raw in found]

    assert (100, 56) == (len(first["results"]), len(second["results"]))
    assert sorted(times, reverse=True) == times
    assert 155 == len({raw["parent"]["database_id"] for raw in found})
    assert "page_or_data_source" == first["type"]


def test_search_sorts_oldest_first_when_asked(notes: Notes) -> None:
    found = notes.ask("POST", "/v1/search", {"sort": {"timestamp": "last_edited_time", "direction": "ascending"}})
    times = [raw["last_edited_time"] for raw in found["results"]]

    assert sorted(times) == times


def test_search_forgives_a_typing_error_and_case(notes: Notes) -> None:
    found = notes.ask("POST", "/v1/search", {"query": "evrything"})

    assert ["Everything"] == [raw["title"][0]["plain_text"] for raw in found["results"]]


def test_search_finds_a_new_page_only_after_a_while(notes: Notes, clock: HandClock) -> None:
    notes.create({"Name": {"title": text("Zanzibar")}})
    at_once = notes.ask("POST", "/v1/search", {"query": "Zanzibar"})
    clock.at += 2.0
    later = notes.ask("POST", "/v1/search", {"query": "Zanzibar"})

    assert [] == at_once["results"]
    assert ["Zanzibar"] == [title(page) for page in later["results"]]


def test_search_knows_no_databases(notes: Notes) -> None:
    body = {"filter": {"property": "object", "value": "database"}}

    status, code, message = notes.refused("POST", "/v1/search", body)

    assert (400, "validation_error") == (status, code)
    assert '`"page"` or `"data_source"`' in message


def test_a_database_in_a_shared_page_is_readable_but_not_listed(notes: Notes) -> None:
    (handbook,) = notes.ask("POST", "/v1/search", {"query": "handbook"})["results"]
    children = notes.ask("GET", f"/v1/blocks/{handbook['id']}/children")["results"]
    nested = next(child for child in children if child["type"] == "child_database")
    database = notes.ask("GET", f"/v1/databases/{nested['id']}")
    found = notes.ask("POST", "/v1/search", {"query": "Meeting rooms"})

    assert {"title": "Meeting rooms"} == nested["child_database"]
    assert {"type": "page_id", "page_id": handbook["id"]} == database["parent"]
    assert [] == found["results"]


def test_a_database_has_data_sources_and_no_properties(notes: Notes) -> None:
    database = notes.ask("GET", f"/v1/databases/{notes.examples['multi_source_database_id']}")

    assert ["Projects", "Clients"] == [source["name"] for source in database["data_sources"]]
    assert "Projects & clients" == database["title"][0]["plain_text"]
    assert not {"properties", "archived"} & database.keys()


def test_an_unshared_database_is_refused_like_an_absent_one(notes: Notes) -> None:
    unshared, absent = notes.examples["unshared_database_id"], "00000000-0000-4000-8000-000000000000"

    first = notes.http.get(f"/v1/databases/{unshared}").json()
    second = notes.http.get(f"/v1/databases/{absent}").json()

    assert (404, "object_not_found") == (first["status"], first["code"])
    assert first["message"].replace(unshared, absent) == second["message"]
    assert first["additional_data"].keys() == {"integration_id"} == second["additional_data"].keys()


def test_a_database_id_is_no_data_source_id(notes: Notes) -> None:
    database_id = notes.examples["database_id"]

    status, code, _ = notes.refused("GET", f"/v1/data_sources/{database_id}")

    assert (404, "object_not_found") == (status, code)


def test_times_of_pages_are_floored_and_those_of_databases_are_not(notes: Notes, clock: HandClock) -> None:
    page = notes.create({"Name": {"title": text("Now")}})
    database = notes.ask("GET", f"/v1/databases/{notes.examples['database_id']}")

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

    database = notes.ask("GET", path, headers=older)
    rows = notes.ask("POST", f"{path}/query", {"page_size": 1}, headers=older)

    assert "Stage" in database["properties"]
    assert "data_sources" not in database
    assert {"type": "database_id", "database_id": database["id"]} == rows["results"][0]["parent"]
    assert False is rows["results"][0]["archived"]


def test_an_older_version_cannot_read_a_database_of_several_sources(notes: Notes) -> None:
    database_id = notes.examples["multi_source_database_id"]
    sources = notes.ask("GET", f"/v1/databases/{database_id}")["data_sources"]

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

    found = notes.ask("POST", "/v1/search", body, headers={"Notion-Version": "2022-06-28"})

    assert {"database"} == {raw["object"] for raw in found["results"]}


# Creating pages

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

    assert read == plain(notes.ask("GET", f"/v1/pages/{page['id']}"), name)


def test_lists_of_references_files_and_places_are_read_back(notes: Notes) -> None:
    source = notes.source("Everything")
    person = notes.ask("GET", "/v1/users")["results"][0]
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
    me = notes.ask("GET", "/v1/users/me")

    assert [person] == plain(page, "People")
    assert [{"id": notes.examples["page_id"]}] == plain(page, "Relation")
    assert False is page["properties"]["Relation"]["has_more"]
    assert [link | {"type": "external"}] == plain(page, "Files & media")
    assert (1.5, -2) == tuple(page["properties"]["Place"]["place"][axis] for axis in ("lat", "lon"))
    assert me["id"] == page["properties"]["Verification"]["verification"]["verified_by"]["id"]
    assert ["beta", "alpha"] == [option["name"] for option in plain(page, "Multi-select")]


def test_a_new_row_gets_a_number_a_status_and_its_maker(notes: Notes) -> None:
    source = notes.source("Everything")
    page = notes.create({}, source["id"])
    me = notes.ask("GET", "/v1/users/me")

    assert {"prefix": "EV", "number": 321} == plain(page, "ID")
    assert "Not started" == plain(page, "Status")
    assert me["id"] == page["created_by"]["id"] == page["properties"]["Created by"]["created_by"]["id"]
    assert {} == plain(page, "Button")
    assert source["id"] == page["parent"]["data_source_id"]
    assert source["parent"]["database_id"] == page["parent"]["database_id"]
    assert (False, False, None) == (page["in_trash"], page["is_archived"], page["public_url"])
    assert "archived" not in page


def test_unknown_options_are_created_without_a_word(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    page = notes.create(
        {"Stage": {"select": {"name": "Brand new"}}, "Tags": {"multi_select": [{"name": "eu"}, {"name": "mars"}]}}
    )
    columns = notes.ask("GET", f"/v1/data_sources/{source_id}")["properties"]

    assert "Brand new" == plain(page, "Stage")
    assert plain(page, "Stage") in [option["name"] for option in columns["Stage"]["select"]["options"]]
    assert "mars" == columns["Tags"]["multi_select"]["options"][-1]["name"]


def test_options_may_be_written_by_id(notes: Notes) -> None:
    columns = notes.ask("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]
    option = columns["Stage"]["select"]["options"][2]

    page = notes.create({"Stage": {"select": {"id": option["id"]}}})

    assert option["name"] == plain(page, "Stage")


def test_properties_may_be_written_by_the_id_that_is_answered(notes: Notes) -> None:
    columns = notes.ask("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]

    page = notes.create({columns["Value"]["id"]: {"number": 7}, "title": {"title": text("By id")}})

    assert (7, "By id") == (plain(page, "Value"), title(page))


@pytest.mark.parametrize("encode", [unquote, lambda uid: quote(uid, safe="")])
def test_an_id_in_another_spelling_is_no_property(notes: Notes, encode: Callable[[str], str]) -> None:
    column = notes.ask("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]["Stage"]
    body = {"filter": {"property": encode(column["id"]), "select": {"is_empty": True}}}
    written = notes.refused_create({encode(column["id"]): {"select": None}})
    asked = notes.refused("POST", f"/v1/data_sources/{notes.examples['data_source_id']}/query", body)

    assert [400, 400] == [written[0], asked[0]]


def test_unknown_properties_and_wrong_types_are_refused_together(notes: Notes) -> None:
    refusal = notes.refused_create({"Colour": {"number": 1}, "Value": {"rich_text": []}, "name": {"title": []}})

    assert (
        400,
        "validation_error",
        "Colour is not a property that exists. Value is expected to be number. name is not a property that exists.",
    ) == refusal


def test_an_unknown_status_is_refused(notes: Notes) -> None:
    status, code, message = notes.refused_create({"Status": {"status": {"name": "Someday"}}})

    assert (400, "validation_error") == (status, code)
    assert 'Status option "Someday" does not exist' in message


def test_a_refused_page_leaves_nothing_behind(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    before = notes.ask("GET", f"/v1/data_sources/{source_id}"), len(notes.rows(source_id))
    notes.refused_create({"Stage": {"select": {"name": "Fresh"}}, "Status": {"status": {"name": "Someday"}}})
    notes.refused_create({"Stage": {"select": {"name": "Fresh"}}}, children=[{"mystery": {}}])
    after = notes.ask("GET", f"/v1/data_sources/{source_id}"), len(notes.rows(source_id))

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
def test_read_only_properties_are_refused(notes: Notes, name: str) -> None:
    status, code, _ = notes.refused_create({name: READ_ONLY[name]}, notes.source("Everything")["id"])

    assert (400, "validation_error") == (status, code)


@pytest.mark.parametrize("name", ["Formula", "Created time", "ID"])
def test_a_writable_type_does_not_fit_a_read_only_property(notes: Notes, name: str) -> None:
    _, _, message = notes.refused_create({name: {"rich_text": text("x")}}, notes.source("Everything")["id"])

    assert f"{name} is expected to be" in message


UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"

UNFIT: list[tuple[str, Any]] = [
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


@pytest.mark.parametrize(("name", "value"), UNFIT)
def test_a_value_that_does_not_fit_is_refused(notes: Notes, name: str, value: Any) -> None:
    status, code, _ = notes.refused_create({name: value}, notes.source("Everything")["id"])

    assert (400, "validation_error") == (status, code)


def test_a_refusal_names_the_place(notes: Notes) -> None:
    _, _, message = notes.refused_create({"Name": {"title": text("x" * 2001)}})

    assert (
        "body failed validation: body.properties.Name.title[0].text.content.length should be ≤ `2000`, "
        "instead was `2001`."
    ) == message


def test_a_page_that_is_not_shared_cannot_be_related_to(notes: Notes) -> None:
    unshared = notes.emulator.workspace.databases[notes.examples["unshared_database_id"]]
    page_id = notes.emulator.workspace.sources[unshared.source_ids[0]].rows[0]

    status, code, _ = notes.refused_create(
        {"Relation": {"relation": [{"id": page_id}]}}, notes.source("Everything")["id"]
    )

    assert (404, "object_not_found") == (status, code)


@pytest.mark.parametrize(
    "more", [{"archived": False}, {"surprise": 1}, {"template": {"type": "default"}}, {"markdown": "# Hi"}]
)
def test_fields_that_a_create_does_not_have_are_refused(notes: Notes, more: Any) -> None:
    status, _, _ = notes.refused_create({}, **more)

    assert 400 == status


def test_a_page_needs_a_parent(notes: Notes) -> None:
    refusal = notes.refused("POST", "/v1/pages", {"properties": {}})

    assert (
        400,
        "validation_error",
        "body failed validation: body.parent should be defined, instead was `undefined`.",
    ) == refusal


def test_a_parent_database_will_do_where_it_has_one_source_only(notes: Notes) -> None:
    single, several = notes.examples["database_id"], notes.examples["multi_source_database_id"]

    made = notes.ask("POST", "/v1/pages", {"parent": {"database_id": single}, "properties": {}})
    refused = notes.http.post("/v1/pages", json={"parent": {"database_id": several}, "properties": {}}).json()

    assert notes.examples["data_source_id"] == made["parent"]["data_source_id"]
    assert "multiple_data_sources_for_database" == refused["additional_data"]["error_type"]


def test_an_unshared_parent_is_not_found(notes: Notes) -> None:
    parent = {"database_id": notes.examples["unshared_database_id"]}

    status, code, _ = notes.refused("POST", "/v1/pages", {"parent": parent, "properties": {}})

    assert (404, "object_not_found") == (status, code)


def test_a_page_outside_databases_has_a_title_only(notes: Notes) -> None:
    (handbook,) = notes.ask("POST", "/v1/search", {"query": "handbook"})["results"]
    parent = {"page_id": handbook["id"]}

    page = notes.ask("POST", "/v1/pages", {"parent": parent, "properties": {"title": text("Parental leave")}})
    refusal = notes.refused("POST", "/v1/pages", {"parent": parent, "properties": {"Stage": {"number": 1}}})
    children = notes.ask("GET", f"/v1/blocks/{handbook['id']}/children")["results"]

    assert {"type": "page_id", "page_id": handbook["id"]} == page["parent"]
    assert ["title"] == list(page["properties"])
    assert "Stage is not a property that exists." == refusal[2]
    assert {"title": "Parental leave"} == children[-1]["child_page"]


def test_an_accident_may_save_the_page_all_the_same(notes: Notes) -> None:
    notes.turn(next_create="503_committed")

    refused = notes.http.post(
        "/v1/pages", json={"parent": {"data_source_id": notes.examples["data_source_id"]}, "properties": {}}
    )
    saved = notes.ask("GET", f"/v1/pages/{refused.json()['additional_data']['committed_resource_id']}")
    again = notes.create()

    assert (503, "service_unavailable") == (refused.status_code, refused.json()["code"])
    assert "Do not repeat the write" in refused.json()["additional_data"]["retry_guidance"]
    assert notes.examples["data_source_id"] == saved["parent"]["data_source_id"]
    assert saved["id"] != again["id"]


@pytest.mark.parametrize(
    ("accident", "status", "code"), [("503_uncommitted", 503, "service_unavailable"), ("529", 529, "service_overload")]
)
def test_an_accident_may_save_nothing(notes: Notes, accident: str, status: int, code: str) -> None:
    before = len(notes.rows(notes.examples["data_source_id"]))
    notes.turn(next_create=accident)

    refusal = notes.refused_create({})

    assert (status, code) == refusal[:2]
    assert before == len(notes.rows(notes.examples["data_source_id"]))


# Updating, trashing and restoring pages


def test_an_update_changes_what_it_names_only(notes: Notes, clock: HandClock) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    before = notes.ask("GET", path)

    after = notes.ask("PATCH", path, {"properties": {"Value": {"number": 1}, "Due": {"date": None}}})

    assert (1, None) == (plain(after, "Value"), plain(after, "Due"))
    assert before["properties"]["Stage"] == after["properties"]["Stage"]
    assert before["created_time"] == after["created_time"]
    assert "2026-10-05T14:07:00.000Z" == after["last_edited_time"]
    assert after["properties"]["Score"]["formula"]["number"] // 1 == 1 or plain(after, "Score")


@pytest.mark.parametrize(
    ("name", "cleared", "read"),
    [
        ("Name", {"title": []}, []),
        ("Stage", {"select": None}, None),
        ("Tags", {"multi_select": []}, []),
        ("Value", {"number": None}, None),
        ("Email", {"email": None}, None),
        ("Owner", {"people": []}, []),
        ("Status", {"status": None}, "Not started"),
    ],
)
def test_nothing_clears_a_value_and_puts_a_status_back(notes: Notes, name: str, cleared: Any, read: Any) -> None:
    page = notes.ask("PATCH", f"/v1/pages/{notes.examples['page_id']}", {"properties": {name: cleared}})

    assert read == plain(page, name)


def test_a_trashed_page_is_readable_hidden_and_closed_to_edits_until_restored(notes: Notes) -> None:
    page_id, source_id = notes.examples["page_id"], notes.examples["data_source_id"]
    path = f"/v1/pages/{page_id}"
    trashed = notes.ask("PATCH", path, {"in_trash": True})
    read = notes.ask("GET", path)
    rows = [row["id"] for row in notes.rows(source_id)]
    found = notes.ask("POST", "/v1/search", {"query": notes.examples["title"]})["results"]
    edit = notes.refused("PATCH", path, {"properties": {"Value": {"number": 1}}})
    append = notes.refused("PATCH", f"/v1/blocks/{page_id}/children", {"children": [paragraph("x")]})
    restored = notes.ask("PATCH", path, {"in_trash": False})

    assert trashed["in_trash"] is read["in_trash"] is True
    assert page_id not in rows
    assert page_id not in [raw["id"] for raw in found]
    assert (400, "validation_error") == edit[:2] == append[:2]
    assert "archived" in edit[2]
    assert False is restored["in_trash"]
    assert page_id in [row["id"] for row in notes.rows(source_id)]


def test_values_may_be_written_while_trashing(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"

    page = notes.ask("PATCH", path, {"properties": {"Value": {"number": 3}}, "in_trash": True})

    assert (3, True) == (plain(page, "Value"), page["in_trash"])


def test_trashed_pages_can_be_searched_and_queried_for(notes: Notes) -> None:
    body = {"filter": {"property": "object", "value": "page", "in_trash": True}}

    found = notes.ask("POST", "/v1/search", body)["results"]
    rows = notes.rows(notes.examples["data_source_id"], in_trash=True)

    assert 4 == len(found)
    assert 3 == len(rows)
    assert all(raw["in_trash"] for raw in found + rows)


def test_the_old_name_of_the_trash_is_known_to_older_versions_only(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"

    refused = notes.refused("PATCH", path, {"archived": True})
    page = notes.ask("PATCH", path, {"archived": True}, headers={"Notion-Version": "2025-09-03"})

    assert "body failed validation: body.archived should be not present, instead was `true`." == refused[2]
    assert page["in_trash"] is page["archived"] is True


def test_icon_cover_and_lock_can_be_set(notes: Notes) -> None:
    cover = {"type": "external", "external": {"url": "https://example.com/c.png"}}
    path = f"/v1/pages/{notes.examples['page_id']}"

    page = notes.ask("PATCH", path, {"icon": {"emoji": "🛴"}, "cover": cover, "is_locked": True})
    bare = notes.ask("PATCH", path, {"icon": None})

    assert {"type": "emoji", "emoji": "🛴"} == page["icon"]
    assert (cover, True) == (page["cover"], page["is_locked"])
    assert None is bare["icon"]


def test_an_unshared_page_is_not_found(notes: Notes) -> None:
    unshared = notes.emulator.workspace.databases[notes.examples["unshared_database_id"]]
    page_id = notes.emulator.workspace.sources[unshared.source_ids[0]].rows[0]

    status, code, _ = notes.refused("PATCH", f"/v1/pages/{page_id}", {"in_trash": True})

    assert (404, "object_not_found") == (status, code)


# Queries

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


@pytest.mark.parametrize(("wanted", "judge"), FILTERS, ids=[json.dumps(wanted)[:60] for wanted, _ in FILTERS])
def test_a_filter_keeps_what_it_should(notes: Notes, wanted: dict[str, Any], judge: Judge) -> None:
    source_id = notes.examples["data_source_id"]

    expected = {row["id"] for row in notes.rows(source_id) if judge(row)}
    found = {row["id"] for row in notes.rows(source_id, filter=wanted)}

    assert expected == found
    assert found


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
    ("wanted", "judge"), EVERYTHING_FILTERS, ids=[wanted["property"] for wanted, _ in EVERYTHING_FILTERS]
)
def test_a_filter_of_a_rarer_type_keeps_what_it_should(
    notes: Notes, everything: list[dict[str, Any]], wanted: dict[str, Any], judge: Judge
) -> None:
    source_id = notes.source("Everything")["id"]

    expected = {row["id"] for row in everything if judge(row)}
    found = {row["id"] for row in notes.rows(source_id, filter=wanted)}

    assert expected == found
    assert found


def uids(row: dict[str, Any], name: str) -> list[str]:
    """The ids of the users or pages that a property refers to."""
    value = plain(row, name)
    return [raw["id"] for raw in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize(
    ("name", "kind"), [("Relation", "relation"), ("People", "people"), ("Created by", "created_by")]
)
def test_references_are_filtered_by_id(notes: Notes, everything: list[dict[str, Any]], name: str, kind: str) -> None:
    wanted = next(row for row in reversed(everything) if uids(row, name))
    uid = uids(wanted, name)[0]

    found = notes.rows(wanted["parent"]["data_source_id"], filter={"property": name, kind: {"contains": uid}})

    assert {row["id"] for row in everything if uid in uids(row, name)} <= {row["id"] for row in found}
    assert all(uid in uids(row, name) for row in found if not row["properties"]["Relation"]["has_more"])


def test_relative_windows_go_by_the_clock(notes: Notes, clock: HandClock) -> None:
    page = notes.create({"Due": {"date": {"start": "2026-10-06"}}})
    windows = ("this_week", "next_week", "past_week")
    source_id = notes.examples["data_source_id"]

    found = [notes.rows(source_id, filter={"property": "Due", "date": {window: {}}}) for window in windows]

    assert [[page["id"]], [page["id"]], []] == [[row["id"] for row in rows] for rows in found]


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
def test_a_query_that_does_not_fit_is_refused(notes: Notes, body: dict[str, Any], part: str) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"

    status, code, message = notes.refused("POST", path, body)

    assert (400, "validation_error") == (status, code)
    assert part in message


def test_numbers_sort_with_the_empty_ones_last(notes: Notes) -> None:
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


def test_earlier_sorts_come_first_and_options_sort_by_their_order(notes: Notes) -> None:
    sorts = [{"property": "Stage", "direction": "ascending"}, {"timestamp": "created_time", "direction": "descending"}]
    stages = ["Open", "Qualified", "Proposal", "Won", "Lost", None]

    rows = notes.rows(notes.examples["data_source_id"], sorts=sorts)
    keys = [(stages.index(plain(row, "Stage")), row["created_time"]) for row in rows]

    assert sorted(key[0] for key in keys) == [key[0] for key in keys]
    opened = [time for stage, time in keys if stage == 0]
    assert sorted(opened, reverse=True) == opened


def instants(rows: list[dict[str, Any]]) -> list[str]:
    return [row["last_edited_time"] for row in rows]


def test_rows_sort_by_their_last_edit_both_ways(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    sort = {"timestamp": "last_edited_time", "direction": "ascending"}

    upwards = instants(notes.rows(source_id, sorts=[sort], page_size=20))
    downwards = instants(notes.rows(source_id, sorts=[sort | {"direction": "descending"}], page_size=20))

    assert len(set(upwards)) > 50
    assert sorted(upwards) == upwards
    assert upwards[::-1] == downwards


def test_an_edit_brings_a_row_into_the_window_of_its_minute(notes: Notes, clock: HandClock) -> None:
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:00Z"}}
    source_id = notes.examples["data_source_id"]
    before = notes.rows(source_id, filter=since)
    notes.act(action="update_page", page_id=notes.examples["page_id"], properties={"Value": 1})
    after = notes.rows(source_id, filter=since)

    assert [] == before
    assert [(notes.examples["page_id"], "2026-10-05T14:07:00.000Z")] == [
        (row["id"], row["last_edited_time"]) for row in after
    ]


def test_a_filter_by_last_edit_sees_whole_minutes_only(notes: Notes, clock: HandClock) -> None:
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:20Z"}}
    notes.create()

    assert [] == notes.rows(notes.examples["data_source_id"], filter=since)


def created_later(notes: Notes, clock: HandClock) -> str:
    clock.at += 1
    return str(notes.create()["id"])


def test_within_a_minute_rows_sort_in_no_order_of_time(notes: Notes, clock: HandClock) -> None:
    pages = [created_later(notes, clock) for _ in range(8)]
    since = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": "2026-10-05T14:07:00Z"}}
    sorts = [{"timestamp": "last_edited_time", "direction": "ascending"}]
    rows = [row["id"] for row in notes.rows(notes.examples["data_source_id"], filter=since, sorts=sorts)]

    assert sorted(pages) == rows
    assert pages != rows


def test_the_row_cap_cuts_off_what_is_sorted_last(notes: Notes) -> None:
    notes.turn(row_cap=10)
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"
    sort = {"timestamp": "last_edited_time", "direction": "descending"}
    capped = notes.ask("POST", path, {"sorts": [sort]})
    notes.turn(row_cap=10_000)
    whole = notes.ask("POST", path, {"sorts": [sort]})

    assert instants(whole["results"])[:10] == instants(capped["results"])
    assert "incomplete" == capped["request_status"]["type"]


def test_cursors_lead_through_every_row_once(notes: Notes) -> None:
    source_id = notes.source("Everything")["id"]

    rows = [row["id"] for row in notes.rows(source_id, page_size=47)]

    assert 320 == len(rows) == len(set(rows))


def test_a_cursor_holds_for_its_own_query_only(notes: Notes) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"
    cursor = notes.ask("POST", path, {"page_size": 5})["next_cursor"]
    sorts = [{"timestamp": "created_time", "direction": "ascending"}]

    refusal = notes.refused("POST", path, {"page_size": 5, "start_cursor": cursor, "sorts": sorts})

    assert f"The start_cursor provided is invalid: {cursor}" == refusal[2]


def test_pages_of_rows_may_be_short(notes: Notes) -> None:
    source_id = notes.examples["data_source_id"]
    notes.turn(short_pages=True)

    first = notes.ask("POST", f"/v1/data_sources/{source_id}/query", {"page_size": 30})
    rows = {row["id"] for row in notes.rows(source_id, page_size=30)}

    assert (20, True) == (len(first["results"]), first["has_more"])
    assert 52 == len(rows)


def test_a_query_ends_at_the_row_cap_and_says_so_on_every_page(notes: Notes) -> None:
    notes.turn(row_cap=20)
    path = f"/v1/data_sources/{notes.examples['data_source_id']}/query"

    first = notes.ask("POST", path, {"page_size": 15})
    second = notes.ask("POST", path, {"page_size": 15, "start_cursor": first["next_cursor"]})
    told = {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}

    assert (15, 5) == (len(first["results"]), len(second["results"]))
    assert (True, False, None) == (first["has_more"], second["has_more"], second["next_cursor"])
    assert told == first["request_status"] == second["request_status"]


def test_a_query_below_the_cap_says_nothing_of_it(notes: Notes) -> None:
    raw = notes.ask("POST", f"/v1/data_sources/{notes.examples['data_source_id']}/query", {})

    assert "request_status" not in raw
    assert "page_or_data_source" == raw["type"]


@pytest.mark.parametrize("key", ["filter_properties", "filter_properties[]"])
@pytest.mark.parametrize("encode", [lambda raw: raw["name"], lambda raw: raw["id"], lambda raw: unquote(raw["id"])])
def test_a_query_may_select_properties(notes: Notes, key: str, encode: Callable[[Any], str]) -> None:
    source_id = notes.examples["data_source_id"]
    column = notes.ask("GET", f"/v1/data_sources/{source_id}")["properties"]["Stage"]

    raw = notes.ask("POST", f"/v1/data_sources/{source_id}/query", {}, params={key: ["title", encode(column)]})
    page = notes.ask("GET", f"/v1/pages/{raw['results'][0]['id']}", params={key: [encode(column)]})

    assert {"Name", "Stage"} == raw["results"][0]["properties"].keys()
    assert {"Stage"} == page["properties"].keys()


# Values too long for a page object


@pytest.mark.parametrize(("name", "total", "shown"), [("Relation", 40, 25), ("People", 30, 25), ("Text", 31, 25)])
def test_a_page_shows_the_beginning_and_its_property_everything(
    notes: Notes, everything: list[dict[str, Any]], name: str, total: int, shown: int
) -> None:
    page = next(row for row in everything if row["properties"]["Relation"]["has_more"])
    prop = page["properties"][name]
    path = f"/v1/pages/{page['id']}/properties/{prop['id']}"

    first = notes.ask("GET", path, params={"page_size": "20"})
    second = notes.ask("GET", first["property_item"]["next_url"].removeprefix(notes.address))
    items = first["results"] + second["results"]

    assert shown == len(prop[prop["type"]])
    assert total == len(items)
    assert {"property_item"} == {item["object"] for item in items}
    assert prop[prop["type"]] == [item[prop["type"]] for item in items[:shown]]
    assert (prop["id"], prop["type"]) == (second["property_item"]["id"], second["property_item"]["type"])
    assert None is second["property_item"]["next_url"]


def test_a_property_of_one_value_is_answered_by_itself(notes: Notes) -> None:
    page = notes.ask("GET", f"/v1/pages/{notes.examples['page_id']}")

    item = notes.ask("GET", f"/v1/pages/{page['id']}/properties/{page['properties']['Value']['id']}")

    assert {"object": "property_item", "id": page["properties"]["Value"]["id"], "type": "number"} == {
        key: item[key] for key in ("object", "id", "type")
    }
    assert plain(page, "Value") == item["number"]


def test_an_unknown_property_has_no_values(notes: Notes) -> None:
    status, code, _ = notes.refused("GET", f"/v1/pages/{notes.examples['page_id']}/properties/nope")

    assert (400, "validation_error") == (status, code)


# Blocks


def test_blocks_come_with_a_page_and_are_appended_after_it(notes: Notes) -> None:
    callout = {"callout": {"rich_text": text("note"), "icon": {"type": "emoji", "emoji": "🔔"}}}
    bullet = {"bulleted_list_item": {"rich_text": text("one")}}
    page = notes.create({}, children=[paragraph("Hello"), bullet])
    path = f"/v1/blocks/{page['id']}/children"

    made = notes.ask("PATCH", path, {"children": [callout], "position": {"type": "end"}})
    children = notes.ask("GET", path)

    assert "block" == made["type"] == children["type"]
    assert ["paragraph", "bulleted_list_item", "callout"] == [block["type"] for block in children["results"]]
    assert {"type": "emoji", "emoji": "🔔"} == made["results"][0]["callout"]["icon"]
    assert "Hello" == children["results"][0]["paragraph"]["rich_text"][0]["plain_text"]
    assert {"type": "page_id", "page_id": page["id"]} == children["results"][0]["parent"]


def test_blocks_can_be_placed_at_the_start_and_behind_another(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("a"), paragraph("b")])
    path = f"/v1/blocks/{page['id']}/children"
    first = notes.ask("GET", path)["results"][0]["id"]
    behind = {"type": "after_block", "after_block": {"id": first}}

    notes.ask("PATCH", path, {"children": [paragraph("start")], "position": {"type": "start"}})
    notes.ask("PATCH", path, {"children": [paragraph("between")], "position": behind})
    older = notes.ask(
        "PATCH", path, {"children": [paragraph("older")], "after": first}, headers={"Notion-Version": "2025-09-03"}
    )
    refused = notes.refused("PATCH", path, {"children": [paragraph("x")], "after": first})
    told = [block["paragraph"]["rich_text"][0]["plain_text"] for block in notes.ask("GET", path)["results"]]

    assert ["start", "a", "older", "between", "b"] == told
    assert False is older["results"][0]["archived"]
    assert "body.after should be not present" in refused[2]


def test_children_of_blocks_may_be_nested_twice(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("1", paragraph("2", paragraph("3")))])
    path = f"/v1/blocks/{page['id']}/children"
    (first,) = notes.ask("GET", path)["results"]
    (second,) = notes.ask("GET", f"/v1/blocks/{first['id']}/children")["results"]

    too_deep = notes.refused(
        "PATCH", path, {"children": [paragraph("1", paragraph("2", paragraph("3", paragraph("4"))))]}
    )

    assert (True, True) == (first["has_children"], second["has_children"])
    assert {"type": "block_id", "block_id": first["id"]} == second["parent"]
    assert ".paragraph.children should be not present" in too_deep[2]


BAD_CHILDREN: list[Any] = [
    None,
    {},
    [paragraph("x")] * 101,
    [paragraph("x", *[paragraph("y", *[paragraph("z")] * 20)] * 10)] * 5,
    [paragraph("x" * 2001)],
    [{"paragraph": {}}],
    [{"type": "bulleted_list_item", "paragraph": {"rich_text": []}}],
    [{"mystery": {}}],
    [{"paragraph": {"rich_text": [], "surprise": 1}}],
    [paragraph("x") | {"archived": False}],
    ["plain"],
]


@pytest.mark.parametrize("children", BAD_CHILDREN, ids=range(len(BAD_CHILDREN)))
def test_blocks_that_do_not_fit_are_refused(notes: Notes, children: Any) -> None:
    path = f"/v1/blocks/{notes.examples['page_id']}/children"

    status, code, _ = notes.refused("PATCH", path, {"children": children})

    assert (400, "validation_error") == (status, code)


def test_children_are_listed_in_pages(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph(str(number)) for number in range(5)])
    path = f"/v1/blocks/{page['id']}/children"

    first = notes.ask("GET", path, params={"page_size": "3"})
    second = notes.ask("GET", path, params={"page_size": "3", "start_cursor": first["next_cursor"]})

    assert (3, 2) == (len(first["results"]), len(second["results"]))


def test_a_deleted_block_goes_to_the_trash_and_so_does_a_page(notes: Notes) -> None:
    page = notes.create({}, children=[paragraph("gone")])
    path = f"/v1/blocks/{page['id']}/children"
    (block,) = notes.ask("GET", path)["results"]

    deleted = notes.ask("DELETE", f"/v1/blocks/{block['id']}")
    trashed = notes.ask("DELETE", f"/v1/blocks/{page['id']}")

    assert True is deleted["in_trash"] is notes.ask("GET", f"/v1/blocks/{block['id']}")["in_trash"]
    assert [] == notes.ask("GET", path)["results"]
    assert ("child_page", True) == (trashed["type"], trashed["in_trash"])


def test_appending_makes_a_page_newer(notes: Notes, clock: HandClock) -> None:
    page_id = notes.examples["page_id"]

    notes.ask("PATCH", f"/v1/blocks/{page_id}/children", {"children": [paragraph("x")]})

    assert "2026-10-05T14:07:00.000Z" == notes.ask("GET", f"/v1/pages/{page_id}")["last_edited_time"]


# OAuth

REDIRECT = "https://client.example/callback"
ASKED = {"client_id": CLIENT_ID, "response_type": "code", "owner": "user", "redirect_uri": REDIRECT, "state": "s&1"}
BASIC = {"Authorization": "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()}


def consent(notes: Notes) -> str:
    sent = notes.http.get("/v1/oauth/authorize", params=ASKED | {"auto_approve": "true"})
    return parse_qs(urlsplit(sent.headers["location"]).query)["code"][0]


def exchange(notes: Notes, **body: Any) -> httpx.Response:
    return notes.http.post("/v1/oauth/token", json=body, headers=BASIC)


def pair(notes: Notes) -> dict[str, Any]:
    answer = exchange(notes, grant_type="authorization_code", code=consent(notes), redirect_uri=REDIRECT)
    assert 200 == answer.status_code
    made: dict[str, Any] = answer.json()
    return made


def status_with(notes: Notes, token: str) -> int:
    return notes.http.get("/v1/users/me", headers={"Authorization": f"Bearer {token}"}).status_code


def test_the_user_is_asked_for_consent_and_sent_back(notes: Notes) -> None:
    page = notes.http.get("/v1/oauth/authorize", params=ASKED)
    notes.turn(auto_approve=True)
    sent = notes.http.get("/v1/oauth/authorize", params=ASKED)
    query = parse_qs(urlsplit(sent.headers["location"]).query)

    assert "text/html" in page.headers["content-type"]
    assert "Fernweh Studios" in page.text
    assert "Lantern Bakery" in page.text
    assert 302 == sent.status_code
    assert ["s&1"] == query["state"]
    assert {"code", "state"} == query.keys()


@pytest.mark.parametrize("wrong", [{"client_id": "x"}, {"response_type": "token"}, {"redirect_uri": "javascript:x"}])
def test_a_consent_that_is_asked_wrongly_is_refused(notes: Notes, wrong: dict[str, str]) -> None:
    response = notes.http.get("/v1/oauth/authorize", params=ASKED | wrong)

    assert 400 == response.status_code


def test_a_code_gives_a_pair_that_works(notes: Notes) -> None:
    made = pair(notes)
    me = notes.ask("GET", "/v1/users/me", headers={"Authorization": f"Bearer {made['access_token']}"})
    found = notes.ask("POST", "/v1/search", {}, headers={"Authorization": f"Bearer {made['access_token']}"})

    assert {
        *("access_token", "token_type", "refresh_token", "bot_id", "workspace_id", "workspace_name"),
        *("workspace_icon", "owner", "duplicated_template_id", "request_id"),
    } == made.keys()
    assert ("bearer", made["bot_id"]) == (made["token_type"], me["id"])
    assert "user" == me["bot"]["owner"]["type"] == made["owner"]["type"]
    assert found["results"]


def test_a_code_is_good_once_and_for_its_redirect_only(notes: Notes, clock: HandClock) -> None:
    code, other, late = consent(notes), consent(notes), consent(notes)

    first = exchange(notes, grant_type="authorization_code", code=code, redirect_uri=REDIRECT)
    again = exchange(notes, grant_type="authorization_code", code=code, redirect_uri=REDIRECT)
    elsewhere = exchange(notes, grant_type="authorization_code", code=other, redirect_uri="https://other.example")
    clock.at += 601
    expired = exchange(notes, grant_type="authorization_code", code=late, redirect_uri=REDIRECT)

    assert 200 == first.status_code
    assert [answer.json()["code"] for answer in (again, elsewhere, expired)] == ["invalid_grant"] * 3
    assert 400 == again.status_code


def test_refreshing_ends_the_old_pair(notes: Notes) -> None:
    old = pair(notes)
    new = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"]).json()
    reused = exchange(notes, grant_type="refresh_token", refresh_token=old["refresh_token"])

    assert (401, 200) == (status_with(notes, old["access_token"]), status_with(notes, new["access_token"]))
    assert (400, "invalid_grant") == (reused.status_code, reused.json()["code"])
    assert old["bot_id"] == new["bot_id"]


def test_a_revoked_token_is_dead_and_known_as_such(notes: Notes) -> None:
    made = pair(notes)
    body = {"token": made["access_token"]}
    before = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()
    revoked = notes.http.post("/v1/oauth/revoke", json=body, headers=BASIC)
    after = notes.http.post("/v1/oauth/introspect", json=body, headers=BASIC).json()

    assert (True, False) == (before["active"], after["active"])
    assert isinstance(before["iat"], int)
    assert 200 == revoked.status_code
    assert 401 == status_with(notes, made["access_token"])


@pytest.mark.parametrize("header", ["", "Basic !", "Basic eDp5", "Bearer x"])
def test_a_client_must_show_its_secret(notes: Notes, header: str) -> None:
    response = notes.http.post("/v1/oauth/token", json={}, headers={"Authorization": header})

    assert (401, "invalid_client") == (response.status_code, response.json()["code"])


def test_an_unknown_kind_of_grant_is_refused(notes: Notes) -> None:
    response = exchange(notes, grant_type="password")

    assert (400, "validation_error") == (response.status_code, response.json()["code"])


# Throttling


def test_a_burst_is_taken_and_then_three_requests_a_second(notes: Notes, clock: HandClock) -> None:
    notes.turn(limits=True)
    burst = [notes.http.get("/v1/users/me").status_code for _ in range(11)]
    refused = notes.http.get("/v1/users/me")
    clock.at += int(refused.headers["Retry-After"])
    later = [notes.http.get("/v1/users/me").status_code for _ in range(4)]

    assert burst == [200] * 10 + [429]
    assert "1" == refused.headers["Retry-After"]
    assert "rate_limited" == refused.json()["code"]
    assert "public_api_request_rate_limit" == refused.json()["additional_data"]["rate_limit_reason"]
    assert [200, 200, 200, 429] == later


def test_each_token_has_a_budget_of_its_own(notes: Notes, clock: HandClock) -> None:
    other = pair(notes)["access_token"]
    notes.turn(limits=True)
    spent = [notes.http.get("/v1/users/me").status_code for _ in range(11)]

    assert 429 == spent[-1]
    assert 200 == status_with(notes, other)


# What testers do


def test_a_reset_repeats_everything(notes: Notes) -> None:
    def play() -> list[Any]:
        notes.reset()
        page = notes.create({"Name": {"title": text("Again")}, "Stage": {"select": {"name": "New option"}}})
        raw = notes.ask("POST", "/v1/search", {"page_size": 7})
        return [page["id"], plain(page, "Stage"), raw["next_cursor"], raw["request_id"], notes.examples]

    first, second = play(), play()

    assert first == second


def test_a_reset_forgets_what_was_done(notes: Notes) -> None:
    page = notes.create()
    notes.reset()

    assert 404 == notes.refused("GET", f"/v1/pages/{page['id']}")[0]


def test_the_examples_are_what_they_say(notes: Notes) -> None:
    examples = notes.examples
    page = notes.ask("GET", f"/v1/pages/{examples['page_id']}")
    database = notes.ask("GET", f"/v1/databases/{examples['database_id']}")

    assert examples["title"] == title(page)
    assert examples["data_source_id"] == page["parent"]["data_source_id"] == database["data_sources"][0]["id"]
    assert examples["database_id"] == page["parent"]["database_id"]
    assert 52 == len(notes.rows(examples["data_source_id"]))


def test_a_withdrawn_authorisation_can_be_given_back(notes: Notes) -> None:
    made = pair(notes)
    notes.control.post("/_control/notes/revoke")
    refused = notes.refused("GET", "/v1/users/me")
    refresh = exchange(notes, grant_type="refresh_token", refresh_token=made["refresh_token"])
    granted_anew = pair(notes)
    notes.control.post("/_control/notes/authorise")

    assert (401, "unauthorized") == refused[:2]
    assert "invalid_grant" == refresh.json()["code"]
    assert 200 == status_with(notes, granted_anew["access_token"]) == status_with(notes, made["access_token"])
    assert notes.ask("GET", "/v1/users/me")


def test_a_person_creates_and_updates_pages_in_plain_values(notes: Notes) -> None:
    values = {"Name": "By hand", "Value": 5, "Stage": "Hand-made", "Tags": ["eu", "new"], "Due": "2026-01-02"}
    people = {"Owner": ["Ada Lindqvist"], "Hot": True, "Status": "Done", "Email": "a@example.com"}

    made = notes.act(action="create_page", database_id=notes.examples["database_id"], properties=values | people).json()
    notes.act(action="update_page", page_id=made["page_id"], properties={"Value": None, "Name": "Renamed"})
    page = notes.ask("GET", f"/v1/pages/{made['page_id']}")
    me = notes.ask("GET", "/v1/users/me")

    assert ("Renamed", None, "Hand-made") == (title(page), plain(page, "Value"), plain(page, "Stage"))
    assert ("Done", True, "2026-01-02") == (plain(page, "Status"), plain(page, "Hot"), plain(page, "Due"))
    assert ["eu", "new"] == [option["name"] for option in plain(page, "Tags")]
    assert ["Ada Lindqvist"] == [user["name"] for user in plain(page, "Owner")]
    assert me["id"] not in {page["created_by"]["id"], page["last_edited_by"]["id"]}


def test_a_person_trashes_restores_and_renames(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    notes.act(action="trash_page", page_id=notes.examples["page_id"])
    trashed = notes.ask("GET", path)["in_trash"]
    notes.act(action="restore_page", page_id=notes.examples["page_id"])
    notes.act(action="rename_property", database_id=notes.examples["database_id"], property="Stage", name="Phase")
    page = notes.ask("GET", path)

    assert (True, False) == (trashed, page["in_trash"])
    assert "Phase" in page["properties"]
    assert "Stage" not in page["properties"]


@pytest.mark.parametrize("actions", [["create_page"], ["update_page"], ["trash_page"], ["trash_page", "restore_page"]])
def test_what_a_person_does_is_an_edit_of_this_minute(notes: Notes, clock: HandClock, actions: list[str]) -> None:
    target = {"page_id": notes.examples["page_id"], "database_id": notes.examples["database_id"]}
    made = [notes.act(action=action, properties={"Value": 1}, **target).json() for action in actions]
    page = notes.ask("GET", f"/v1/pages/{made[-1]['page_id']}")

    assert "2026-10-05T14:07:00.000Z" == page["last_edited_time"]


def test_a_renamed_option_keeps_its_id_and_leaves_the_pages_unedited(notes: Notes) -> None:
    path = f"/v1/pages/{notes.examples['page_id']}"
    before = notes.ask("GET", path)
    stage = before["properties"]["Stage"]["select"]
    made = notes.act(
        action="rename_option",
        database_id=notes.examples["database_id"],
        property="Stage",
        option=stage["name"],
        name="Somewhere",
    ).json()
    after = notes.ask("GET", path)

    assert stage | {"name": "Somewhere"} == after["properties"]["Stage"]["select"]
    assert stage["id"] == made["option_id"]
    assert before["last_edited_time"] == after["last_edited_time"]


def test_an_added_property_is_empty_everywhere_and_can_be_written(notes: Notes) -> None:
    database_id, path = notes.examples["database_id"], f"/v1/pages/{notes.examples['page_id']}"
    made = notes.act(
        action="add_property", database_id=database_id, name="Region", type="select", options=["North", "South"]
    ).json()
    empty = notes.ask("GET", path)["properties"]["Region"]
    notes.act(action="update_page", page_id=notes.examples["page_id"], properties={"Region": "South"})
    columns = notes.ask("GET", f"/v1/data_sources/{notes.examples['data_source_id']}")["properties"]

    assert {"id": made["property_id"], "type": "select", "select": None} == empty
    assert ["North", "South"] == [option["name"] for option in columns["Region"]["select"]["options"]]
    assert "South" == plain(notes.ask("GET", path), "Region")


@pytest.mark.parametrize(
    "action",
    [
        {"action": "rename_property", "property": "Nope", "name": "Phase"},
        {"action": "rename_property", "property": "Stage", "name": "Value"},
        {"action": "rename_property", "property": "Stage"},
        {"action": "rename_option", "property": "Stage", "option": "Nope", "name": "Gained"},
        {"action": "rename_option", "property": "Stage", "option": "Won", "name": "Lost"},
        {"action": "rename_option", "property": "Stage", "option": "Won", "name": "a,b"},
        {"action": "rename_option", "property": "Value", "option": "Won", "name": "Gained"},
        {"action": "add_property", "name": "Stage", "type": "select"},
        {"action": "add_property", "name": "Sum", "type": "rollup"},
        {"action": "add_property", "name": "Sum", "type": "select", "options": "North"},
        {"action": "add_property", "name": "", "type": "number"},
    ],
)
def test_a_schema_cannot_be_changed_into_what_it_cannot_be(notes: Notes, action: dict[str, Any]) -> None:
    path = f"/v1/data_sources/{notes.examples['data_source_id']}"
    before = notes.ask("GET", path)["properties"]

    response = notes.act(database_id=notes.examples["database_id"], **action)

    assert 422 == response.status_code
    assert before == notes.ask("GET", path)["properties"]


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": "dance"},
        {"action": "create_page", "database_id": "nowhere", "properties": {}},
        {"action": "update_page", "page_id": "nowhere", "properties": {}},
        {"action": "trash_page"},
    ],
)
def test_a_bad_action_is_told_so(notes: Notes, action: dict[str, Any]) -> None:
    assert 422 == notes.act(**action).status_code


@pytest.mark.parametrize("properties", [None, {"Nope": 1}, {"Status": "Someday"}, {"Value": "many"}])
def test_a_bad_value_of_a_person_is_told_so(notes: Notes, properties: Any) -> None:
    response = notes.act(action="update_page", page_id=notes.examples["page_id"], properties=properties)

    assert 422 == response.status_code


def test_a_status_fault_answers_in_place_of_the_vendor(notes: Notes) -> None:
    blocked = {"object": "error", "status": 429, "code": "rate_limited", "message": "Blocked."}
    notes.fault(fault="status", method="POST", status=429, headers={"Retry-After": "7"}, body=blocked)

    response = notes.http.post("/v1/search", json={})

    assert (429, "7", "Blocked.") == (
        response.status_code,
        response.headers["Retry-After"],
        response.json()["message"],
    )
    assert 200 == notes.http.post("/v1/search", json={}).status_code


@pytest.mark.parametrize("kind", ["delay", "slow_body"])
def test_a_slow_fault_answers_all_the_same(notes: Notes, kind: str) -> None:
    notes.fault(fault=kind, seconds=0.05)

    assert "bot" == notes.ask("GET", "/v1/users/me")["type"]


def test_garbage_is_no_json(notes: Notes) -> None:
    notes.fault(fault="garbage")

    with pytest.raises(ValueError, match=r"codec|Expecting"):
        notes.http.get("/v1/users/me").json()


@pytest.mark.parametrize(("kind", "written"), [("drop_before", 0), ("drop_after", 1)])
def test_a_cut_connection_leaves_the_outcome_open(notes: Notes, kind: str, written: int) -> None:
    source_id = notes.examples["data_source_id"]
    before = len(notes.rows(source_id))
    notes.fault(fault=kind, method="POST", path="/v1/pages")

    with pytest.raises(httpx.TransportError):
        notes.create({"Name": {"title": text("Perhaps")}})

    assert before + written == len(notes.rows(source_id))


def test_requests_are_kept_in_the_journal(notes: Notes) -> None:
    notes.control.delete("/_control/notes/requests")
    notes.ask("GET", "/v1/users/me")
    notes.refused("GET", "/v1/invalid")
    journal = notes.control.get("/_control/notes/requests").json()

    assert [("/v1/users/me", 200), ("/v1/invalid", 400)] == [(raw["path"], raw["status"]) for raw in journal]
