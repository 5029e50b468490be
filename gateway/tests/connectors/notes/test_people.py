"""People given by email address or name in written properties."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from connector_gateway.connectors.notes import NOTES, mapping, vendor_models
from connector_gateway.kit.errors import PersonNotFound
from gateway.tests.connectors.notes.page_calls import get_workspace, new_name
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.requirement import requirement
from workspace_sandbox.notes.data.state import User


@pytest.fixture
def fresh_gateway(gateway: Gateway, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway without cached users."""
    with run_gateway(gateway.sandbox, tmp_path, connectors={"notes": NOTES}) as another:
        yield another


@pytest.fixture
def ada(gateway: Gateway) -> User:
    return next(user for user in get_workspace(gateway).users.values() if user.name == "Ada Lindqvist")


@pytest.fixture
def namesakes(gateway: Gateway) -> Iterator[list[str]]:
    """The identifiers of two people with the same name."""
    users = get_workspace(gateway).users
    ids = [f"{number}1111111-1111-4111-8111-111111111111" for number in range(2)]
    users.update({uid: User(uid, "Sam Twin", email=f"{uid[0]}@twins.example") for uid in ids})
    yield ids
    for uid in ids:
        del users[uid]


def create(gateway: Gateway, leads: str, owner: Any, **more: Any) -> Reply:
    properties = {"Name": new_name(), "Owner": owner}
    return gateway.post("/notes/pages", database_id=leads, properties=properties, **more)


def get_owner_ids(gateway: Gateway, page_id: str) -> list[str]:
    """Return the identifiers of the people in a page's property."""
    workspace = get_workspace(gateway)
    page = workspace.pages[page_id]
    (owner_property_id,) = (
        uid for uid, prop in workspace.sources[page.parent.id].properties.items() if prop.name == "Owner"
    )
    return list(page.values[owner_property_id])


@requirement("notes-92")
@pytest.mark.parametrize(
    "owner",
    [
        "ada@fernweh.example",
        " ADA@Fernweh.Example ",
        "Ada Lindqvist",
        ["Ada Lindqvist "],
        ["ada@fernweh.example", "Ada Lindqvist"],
    ],
)
def test_person_is_identified_by_email_or_name(gateway: Gateway, leads: str, ada: User, owner: Any) -> None:
    page_id = create(gateway, leads, owner).data["page_id"]

    assert [ada.id] == get_owner_ids(gateway, page_id)


@requirement("notes-92")
def test_name_matches_in_any_unicode_form(gateway: Gateway, leads: str) -> None:
    elise = next(user for user in get_workspace(gateway).users.values() if user.name == "Élise Fournier")

    page_id = create(gateway, leads, normalize("NFD", elise.name)).data["page_id"]

    assert [elise.id] == get_owner_ids(gateway, page_id)


@requirement("notes-92")
def test_person_is_identified_by_email_in_an_update(gateway: Gateway, leads: str, ada: User) -> None:
    page_id = create(gateway, leads, None).data["page_id"]

    updated = gateway.patch(f"/notes/pages/{page_id}", properties={"Owner": "ada@fernweh.example"})

    assert ["Owner"] == updated.data["updated"]
    assert [ada.id] == get_owner_ids(gateway, page_id)


@requirement("notes-93")
def test_unknown_person_is_reported_with_suggestions(gateway: Gateway, leads: str) -> None:
    reply = create(gateway, leads, ["ada@fernweh.exampel", "Nobody"])
    first, second = reply.details

    assert (404, "person_not_found") == (reply.status, reply.code)
    assert ("Owner", "ada@fernweh.exampel", "ada@fernweh.example") == (
        first["property"],
        first["value"],
        first["did_you_mean"],
    )
    assert "ada@fernweh.example" in first["allowed"]
    assert ("Nobody", True) == (second["value"], "Ada Lindqvist" in second["allowed"])


@requirement("notes-94")
def test_ambiguous_name_is_rejected_with_the_matching_identifiers(
    fresh_gateway: Gateway, leads: str, namesakes: list[str]
) -> None:
    reply = create(fresh_gateway, leads, "Sam Twin")
    (detail,) = reply.details

    assert (409, "ambiguous_person") == (reply.status, reply.code)
    assert ("Owner", "Sam Twin", namesakes) == (detail["property"], detail["value"], sorted(detail["allowed"]))
    assert 200 == create(fresh_gateway, leads, detail["allowed"][0]).status
    assert 200 == create(fresh_gateway, leads, "1@twins.example").status


def test_users_are_listed_once_for_many_calls(fresh_gateway: Gateway, leads: str) -> None:
    fresh_gateway.clear("notes")
    replies = [
        create(fresh_gateway, leads, owner).status for owner in ("Ada Lindqvist", "Bao Trần", "Nobody", "Nobody")
    ]
    listings = [path for _, path, _ in fresh_gateway.journal("notes") if path == "/v1/users"]

    assert [200, 200, 404, 404] == replies
    assert 1 == len(listings)


@requirement("notes-95")
def test_only_identifiers_are_accepted_without_user_information(fresh_gateway: Gateway, leads: str, ada: User) -> None:
    knobs = fresh_gateway.sandbox.emulators["notes"].context.knobs
    knobs["user_information"] = "none"

    rejected, accepted = create(fresh_gateway, leads, "Ada Lindqvist"), create(fresh_gateway, leads, ada.id)
    knobs["user_information"] = "with_email"

    assert (403, "connection_scope_missing") == (rejected.status, rejected.code)
    assert ("Owner", "Ada Lindqvist") == tuple(rejected.details[0][name] for name in ("property", "value"))
    assert "identifier" in rejected.body["error"]["remedy"]
    assert 200 == accepted.status


@requirement("notes-93")
def test_suggestions_start_with_the_closest_names() -> None:
    users = [
        vendor_models.User(str(number), f"Person {number:03}", vendor_models.Person(f"p{number}@a.test"))
        for number in range(200)
    ]

    with pytest.raises(PersonNotFound) as error:
        mapping.people.with_ids("Owner", "Persn 123", users)

    (detail,) = error.value.details
    assert "Person 123" == detail["allowed"][0]
    assert 50 == len(detail["allowed"])


@requirement("notes-92")
def test_dry_run_reports_the_person_of_a_name(gateway: Gateway, leads: str, ada: User) -> None:
    reply = gateway.post(
        "/notes/pages",
        headers={"Prefer": "dry-run"},
        database_id=leads,
        properties={"Name": "x", "Owner": "Ada Lindqvist"},
    )
    cast = next(cast for cast in reply.data["casts"] if cast["parameter"] == "properties.Owner")

    assert ("Ada Lindqvist", [{"id": ada.id}]) == (cast["given"], cast["written"])
