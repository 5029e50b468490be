"""Writes happen once, and no other object is matched as their result."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.tests.connectors.crm.recognisable_writes import CREATE_CONTACT, OBJECTS, SINGLE, Writer, new_writer
from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.all_connectors import only
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

UPSERT = ("POST", f"{OBJECTS}/contacts/batch/upsert")
CREATE_DEAL = ("POST", f"{OBJECTS}/deals")
SLOW: dict[str, Any] = {"GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.5", "GATEWAY_CRM_SETTLE_SECONDS": "1.5"}
"""A timeout shorter than the execution of a request, and a settling time that suffices for it."""


@pytest.fixture
def slow_writer(sandbox: Sandbox, tmp_path: Path, portal: VendorInspector) -> Iterator[Writer]:
    with run_gateway(sandbox, tmp_path, connectors=only("crm"), **SLOW) as gateway:
        gateway.clear("crm")
        yield new_writer(gateway, portal)


def with_key(writer: Writer, key: str = "") -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": f"{writer.mark}{key}"}}


def build_deal(writer: Writer, **more: str) -> dict[str, str]:
    """Return the properties of a deal that the writer opens."""
    return {"dealname": writer.mark, "pipeline": "default", "dealstage": "closedwon", "amount": "1.5"} | more


# The first body is decisive


@requirement("crm-31")
def test_a_repeat_returns_the_stage_before_the_first_call(writer: Writer) -> None:
    writer.inject_fault(("PATCH", f"{OBJECTS}/deals"), fault="drop_after")
    writer.gateway.fault("crm", method="GET", path=f"{OBJECTS}/deals", fault="delay")
    writer.gateway.fault("crm", method="GET", path=f"{OBJECTS}/deals", fault="status", status=500, times=6)
    lost = writer.move(**with_key(writer))
    repeated = writer.move(**with_key(writer))

    assert "outcome_unknown" == lost.code
    assert ("qualifiedtobuy", "closedlost") == (repeated.data["dealstage_from"], repeated.data["dealstage_to"])
    assert 1 == writer.count_writes()


# Objects of others


@requirement("crm-39")
@pytest.mark.parametrize("contact_id", [None, "50912"])
@pytest.mark.parametrize(
    ("properties", "maker"),
    [
        pytest.param({}, {}, id="made by hand"),
        pytest.param({}, {"app_id": 4711}, id="made by another application"),
        pytest.param({"hubspot_owner_id": "771203"}, {"app_id": 2204117}, id="with an owner"),
        pytest.param({"risk": "low"}, {"app_id": 2204117}, id="with a property of the portal's own"),
        pytest.param({"amount": ""}, {"app_id": 2204117}, id="without the amount"),
    ],
)
def test_a_deal_created_meanwhile_by_another_is_not_returned(
    writer: Writer, properties: dict[str, str], maker: dict[str, Any], contact_id: str | None
) -> None:
    writer.upsert(email=f"learned-{writer.mark}@acme.test", properties={})
    writer.inject_fault(CREATE_DEAL, fault="drop_before")
    lost = writer.open(contact_id=contact_id, **with_key(writer))
    other = writer.gateway.act(
        "crm",
        action="create_deal",
        properties=build_deal(writer, **properties),
        associations=_associations(contact_id),
        **maker,
    )
    repeated = writer.open(contact_id=contact_id, **with_key(writer))

    assert "outcome_unknown" == lost.code
    assert repeated.data["deal_id"] != other["id"]
    assert 2 == writer.portal.count("deals", dealname=writer.mark)


@requirement("crm-39")
def test_a_deal_with_a_contact_is_not_taken_for_one_without(writer: Writer) -> None:
    writer.inject_fault(CREATE_DEAL, fault="drop_before")
    lost = writer.open(**with_key(writer))
    other = writer.gateway.act(
        "crm",
        action="create_deal",
        properties=build_deal(writer),
        associations=_associations("50912"),
        app_id=2204117,
    )
    repeated = writer.open(**with_key(writer))

    assert "outcome_unknown" == lost.code
    assert repeated.data["deal_id"] != other["id"]


@requirement("crm-39")
def test_a_manually_created_deal_is_not_returned_to_a_call_without_key(writer: Writer) -> None:
    writer.gateway.act("crm", action="create_deal", properties=build_deal(writer))
    writer.inject_fault(CREATE_DEAL, fault="drop_before")
    lost = writer.open()

    assert "outcome_unknown" == lost.code
    assert "key" in lost.body["error"]["remedy"]
    assert 1 == writer.count_writes()


@requirement("crm-39")
def test_a_deal_created_by_any_app_matches_while_our_id_is_unknown(
    sandbox: Sandbox, tmp_path: Path, portal: VendorInspector
) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("crm")) as gateway:
        gateway.clear("crm")
        writer = new_writer(gateway, portal)
        writer.inject_fault(CREATE_DEAL, fault="drop_after")
        response = writer.open()

    assert response.data["dealname"] == writer.mark
    assert 1 == writer.count_writes()


@requirement("crm-39")
@pytest.mark.parametrize(("maker", "action"), [({}, "skipped"), ({"app_id": 2204117}, "created")])
def test_a_contact_created_meanwhile_by_a_person_is_skipped(writer: Writer, maker: dict[str, Any], action: str) -> None:
    properties = {"email": f"{writer.mark}@acme.test", "jobtitle": writer.mark}
    writer.inject_fault(CREATE_CONTACT, fault="drop_before")
    lost = writer.skip(**with_key(writer))
    created = writer.gateway.act("crm", action="create_contact", properties=properties, **maker)
    repeated = writer.skip(**with_key(writer))

    assert "outcome_unknown" == lost.code
    assert (repeated.data["contact_id"], repeated.data["action"]) == (created["id"], action)
    assert 1 == writer.count_writes()


def test_a_contact_that_appears_between_planning_and_sending_is_skipped(writer: Writer) -> None:
    response = writer.upsert()
    writer.gateway.fault(
        "crm", method="POST", path=f"{OBJECTS}/contacts/batch/read", fault="status", status=200, body={"results": []}
    )
    skipped = writer.skip(**with_key(writer))

    assert (skipped.data["contact_id"], skipped.data["action"]) == (response.data["contact_id"], "skipped")
    assert [] == skipped.data["properties_written"]


def test_a_change_of_a_contact_with_a_second_address_is_matched(writer: Writer) -> None:
    contacts = f"{OBJECTS}/contacts/"
    writer.inject_fault(("PATCH", contacts), fault="drop_after")
    writer.gateway.fault("crm", method="GET", path=contacts, fault="delay")
    writer.gateway.fault("crm", method="GET", path=contacts, fault="status", status=500, times=6)
    lost = writer.upsert(email="old.address46@mail.example", **with_key(writer))
    repeated = writer.upsert(email="old.address46@mail.example", **with_key(writer))

    assert "outcome_unknown" == lost.code
    assert ("updated", ["jobtitle"]) == (repeated.data["action"], repeated.data["properties_written"])
    assert repeated.data["email"] != "old.address46@mail.example"
    assert 1 == writer.count_writes()


# Two keys


@requirement("crm-40")
def test_a_contact_belongs_to_the_key_that_created_it(writer: Writer) -> None:
    writer.inject_fault(CREATE_CONTACT, fault="drop_before")
    lost = writer.skip(**with_key(writer, "K1"))
    second = writer.skip(**with_key(writer, "K2"))
    first = writer.skip(**with_key(writer, "K1"))

    assert "outcome_unknown" == lost.code
    assert ("created", "skipped") == (second.data["action"], first.data["action"])
    assert 1 == writer.count_writes()


# Incomplete listings


@requirement("crm-43")
@pytest.mark.parametrize("injected", [{"fault": "drop_after"}, {"fault": "garbage"}])
def test_a_repeat_waits_until_the_search_index_includes_the_deal(slow_writer: Writer, injected: dict[str, Any]) -> None:
    slow_writer.gateway.knob("crm", search_lag_seconds=1)
    slow_writer.gateway.fault(
        "crm", method="GET", path=f"{OBJECTS}/deals", fault="status", status=200, body={"results": []}, times=99
    )
    slow_writer.inject_fault(CREATE_DEAL, **injected)
    unseen = slow_writer.open(**with_key(slow_writer))
    response = slow_writer.repeat_until_final("open", **with_key(slow_writer))

    assert "outcome_unknown" == unseen.code
    assert 200 == response.status
    assert (1, 1) == (slow_writer.count_requests(CREATE_DEAL), slow_writer.count_writes())


@requirement("crm-43")
def test_a_failure_stays_in_doubt_until_the_search_includes_new_records(slow_writer: Writer) -> None:
    slow_writer.inject_fault(CREATE_DEAL, fault="status", status=500)
    failed = slow_writer.open(**with_key(slow_writer))
    early = slow_writer.open(**with_key(slow_writer))

    assert ("outcome_unknown", "outcome_unknown") == (failed.code, early.code)
    assert 1 == slow_writer.count_requests(CREATE_DEAL)


@requirement("crm-43")
def test_an_incomplete_list_of_deals_leaves_the_outcome_unknown(writer: Writer) -> None:
    endless = {"results": [{"from": {"id": "50912"}, "to": [], "paging": {"next": {"after": "7"}}}]}
    writer.gateway.fault(
        "crm", method="POST", path="/crm/associations", fault="status", status=200, body=endless, times=99
    )
    writer.inject_fault(CREATE_DEAL, fault="drop_after")
    lost = writer.open_for(**with_key(writer))
    unlisted = writer.open_for(**with_key(writer))
    # The order of both searches is a matter of timing.
    writer.gateway.sandbox.emulators["crm"].context.clear_faults()
    response = writer.open_for(**with_key(writer))

    assert ("outcome_unknown", "upstream_error") == (lost.code, unlisted.code)
    assert 200 == response.status
    assert (1, 1) == (writer.count_requests(CREATE_DEAL), writer.count_writes())


# Partial writes


@requirement("crm-44")
def test_a_company_created_before_an_error_is_reported_and_reused(writer: Writer) -> None:
    writer.inject_fault(UPSERT, fault="status", status=400, body={"category": "VALIDATION_ERROR"})
    response = writer.upsert_with_new_company(**with_key(writer))
    done = writer.upsert_with_new_company(**with_key(writer))
    company_id = writer.portal.company_id(f"{writer.mark}.test")

    assert 422 == response.status
    assert response.facts == [
        {"vendor_code": "VALIDATION_ERROR"},
        {"done": "create the company", "company_id": str(company_id)},
    ]
    assert writer.portal.list_associations("contacts", done.data["contact_id"], "companies") == [company_id]
    assert 1 == writer.portal.count("companies", domain=f"{writer.mark}.test")


@requirement("crm-44")
def test_a_contact_written_before_its_link_was_rejected_is_reported(writer: Writer) -> None:
    writer.gateway.fault("crm", method="PUT", fault="status", status=403, body={"category": "FORBIDDEN"})
    response = writer.link(**with_key(writer))
    done = writer.link(**with_key(writer))

    assert "upstream_forbidden" == response.code
    assert response.facts == [
        {"vendor_code": "FORBIDDEN"},
        {"done": "write the contact", "contact_id": done.data["contact_id"], "action": "created"},
    ]
    assert "created" == done.data["action"]


# Malformed responses


@requirement("crm-42")
@pytest.mark.parametrize(("write", "request_of"), SINGLE)
@pytest.mark.parametrize("body", [{}, {"results": [{}]}, {"results": [{"id": "1"}], "properties": {}}])
def test_a_successful_response_without_required_fields_is_in_doubt(
    writer: Writer, write: str, request_of: tuple[str, str], body: dict[str, Any]
) -> None:
    writer.inject_fault(request_of, fault="status", status=200, body=body)
    garbled = getattr(writer, write)(**with_key(writer))
    repeated = getattr(writer, write)(**with_key(writer))

    assert (502, "outcome_unknown") == (garbled.status, garbled.code)
    assert 200 == repeated.status
    assert 1 == writer.count_writes()


def _associations(contact_id: str | None) -> list[dict[str, Any]]:
    """Return the vendor's form of a new deal's association with a contact."""
    kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 3}
    return [] if contact_id is None else [{"to": {"id": contact_id}, "types": [kind]}]
