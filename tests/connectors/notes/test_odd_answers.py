"""Answers, refusals and deliveries of another shape than the vendor documents: none of them is a fault of ours."""

from typing import Any

import pytest

from connectors.notes.pages import BLOCKS, PAGES, answers, create, found, new_name, update, workspace_of
from harness.requirement import requirement
from harness.serving import Gateway, Reply

AT = "2026-11-02T09:30:00.000Z"
UID = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
PAGE = {
    "object": "page",
    "id": UID,
    "url": "https://example.com",
    "created_time": AT,
    "last_edited_time": AT,
    "created_by": {"id": UID},
    "last_edited_by": {"id": UID},
    "parent": {"type": "data_source_id", "data_source_id": UID},
    "in_trash": False,
    "properties": {},
}
SOURCE = {
    "object": "data_source",
    "id": UID,
    "title": [],
    "parent": {"type": "database_id", "database_id": UID},
    "properties": {},
    "in_trash": False,
    "created_time": AT,
    "last_edited_time": AT,
}


def without(raw: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key != name}


def listing(*results: Any) -> dict[str, Any]:
    return {"object": "list", "results": list(results), "next_cursor": None}


ODD_SOURCES = [
    *(without(SOURCE, name) for name in ("id", "title", "parent", "properties", "in_trash", "last_edited_time")),
    SOURCE | {"last_edited_time": "yesterday"},
    SOURCE | {"last_edited_time": "2026-11-02T09:30:00"},
    SOURCE | {"last_edited_time": 5},
    SOURCE | {"title": "Leads"},
    SOURCE | {"parent": {"type": "page_id", "page_id": UID}},
    SOURCE | {"properties": ["Name"]},
    SOURCE | {"properties": {"Name": None}},
    [SOURCE],
    None,
]
ODD_PAGES = [
    *(without(PAGE, name) for name in ("id", "created_time", "created_by", "in_trash", "properties", "parent")),
    PAGE | {"created_time": "then"},
    PAGE | {"properties": {"Name": {"id": "title", "type": "title", "title": "Acme"}}},
    PAGE | {"properties": {"Name": {"id": "title", "type": 5}}},
    PAGE | {"properties": {"Name": {"id": "title", "type": "title", "title": [{"text": {"content": "Acme"}}]}}},
    5,
]


@pytest.fixture
def page_id(gateway: Gateway, leads: str) -> str:
    """A page of its own for every test."""
    return str(create(gateway, leads, new_name()).data["page_id"])


@pytest.mark.parametrize("body", [[], {}, {"results": 5}, '"text"', {"results": [5]}, {"results": [{}]}, 5])
def test_a_list_of_another_shape_is_unexpected(gateway: Gateway, body: Any) -> None:
    gateway.fault("notes", method="POST", path="/v1/search", fault="status", status=200, body=body)
    reply = gateway.get("/notes/databases")

    assert (502, "upstream_unexpected") == (reply.status, reply.code)


@pytest.mark.parametrize("source", ODD_SOURCES)
def test_a_data_source_of_another_shape_is_unexpected_in_a_listing(gateway: Gateway, source: Any) -> None:
    answers(gateway, "POST", "/v1/search", 200, body=listing(source))
    reply = gateway.get("/notes/databases")

    assert (502, "upstream_unexpected") == (reply.status, reply.code)


def test_the_place_of_what_was_unexpected_is_told(gateway: Gateway) -> None:
    answers(gateway, "POST", "/v1/search", 200, body=listing(SOURCE | {"last_edited_time": 5}))
    reply = gateway.get("/notes/databases")

    assert [{"place": "last_edited_time"}] == reply.details


def test_an_item_of_a_kind_that_was_not_asked_for_is_left_out(gateway: Gateway) -> None:
    answers(gateway, "POST", "/v1/search", 200, body=listing({"object": "automation"}, SOURCE))

    assert [UID] == [item["database_id"] for item in gateway.get("/notes/databases").data]


@pytest.mark.parametrize(("number", "source"), list(enumerate(ODD_SOURCES[:-5])))
def test_a_schema_of_another_shape_is_unexpected_and_not_remembered(gateway: Gateway, number: int, source: Any) -> None:
    database_id = gateway.get("/notes/databases", query="Marketing", limit=100).data[number]["database_id"]
    answers(gateway, "GET", "/v1/data_sources", 200, body=source)
    first = found_in(gateway, database_id)
    again = found_in(gateway, database_id)

    assert (502, "upstream_unexpected") == (first.status, first.code)
    assert 200 == again.status


def found_in(gateway: Gateway, database_id: str) -> Reply:
    return gateway.post("/notes/pages/search", database_id=database_id, property="Priority", value="x")


@pytest.mark.parametrize("page", ODD_PAGES)
def test_a_row_of_another_shape_is_unexpected(gateway: Gateway, leads: str, page: Any) -> None:
    answers(gateway, "POST", "/v1/data_sources", 200, body=listing(page))
    reply = gateway.post("/notes/pages/search", database_id=leads, property="Name", value="x")

    assert (502, "upstream_unexpected") == (reply.status, reply.code)


@pytest.mark.parametrize("page", ODD_PAGES)
def test_a_page_of_another_shape_is_unexpected_before_it_is_changed(gateway: Gateway, page_id: str, page: Any) -> None:
    answers(gateway, "GET", PAGES, 200, body=page)
    reply = update(gateway, page_id, properties={"Value": 1})

    assert (502, "upstream_unexpected") == (reply.status, reply.code)


@pytest.mark.parametrize("body", [{}, {"id": 5}, without(PAGE, "url"), PAGE | {"created_time": "then"}, [], "ok"])
def test_a_creation_answered_in_another_shape_is_a_doubt_and_done_once(gateway: Gateway, leads: str, body: Any) -> None:
    name = new_name()
    gateway.fault("notes", method="POST", path=PAGES, fault="status", status=200, body=body)
    first = create(gateway, leads, name, idempotency_key=name)
    again = create(gateway, leads, name, idempotency_key=name)

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert 200 == again.status
    assert 1 == found(gateway, leads, name)


@pytest.mark.parametrize("body", [{}, without(PAGE, "in_trash"), PAGE | {"last_edited_time": None}, []])
def test_a_change_answered_in_another_shape_is_a_doubt(gateway: Gateway, page_id: str, body: Any) -> None:
    answers(gateway, "PATCH", PAGES, 200, body=body)
    first = update(gateway, page_id, properties={"Value": 5}, headers={"Idempotency-Key": page_id})
    again = update(gateway, page_id, properties={"Value": 5}, headers={"Idempotency-Key": page_id})

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert ["Value"] == again.data["updated"]


@pytest.mark.parametrize("body", [{}, {"results": None}, {"results": [{}]}, {"results": []}, []])
def test_blocks_answered_in_another_shape_are_a_doubt(gateway: Gateway, leads: str, body: Any) -> None:
    name = new_name()
    lines = [f"line {number}" for number in range(110)]
    answers(gateway, "PATCH", BLOCKS, 200, body=body)
    first = create(gateway, leads, name, children=lines, idempotency_key=name)
    again = create(gateway, leads, name, children=lines, idempotency_key=name)

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert 110 == len(workspace_of(gateway).pages[again.data["page_id"]].children)


REFUSED = [
    {"error": {"code": 5}},
    {"code": {"a": 1}, "message": ["x"]},
    {"code": None, "additional_data": 5},
    [],
    '"no"',
    5,
]


@requirement("calls:error-shape")
@pytest.mark.parametrize("body", REFUSED)
@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "upstream_refused"), (403, "upstream_forbidden"), (401, "connection_revoked"), (418, "upstream_unexpected")],
)
def test_a_refusal_of_another_shape_means_what_its_status_says(
    gateway: Gateway, body: Any, status: int, code: str
) -> None:
    gateway.fault("notes", method="POST", path="/v1/search", fault="status", status=status, body=body)
    reply = gateway.get("/notes/databases")
    gateway.authorise("notes")

    assert code == reply.code


@pytest.mark.parametrize("additional", [5, [], {}, {"committed_resource_id": 5}, {"committed_resource_id": None}])
def test_a_503_that_names_what_it_saved_in_another_shape_is_a_failure(
    gateway: Gateway, leads: str, additional: Any
) -> None:
    answers(
        gateway,
        "POST",
        PAGES,
        503,
        body={"object": "error", "code": "service_unavailable", "additional_data": additional},
    )

    assert (502, "outcome_unknown") == ((reply := create(gateway, leads, new_name())).status, reply.code)


@pytest.mark.parametrize("additional", [5, [], {"rate_limit_reason": 5}])
def test_throttling_of_another_shape_is_waited_out(gateway: Gateway, additional: Any) -> None:
    answers(gateway, "POST", "/v1/search", 429, headers={"Retry-After": "0"}, body={"additional_data": additional})

    assert 200 == gateway.get("/notes/databases").status
