"""Error responses: they report all violations by the request's names, and the vendor's reason."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from gateway.tests.connectors.notes.page_calls import (
    PAGES,
    create,
    get_workspace,
    inject_status,
    list_writes,
    new_name,
    update,
)
from harness.gateway_server import Gateway
from harness.requirement import requirement


@pytest.fixture
def full_database_id(gateway: Gateway) -> str:
    """The seeded database with a property of every type."""
    return str(gateway.get("/notes/databases", query="everything").data[0]["database_id"])


@pytest.fixture
def page_id(gateway: Gateway, full_database_id: str) -> str:
    """A new page for every test."""
    return str(create_page(gateway, full_database_id, Title="x").data["page_id"])


def create_page(gateway: Gateway, database_id: str, **properties: Any) -> Any:
    return gateway.post("/notes/pages", database_id=database_id, properties=properties)


# Several violations


@requirement("common-30", "common-47")
def test_all_invalid_values_are_reported(gateway: Gateway, leads: str) -> None:
    reply = create_page(gateway, leads, Name="x", Value="12 €", Stage="Imaginary", Nope=1, Hot="maybe")

    assert (422, "lossy_cast") == (reply.status, reply.code)
    assert [
        ("lossy_cast", "Value"),
        ("select_option_missing", "Stage"),
        ("property_not_found", "Nope"),
        ("lossy_cast", "Hot"),
    ] == [(detail["code"], detail["property"]) for detail in reply.details]
    assert [] == list_writes(gateway)


@pytest.mark.parametrize("value", [[1, "2"], {"a": None}, True, "12 €"])
def test_lossy_value_is_returned_as_it_was_sent(gateway: Gateway, leads: str, value: Any) -> None:
    assert value == create_page(gateway, leads, Value=value).details[0]["value"]


@pytest.mark.parametrize("option", ["open", "OPEN ", "Opem"])
def test_similar_option_is_suggested(gateway: Gateway, leads: str, option: str) -> None:
    message = create_page(gateway, leads, Stage=option).body["error"]["message"]

    assert f'"Stage" has no option "{option}". Did you mean Open?' == message


# Values that reference objects


@requirement("notes-53")
def test_unknown_related_page_is_reported_with_its_property(gateway: Gateway, full_database_id: str) -> None:
    unknown = str(uuid4())
    reply = create_page(gateway, full_database_id, Title="x", Relation=[unknown])

    assert (404, "page_not_found") == (reply.status, reply.code)
    assert [{"property": "Relation", "value": unknown}] == reply.facts
    assert "Relation" in reply.body["error"]["message"]


@requirement("notes-53")
def test_unshared_related_page_is_reported_as_unknown(gateway: Gateway, full_database_id: str) -> None:
    workspace = get_workspace(gateway)
    (unshared,) = [source for source in workspace.sources.values() if source.title == "Salaries 2025"]
    reply = create_page(gateway, full_database_id, Title="x", Relation=unshared.rows[:1])

    assert (404, [{"property": "Relation", "value": unshared.rows[0]}]) == (reply.status, reply.facts)


@requirement("notes-53")
def test_unknown_person_id_is_reported_with_its_property(gateway: Gateway, leads: str) -> None:
    unknown = str(uuid4())
    reply = create_page(gateway, leads, Name="x", Owner=unknown)

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert {"property": "Owner", "value": unknown} == reply.facts[0]
    assert "Owner" in reply.body["error"]["message"]


@requirement("notes-53")
def test_error_of_an_unknown_related_page_does_not_name_the_updated_page(gateway: Gateway, page_id: str) -> None:
    unknown = str(uuid4())
    reply = update(gateway, page_id, properties={"Relation": unknown})

    assert (404, "page_not_found") == (reply.status, reply.code)
    assert [{"property": "Relation", "value": unknown}] == reply.facts
    assert page_id not in str(reply.body)


@requirement("notes-53")
def test_404_without_identifiers_names_all_referencing_properties(gateway: Gateway, full_database_id: str) -> None:
    existing = get_workspace(gateway).sources[gateway.examples("notes")["data_source_id"]].rows[0]
    inject_status(
        gateway, "POST", PAGES, 404, body={"object": "error", "code": "object_not_found", "message": "Not here."}
    )
    reply = create_page(gateway, full_database_id, Title="x", Relation=existing)

    assert (404, "page_not_found", "Relation") == (reply.status, reply.code, reply.details[0]["property"])


def test_404_for_the_data_source_is_reported_as_unshared_database(gateway: Gateway, full_database_id: str) -> None:
    existing = get_workspace(gateway).sources[gateway.examples("notes")["data_source_id"]].rows[0]
    message = f"Could not find data_source with ID: {uuid4()}."
    inject_status(gateway, "POST", PAGES, 404, body={"object": "error", "code": "object_not_found", "message": message})

    assert "database_not_shared" == create_page(gateway, full_database_id, Title="x", Relation=existing).code


# The vendor's reason


@requirement("common-48")
@pytest.mark.parametrize(
    ("status", "vendor_code", "code"),
    [(400, "validation_error", "upstream_refused"), (403, "restricted_resource", "upstream_forbidden")],
)
def test_vendor_reason_is_returned_without_credentials(
    gateway: Gateway, leads: str, status: int, vendor_code: str, code: str
) -> None:
    body = {"object": "error", "code": vendor_code, "message": "Name is too fine. Authorization: Bearer ntn_123"}
    inject_status(gateway, "POST", PAGES, status, times=2, body=body)
    reply = create(gateway, leads, new_name())

    assert code == reply.code
    assert vendor_code == reply.details[0]["vendor_code"]
    assert reply.details[0]["vendor_message"].startswith("Name is too fine.")
    assert "ntn_123" not in str(reply.body)


# Several data sources


@pytest.fixture
def multi_source_id(gateway: Gateway) -> Iterator[str]:
    """A database whose two data sources both have a property of one name."""
    database_id = str(gateway.examples("notes")["multi_source_database_id"])
    workspace = get_workspace(gateway)
    titles = [
        next(prop for prop in workspace.sources[uid].properties.values() if prop.type == "title")
        for uid in workspace.databases[database_id].source_ids
    ]
    names = [prop.name for prop in titles]
    titles[0].name = titles[1].name = "Shared name"
    yield database_id
    titles[0].name, titles[1].name = names


@requirement("notes-44")
def test_search_covers_all_data_sources_with_the_property(gateway: Gateway, multi_source_id: str) -> None:
    search = {"property": "Shared name", "match": "contains", "value": ""}
    reply = gateway.post("/notes/pages/search", None, database_id=multi_source_id, **search)
    workspace = get_workspace(gateway)
    rows = [uid for part in workspace.databases[multi_source_id].source_ids for uid in workspace.sources[part].rows]

    assert sorted(rows) == sorted(page["page_id"] for page in reply.data["pages"])
    assert len(rows) == reply.data["match_count"]


@requirement("notes-45")
def test_property_of_no_data_source_is_not_found(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["multi_source_database_id"]
    searched = gateway.post("/notes/pages/search", database_id=database_id, property="Nope", value="x")
    written = create_page(gateway, database_id, Client="x", Nope=1)

    assert (404, "property_not_found") == (searched.status, searched.code)
    assert (404, "property_not_found") == (written.status, written.code)
    assert {"Project", "Budget", "Client", "Email", "Site"} == set(searched.details[0]["allowed"])
    assert ["Nope"] == [detail["property"] for detail in written.details]
