"""What a refusal tells: everything that is wrong, by the names of the request, and the application's own reason."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from gateway.tests.connectors.notes.pages import PAGES, answers, create, new_name, update, workspace_of, writes
from harness.gateway_server import Gateway
from harness.requirement import requirement


@pytest.fixture
def everything(gateway: Gateway) -> str:
    """The seeded database with a property of every type."""
    return str(gateway.get("/notes/databases", query="everything").data[0]["database_id"])


@pytest.fixture
def page_id(gateway: Gateway, everything: str) -> str:
    """A page of its own for every test."""
    return str(post(gateway, everything, Title="x").data["page_id"])


def post(gateway: Gateway, database_id: str, **properties: Any) -> Any:
    return gateway.post("/notes/pages", database_id=database_id, properties=properties)


# All at once


@requirement("common-30", "common-47")
def test_everything_that_cannot_be_written_is_told_at_once(gateway: Gateway, leads: str) -> None:
    reply = post(gateway, leads, Name="x", Value="12 €", Stage="Imaginary", Nope=1, Hot="maybe")

    assert (422, "lossy_cast") == (reply.status, reply.code)
    assert [
        ("lossy_cast", "Value"),
        ("select_option_missing", "Stage"),
        ("property_not_found", "Nope"),
        ("lossy_cast", "Hot"),
    ] == [(detail["code"], detail["property"]) for detail in reply.details]
    assert [] == writes(gateway)


@pytest.mark.parametrize("value", [[1, "2"], {"a": None}, True, "12 €"])
def test_a_lossy_value_is_repeated_as_it_was_sent(gateway: Gateway, leads: str, value: Any) -> None:
    assert value == post(gateway, leads, Value=value).details[0]["value"]


@pytest.mark.parametrize("wanted", ["open", "OPEN ", "Opem"])
def test_an_option_of_nearly_that_name_is_pointed_out(gateway: Gateway, leads: str, wanted: str) -> None:
    message = post(gateway, leads, Stage=wanted).body["error"]["message"]

    assert f'"Stage" has no option "{wanted}". Did you mean Open?' == message


# Values that name something


@requirement("notes-53")
def test_an_unknown_page_is_told_by_the_property_that_names_it(gateway: Gateway, everything: str) -> None:
    unknown = str(uuid4())
    reply = post(gateway, everything, Title="x", Relation=[unknown])

    assert (404, "page_not_found") == (reply.status, reply.code)
    assert [{"property": "Relation", "value": unknown}] == reply.facts
    assert "Relation" in reply.body["error"]["message"]


@requirement("notes-53")
def test_a_page_that_is_not_shared_looks_the_same(gateway: Gateway, everything: str) -> None:
    workspace = workspace_of(gateway)
    (secret,) = [source for source in workspace.sources.values() if source.title == "Salaries 2025"]
    reply = post(gateway, everything, Title="x", Relation=secret.rows[:1])

    assert (404, [{"property": "Relation", "value": secret.rows[0]}]) == (reply.status, reply.facts)


@requirement("notes-53")
def test_an_unknown_person_is_told_by_the_property_that_names_them(gateway: Gateway, leads: str) -> None:
    unknown = str(uuid4())
    reply = post(gateway, leads, Name="x", Owner=unknown)

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert {"property": "Owner", "value": unknown} == reply.facts[0]
    assert "Owner" in reply.body["error"]["message"]


@requirement("notes-53")
def test_an_update_that_names_an_unknown_page_says_nothing_of_the_page_written_to(
    gateway: Gateway, page_id: str
) -> None:
    unknown = str(uuid4())
    reply = update(gateway, page_id, properties={"Relation": unknown})

    assert (404, "page_not_found") == (reply.status, reply.code)
    assert [{"property": "Relation", "value": unknown}] == reply.facts
    assert page_id not in str(reply.body)


@requirement("notes-53")
def test_a_404_that_names_nothing_may_be_about_any_value_that_does(gateway: Gateway, everything: str) -> None:
    known = workspace_of(gateway).sources[gateway.examples("notes")["data_source_id"]].rows[0]
    answers(gateway, "POST", PAGES, 404, body={"object": "error", "code": "object_not_found", "message": "Not here."})
    reply = post(gateway, everything, Title="x", Relation=known)

    assert (404, "page_not_found", "Relation") == (reply.status, reply.code, reply.details[0]["property"])


def test_a_404_about_the_data_source_is_about_the_database(gateway: Gateway, everything: str) -> None:
    known = workspace_of(gateway).sources[gateway.examples("notes")["data_source_id"]].rows[0]
    message = f"Could not find data_source with ID: {uuid4()}."
    answers(gateway, "POST", PAGES, 404, body={"object": "error", "code": "object_not_found", "message": message})

    assert "database_not_shared" == post(gateway, everything, Title="x", Relation=known).code


# The application's own reason


@requirement("common-48")
@pytest.mark.parametrize(
    ("status", "vendors", "code"),
    [(400, "validation_error", "upstream_refused"), (403, "restricted_resource", "upstream_forbidden")],
)
def test_the_reason_of_a_refusal_is_passed_on_without_credentials(
    gateway: Gateway, leads: str, status: int, vendors: str, code: str
) -> None:
    body = {"object": "error", "code": vendors, "message": "Name is too fine. Authorization: Bearer ntn_123"}
    answers(gateway, "POST", PAGES, status, times=2, body=body)
    reply = create(gateway, leads, new_name())

    assert code == reply.code
    assert vendors == reply.details[0]["vendor_code"]
    assert reply.details[0]["vendor_message"].startswith("Name is too fine.")
    assert "ntn_123" not in str(reply.body)


# Several data sources


@pytest.fixture
def several(gateway: Gateway) -> Iterator[str]:
    """A database whose two data sources both have a property of one name."""
    database_id = str(gateway.examples("notes")["multi_source_database_id"])
    workspace = workspace_of(gateway)
    titles = [
        next(prop for prop in workspace.sources[uid].properties.values() if prop.type == "title")
        for uid in workspace.databases[database_id].source_ids
    ]
    names = [prop.name for prop in titles]
    titles[0].name = titles[1].name = "Shared name"
    yield database_id
    titles[0].name, titles[1].name = names


@requirement("notes-44")
def test_a_search_looks_into_every_data_source_that_has_the_property(gateway: Gateway, several: str) -> None:
    search = {"property": "Shared name", "match": "contains", "value": ""}
    reply = gateway.post("/notes/pages/search", None, database_id=several, **search)
    workspace = workspace_of(gateway)
    rows = [uid for part in workspace.databases[several].source_ids for uid in workspace.sources[part].rows]

    assert sorted(rows) == sorted(page["page_id"] for page in reply.data["pages"])
    assert len(rows) == reply.data["match_count"]


@requirement("notes-45")
def test_a_property_that_no_data_source_has_is_not_found(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["multi_source_database_id"]
    searched = gateway.post("/notes/pages/search", database_id=database_id, property="Nope", value="x")
    written = post(gateway, database_id, Client="x", Nope=1)

    assert (404, "property_not_found") == (searched.status, searched.code)
    assert (404, "property_not_found") == (written.status, written.code)
    assert {"Project", "Budget", "Client", "Email", "Site"} == set(searched.details[0]["allowed"])
    assert ["Nope"] == [detail["property"] for detail in written.details]
