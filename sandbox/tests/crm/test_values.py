"""Values of properties in the HubSpot emulator."""

import json
from typing import Any

import pytest

from sandbox.tests.crm.hubspot_client import OBJECTS, Api, codes


@pytest.mark.parametrize(
    ("kind", "name", "value", "stored"),
    [
        ("contacts", "annualrevenue", "1250.50", "1250.50"),
        ("contacts", "annualrevenue", 42, "42"),
        ("contacts", "annualrevenue", 42.0, "42"),
        ("contacts", "newsletter", True, "true"),
        ("contacts", "newsletter", "FALSE", "false"),
        ("contacts", "renewal_date", "2026-11-20", "2026-11-20"),
        ("contacts", "renewal_date", 1_795_132_800_000, "2026-11-20"),
        ("contacts", "last_demo_at", "2026-11-20T10:00:00+01:00", "2026-11-20T09:00:00.000Z"),
        ("contacts", "last_demo_at", "1795132800123", "2026-11-20T00:00:00.123Z"),
        ("contacts", "tier", "gold", "gold"),
        ("contacts", "tier", "legacy", "legacy"),
        ("contacts", "topics", "home;museum;home", "home;museum"),
        ("contacts", "hubspot_owner_id", "771231", "771231"),
        ("deals", "amount", "99999999999999.99", "99999999999999.99"),
        ("companies", "domain", "HTTPS://www.Acme.Test/about", "acme.test"),
    ],
)
def test_values_are_stored_as_strings_of_their_type(crm: Api, kind: str, name: str, value: Any, stored: str) -> None:
    record = crm.create(kind, **{name: value}, **({"name": "x"} if kind == "companies" else {}))

    assert crm.read(kind, record, name)[name] == stored


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("no_such_property", "x", "PROPERTY_DOESNT_EXIST"),
        ("old_segment", "x", "PROPERTY_DOESNT_EXIST"),
        ("email", "nobody", "INVALID_EMAIL"),
        ("email", "a@b", "INVALID_EMAIL"),
        ("tier", "Gold", "INVALID_OPTION"),
        ("tier", "gold;silver", "INVALID_OPTION"),
        ("topics", "home;cellar", "INVALID_OPTION"),
        ("newsletter", "maybe", "INVALID_OPTION"),
        ("hubspot_owner_id", "88123", "INVALID_OPTION"),
        ("annualrevenue", "1,250", "INVALID_INTEGER"),
        ("annualrevenue", "NaN", "INVALID_INTEGER"),
        ("renewal_date", "20.11.2026", "INVALID_LONG"),
        ("renewal_date", "1795132800123", "INVALID_DATE"),
        ("last_demo_at", "soon", "INVALID_LONG"),
        ("last_demo_at", "9" * 30, "INVALID_LONG"),
        ("hs_object_id", "1", "READ_ONLY_VALUE"),
        ("createdate", "2026-01-01", "READ_ONLY_VALUE"),
        ("city", "x" * 65_537, "INVALID_LENGTH"),
    ],
)
def test_invalid_values_are_rejected_with_the_violation_in_the_message(
    crm: Api, name: str, value: str, code: str
) -> None:
    response = crm("PATCH", f"{OBJECTS}/contacts/{crm.example('contact_id')}", {"properties": {name: value}})

    assert 400 == response.status_code
    embedded = json.loads(response.json()["message"].removeprefix("Property values were not valid: "))
    assert [(violation["error"], violation["name"]) for violation in embedded] == [(code, name)]
    assert embedded[0]["isValid"] is False
    assert 4_471_120 == embedded[0]["portalId"]
    assert codes(response) == [code]
    assert response.json()["errors"][0]["context"] == {"propertyName": [name]}


def test_all_violations_are_reported_and_nothing_is_written(crm: Api) -> None:
    contact = crm.create("contacts", email="all.faults@example.test")
    body = {"properties": {"city": "Rome", "foo": "1", "tier": "x"}}
    response = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert ["PROPERTY_DOESNT_EXIST", "INVALID_OPTION"] == codes(response)
    assert crm.read("contacts", contact, "city")["city"] is None


def test_leading_semicolon_appends_an_option(crm: Api) -> None:
    contact = crm.create("contacts", topics="home")
    crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"topics": ";stage"}})

    assert "home;stage" == crm.read("contacts", contact, "topics")["topics"]


def test_lifecycle_stage_moves_only_forward_unless_cleared(crm: Api) -> None:
    contact = crm.create("contacts", lifecyclestage="customer")
    path, back = f"{OBJECTS}/contacts/{contact}", {"properties": {"lifecyclestage": "lead"}}
    tolerated = crm("PATCH", path, back).status_code, crm.read("contacts", contact, "lifecyclestage")
    crm.knobs(backward_lifecycle="refuse")
    rejected = crm("PATCH", path, back)
    crm("PATCH", path, {"properties": {"lifecyclestage": ""}})
    crm("PATCH", path, back)

    assert 200 == tolerated[0]
    assert "customer" == tolerated[1]["lifecyclestage"]
    assert 400 == rejected.status_code
    assert "lead" == crm.read("contacts", contact, "lifecyclestage")["lifecyclestage"]


def test_unique_custom_property_identifies_records_and_rejects_duplicates(crm: Api) -> None:
    contact = crm("GET", f"{OBJECTS}/contacts/ERP-00000?idProperty=erp_id").json()
    clash = crm("POST", f"{OBJECTS}/contacts", {"properties": {"erp_id": "ERP-00000"}})
    unknown = crm("GET", f"{OBJECTS}/contacts/Ana?idProperty=firstname")

    assert contact["id"] == crm.example("contact_id")
    assert 409 == clash.status_code
    assert "CONFLICT" == clash.json()["category"]
    assert 400 == unknown.status_code


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 400),
        ("[]", 400),
        ("{}", 400),
        ('{"properties": []}', 400),
        ('{"properties": {"city": {"a": 1}}}', 400),
    ],
)
def test_bodies_of_the_wrong_shape_are_rejected(crm: Api, body: str, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    response = crm("POST", f"{OBJECTS}/contacts", headers=headers, data=body)

    assert response.status_code == status
    assert response.json()["message"].startswith("Invalid input JSON")


def test_non_json_body_is_an_unsupported_media_type(crm: Api) -> None:
    response = crm("POST", f"{OBJECTS}/contacts", data={"email": "a@b.test"})

    assert 415 == response.status_code


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/batch/read", {"inputs": "x"}),
        ("/batch/read", {"inputs": ["x"]}),
        ("/batch/read", {"inputs": [{}]}),
        ("/batch/read", {"inputs": [{"id": "1"}], "properties": "email"}),
        ("/batch/read", {"inputs": [{"id": "1"}], "idProperty": ["email"]}),
        ("/batch/upsert", {"inputs": [{"id": "a@b.test", "idProperty": "email"}]}),
        ("/batch/create", {"inputs": [{"properties": {}, "associations": 5}]}),
        ("/batch/create", {"inputs": [{"properties": {}, "associations": [{"to": {}}]}]}),
        ("/batch/upsert", {"inputs": [{"id": "1", "idProperty": "domain", "properties": {}}]}),
        ("/search", []),
        ("/search", {"sorts": [5]}),
    ],
)
def test_batches_and_searches_of_the_wrong_shape_are_rejected(crm: Api, path: str, body: Any) -> None:
    response = crm("POST", f"{OBJECTS}/contacts{path}", body)

    assert 400 == response.status_code
    assert "VALIDATION_ERROR" == response.json()["category"]


def branch(**operation: Any) -> dict[str, Any]:
    filters = [{"filterType": "PROPERTY", "property": "nps_score", "operation": operation}]
    return {"filterBranchType": "AND", "filterBranches": [], "filters": filters}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("lists", {"name": "L", "objectTypeId": "0-9", "processingType": "MANUAL"}, "infer object type from: 0-9"),
        ("lists", {"name": "L", "objectTypeId": "0-1", "processingType": "DYNAMIC"}, "cannot have such a filterBranch"),
        ("lists", branch(operationType="NUMBER", operator="IS_EQUAL_TO", value="many"), "needs a number"),
        ("lists", branch(operationType="NUMBER", operator="RHYMES_WITH", value=1), "operator RHYMES_WITH is not valid"),
        ("lists", {"filterBranchType": "OR", "filterBranches": 7}, "ArrayList"),
        ("properties/contacts/groups", {"name": "g", "label": "G", "displayOrder": "first"}, "displayOrder"),
        ("pipelines/contacts", {"label": "P", "stages": []}, "Object type 0-1 has no pipelines"),
        ("pipelines/deals", {"label": "P", "displayOrder": "first", "stages": [{}]}, "metadata.probability"),
    ],
    ids=str,
)
def test_invalid_lists_groups_and_pipelines_are_rejected(
    crm: Api, path: str, body: dict[str, Any], message: str
) -> None:
    definition = {"name": "L", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": body}
    response = crm("POST", f"/crm/v3/{path}", definition if "filterBranchType" in body else body)

    assert (400, "VALIDATION_ERROR") == (response.status_code, response.json()["category"])
    assert message in response.json()["message"]


def test_line_item_without_a_quantity_counts_once(crm: Api) -> None:
    line_item = crm.create("line_items", name="Rail", price="4.5", quantity="3")
    crm("PATCH", f"{OBJECTS}/line_items/{line_item}", {"properties": {"quantity": ""}})

    assert "4.5" == crm.read("line_items", line_item, "amount")["amount"]
