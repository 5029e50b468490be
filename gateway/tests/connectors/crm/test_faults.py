"""Failures of the vendor, of the connection to it, and of the caller's key."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.tests.connectors.crm.recognisable_writes import CREATE_CONTACT, HTML, OBJECTS, Writer, new_writer
from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.all_connectors import only
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture
def short_queue_writer(sandbox: Sandbox, tmp_path: Path, portal: VendorInspector) -> Iterator[Writer]:
    """A caller of a separate gateway with a very short queue timeout."""
    waits: dict[str, Any] = {"GATEWAY_QUEUE_SECONDS": "0.5", "GATEWAY_RUN_SECONDS": "0.5"}
    with run_gateway(sandbox, tmp_path, connectors=only("crm"), **waits) as gateway:
        gateway.clear("crm")
        yield new_writer(gateway, portal)


# In-doubt writes


def test_a_company_with_a_lost_response_is_not_created_twice(writer: Writer) -> None:
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/companies", fault="delay", seconds=0, times=1)
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/companies", fault="delay", seconds=0, times=1)
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/companies", fault="drop_after")
    response = writer.upsert_with_new_company(headers={"Idempotency-Key": writer.mark})

    assert "created" == response.data["action"]
    assert 1 == writer.portal.count("companies", domain=f"{writer.mark}.test")
    assert writer.portal.list_associations("contacts", response.data["contact_id"], "companies") == [
        writer.portal.company_id(f"{writer.mark}.test")
    ]


def test_a_repeat_creates_a_failed_association_and_returns_the_first_result(writer: Writer) -> None:
    writer.gateway.fault("crm", method="PUT", fault="status", status=500)
    failed = writer.link(headers={"Idempotency-Key": writer.mark})
    repeated = writer.link(headers={"Idempotency-Key": writer.mark})

    assert "outcome_unknown" == failed.code
    assert failed.details == [
        {"done": "write the contact", "contact_id": repeated.data["contact_id"], "action": "created"}
    ]
    assert ("created", ["email", "jobtitle"]) == (repeated.data["action"], repeated.data["properties_written"])
    assert 1 == len(writer.portal.list_associations("contacts", repeated.data["contact_id"], "companies"))


def test_an_older_contact_with_a_lost_response_is_reported_as_updated(writer: Writer) -> None:
    email = "ana.lindqvist@aurora-archi.example"
    writer.inject_fault(("POST", f"{OBJECTS}/contacts/batch/upsert"), fault="drop_after")
    updated = writer.upsert(email=email)
    writer.inject_fault(CREATE_CONTACT, fault="drop_before")
    skipped = writer.skip(email="old.address87@mail.example")

    assert ("updated", ["jobtitle"]) == (updated.data["action"], updated.data["properties_written"])
    assert "outcome_unknown" == skipped.code


# Failing notes


@requirement("crm-29")
@pytest.mark.parametrize(
    "injected",
    [
        {"status": 400, "body": {"category": "VALIDATION_ERROR"}},
        {"status": 403, "body": {"category": "FORBIDDEN"}},
        {"status": 500, "body": {"category": "INTERNAL_ERROR"}},
    ],
)
def test_a_change_remains_if_its_note_fails(writer: Writer, injected: dict[str, Any]) -> None:
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/notes", fault="status", **injected)
    reply = writer.move(note="lost words")

    assert reply.data["note_logged"] is False
    assert ("qualifiedtobuy", "closedlost") == (reply.data["dealstage_from"], reply.data["dealstage_to"])
    assert 1 == writer.count_writes()
    assert [] == writer.portal.notes(writer.deal_id, "lost words")


@requirement("common-145")
def test_a_failed_note_is_reported_as_a_warning(writer: Writer) -> None:
    body = {"category": "FORBIDDEN", "message": "Notes are switched off for this portal."}
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/notes", fault="status", status=403, body=body)
    reply = writer.move(note="lost words")

    assert reply.data["note_logged"] is False
    assert "Notes are switched off for this portal." in reply.headers["Warning"]


@requirement("crm-30")
@pytest.mark.parametrize("injected", [{"fault": "status", "status": 502, "body": HTML}, {"fault": "drop_before"}])
def test_a_late_note_is_in_doubt_and_logged_once_by_a_repeat(writer: Writer, injected: dict[str, Any]) -> None:
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/notes", **injected)
    in_doubt = writer.move(note="some words", headers={"Idempotency-Key": writer.mark})
    repeated = writer.move(note="some words", headers={"Idempotency-Key": writer.mark})

    assert 502 == in_doubt.status
    assert in_doubt.details == [{"done": "change the deal", "deal_id": writer.deal_id}]
    assert repeated.data["note_logged"] is True
    assert ("qualifiedtobuy", "closedlost") == (repeated.data["dealstage_from"], repeated.data["dealstage_to"])
    assert 1 == len(writer.portal.notes(writer.deal_id, "some words"))


@requirement("crm-30")
def test_a_note_with_an_unknown_outcome_stays_in_doubt(writer: Writer) -> None:
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/notes", fault="drop_after")
    writer.gateway.fault("crm", method="POST", path="/crm/associations", fault="status", status=500, times=6)
    in_doubt = writer.move(note="some words", headers={"Idempotency-Key": writer.mark})
    repeated = writer.move(note="some words", headers={"Idempotency-Key": writer.mark})

    assert "outcome_unknown" == in_doubt.code
    assert repeated.data["note_logged"] is True
    assert 1 == len(writer.portal.notes(writer.deal_id, "some words"))


# Throttling


def test_a_throttled_search_delays_no_other_requests(short_queue_writer: Writer) -> None:
    short_queue_writer.gateway.fault(
        "crm", path=f"{OBJECTS}/contacts/search", fault="status", status=429, headers={"Retry-After": "60"}
    )
    searched = short_queue_writer.gateway.get("/crm/contacts", property="tier", value="gold")
    looked_up = short_queue_writer.gateway.get("/crm/contacts", email="ana.lindqvist@aurora-archi.example")

    assert ("upstream_rate_limited", 60) == (searched.code, searched.body["retry_after"])
    assert 200 == looked_up.status


# Permissions


def test_a_missing_scope_is_reported(writer: Writer) -> None:
    writer.gateway.knob("crm", scopes=["oauth", "crm.objects.contacts.read"])
    reply = writer.upsert()

    assert (403, "connection_scope_missing") == (reply.status, reply.code)
    assert [{"scopes": ["crm.objects.contacts.write"]}] == reply.facts
