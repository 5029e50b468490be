"""Batches of the HubSpot emulator."""

from typing import Any

import pytest

from sandbox.tests.crm.hubspot_client import OBJECTS, Api, ids


def test_upsert_with_an_invalid_input_writes_nothing(crm: Api) -> None:
    inputs = [
        {"idProperty": "email", "id": "good@example.test", "properties": {}},
        {"idProperty": "email", "id": "bad", "properties": {}},
    ]
    response = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert 400 == response.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/good@example.test?idProperty=email").status_code


def test_upsert_by_a_secondary_email_conflicts(crm: Api) -> None:
    contact = crm.create("contacts", email="main@example.test", hs_additional_emails="side@example.test")
    inputs = [{"idProperty": "email", "id": "side@example.test", "properties": {}}]
    response = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert 409 == response.status_code
    assert response.json()["message"].endswith(f"Existing ID: {contact}")


def test_batch_read_names_missing_records_in_a_207(crm: Api) -> None:
    query = {"inputs": [{"id": crm.example("deal_id")}, {"id": "1"}], "properties": ["amount"]}
    mixed = crm("POST", f"{OBJECTS}/deals/batch/read", query)
    by_email = {"inputs": [{"id": crm.example("email")}], "idProperty": "email", "properties": []}
    complete = crm("POST", f"{OBJECTS}/contacts/batch/read", by_email)

    assert 207 == mixed.status_code
    assert 1 == mixed.json()["numErrors"]
    assert {"ids": ["1"]} == mixed.json()["errors"][0]["context"]
    assert ids(mixed.json()) == [crm.example("deal_id")]
    assert 200 == complete.status_code
    assert ids(complete.json()) == [crm.example("contact_id")]


def test_batches_create_update_and_archive(crm: Api) -> None:
    created = crm(
        "POST",
        f"{OBJECTS}/contacts/batch/create",
        {"inputs": [{"properties": {"email": f"b{n}@example.test"}, "objectWriteTraceId": f"t{n}"} for n in (1, 2)]},
    )
    contacts = ids(created.json())
    updated = crm(
        "POST",
        f"{OBJECTS}/contacts/batch/update",
        {"inputs": [{"id": contacts[0], "properties": {"city": "Oslo"}}, {"id": "1", "properties": {"city": "Oslo"}}]},
    )
    archived = crm("POST", f"{OBJECTS}/contacts/batch/archive", {"inputs": [{"id": one} for one in [*contacts, "1"]]})

    assert 201 == created.status_code
    assert ["t1", "t2"] == [one["objectWriteTraceId"] for one in created.json()["results"]]
    assert 207 == updated.status_code
    assert ids(updated.json()) == contacts[:1]
    assert 204 == archived.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/{contacts[1]}").status_code


def test_batch_with_a_duplicate_email_writes_nothing(crm: Api) -> None:
    inputs = [{"properties": {"email": "same@example.test"}}, {"properties": {"email": "SAME@example.test"}}]
    response = crm("POST", f"{OBJECTS}/contacts/batch/create", {"inputs": inputs})
    repeated: list[Any] = [{"idProperty": "email", "id": mail, "properties": {}} for mail in ("s@e.test", "S@e.test")]
    upsert = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": repeated})

    assert 409 == response.status_code
    assert 400 == upsert.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/same@example.test?idProperty=email").status_code


@pytest.mark.parametrize("count", [0, 101])
def test_batch_accepts_one_to_a_hundred_inputs(crm: Api, count: int) -> None:
    response = crm("POST", f"{OBJECTS}/contacts/batch/read", {"inputs": [{"id": str(n)} for n in range(count)]})

    assert 400 == response.status_code
