"""Faults and user actions of the HubSpot emulator, and its unsupported routes."""

from typing import Any

import pytest

from sandbox.tests.crm.hubspot_client import OBJECTS, Api


@pytest.mark.parametrize(
    ("outage", "status", "content_type"),
    [
        ("locked", 423, "application/json"),
        ("migrating", 477, "application/json"),
        ("bad_gateway", 502, "text/html"),
        ("timeout", 524, "text/html"),
    ],
)
def test_outages_return_the_vendors_responses(crm: Api, outage: str, status: int, content_type: str) -> None:
    crm.knobs(outage=outage)
    response = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "outage@example.test"}})

    assert response.status_code == status
    assert response.headers["Content-Type"].startswith(content_type)
    assert ("Retry-After" in response.headers) == (outage == "migrating")


def test_locked_records_can_be_read(crm: Api) -> None:
    crm.knobs(outage="locked")

    assert 200 == crm("GET", f"{OBJECTS}/contacts?limit=1").status_code
    assert 200 == crm("POST", f"{OBJECTS}/contacts/search", {}).status_code


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/crm/objects/2025-09/contacts", 404),
        ("GET", "/crm/v3/objects", 404),
        ("GET", "/crm/v3/objects/contacts?properties=" + "x" * 7_500, 414),
        ("DELETE", "/account-info/2026-09/details", 405),
    ],
)
def test_unknown_routes_return_an_html_page(crm: Api, method: str, path: str, status: int) -> None:
    response = crm(method, path)

    assert response.status_code == status
    assert response.headers["Content-Type"].startswith("text/html")


def test_default_data_is_large_and_has_irregular_records(crm: Api) -> None:
    records = crm.emulator.portal.records
    contacts = list(records["contacts"].values())

    assert len(contacts) >= 1000
    assert len([one for one in records["companies"].values() if "domain" in one.properties]) >= 60
    assert len(records["deals"]) >= 80
    assert 2 == len({deal.properties["pipeline"] for deal in records["deals"].values()})
    assert any("email" not in one.properties for one in contacts)
    assert any(";" in one.properties.get("hs_additional_emails", "") for one in contacts)
    assert any(not one.properties.get("firstname", "a").isascii() for one in contacts)
    assert any(one.archived_at for one in contacts)
    assert all(one.properties["email"].islower() for one in contacts if "email" in one.properties)


def test_default_data_contains_only_valid_values(crm: Api) -> None:
    portal = crm.emulator.portal
    for records in portal.records.values():
        for record in records.values():
            definitions = portal.live_definitions(record.kind)
            writable = {name: value for name, value in record.properties.items() if not definitions[name].read_only}

            assert portal.rules.validate(record.kind, writable, None) == writable


def test_examples_exist_and_are_associated(crm: Api) -> None:
    examples = crm.emulator.examples()
    deal = crm.read("deals", examples["deal_id"], "pipeline", "dealstage")
    pipeline = crm("GET", f"/crm/pipelines/2026-09/deals/{deal['pipeline']}").json()

    assert crm.read("contacts", examples["contact_id"], "email")["email"] == examples["email"]
    assert pipeline["label"] == examples["pipeline"]
    assert [stage["label"] for stage in pipeline["stages"]][:2] == examples["stages"]
    assert 200 == crm("GET", f"/crm/properties/2026-09/contacts/{examples['custom_property']}").status_code
    assert set(examples) == {
        *("email", "pipeline", "stages", "contact_id", "deal_id", "company_domain", "portal_id", "custom_property"),
        "ticket_id",
    }


def test_user_actions_create_and_update_records(crm: Api) -> None:
    contact = crm.control("crm/act", action="create_contact", properties={"email": "Typed@Example.test"}, extra=1)
    moved = crm.control(
        "crm/act", action="update_deal", deal_id=crm.example("deal_id"), properties={"dealstage": "closedlost"}
    )

    assert "typed@example.test" == crm.read("contacts", contact["id"], "email")["email"]
    assert "true" == moved["properties"]["hs_is_closed"]


def test_user_actions_add_pipelines_and_archive_owners(crm: Api) -> None:
    crm.control("crm/act", action="create_pipeline", label="Sales Pipeline", stages=["New", "Done"])
    crm.control("crm/act", action="archive_owner", owner_id="771203")
    crm.control("crm/act", action="archive", type="deal", id=crm.example("deal_id"))

    labels = [one["label"] for one in crm("GET", "/crm/pipelines/2026-09/deals").json()["results"]]
    assert 2 == labels.count("Sales Pipeline")
    assert 404 == crm("GET", "/crm/owners/2026-09/771203").status_code
    assert 404 == crm("GET", f"{OBJECTS}/deals/{crm.example('deal_id')}").status_code


@pytest.mark.parametrize(
    "action",
    [
        {"action": "create_contact"},
        {"action": "create_contact", "properties": {"foo": "1"}},
        {"action": "update_deal", "deal_id": "1", "properties": {}},
        {"action": "archive", "type": "planet", "id": "1"},
    ],
)
def test_invalid_user_actions_are_rejected_without_changes(crm: Api, action: dict[str, Any]) -> None:
    before = crm.emulator.portal.records["contacts"].copy()
    response = crm.session.post(f"{crm.control_base}/_control/crm/act", json=action, timeout=60)

    assert 422 == response.status_code
    assert crm.emulator.portal.records["contacts"] == before
