"""Undocumented response shapes are reported as such and never cached."""

from pathlib import Path
from typing import Any

import pytest

from gateway.tests.connectors.crm.recognisable_writes import OBJECTS, Writer, new_writer
from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.all_connectors import only
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

DATED = {"createdAt": "2026-11-02T08:00:00Z", "updatedAt": "2026-11-02T08:00:00Z"}
RECORD = {"id": "1", "properties": {}, **DATED}


@pytest.fixture
def uncached_writer(sandbox: Sandbox, portal: VendorInspector, tmp_path: Path) -> Any:
    """A caller of a gateway with an empty cache."""
    with run_gateway(sandbox, tmp_path, connectors=only("crm")) as gateway:
        gateway.clear("crm")
        yield new_writer(gateway, portal)


@pytest.mark.parametrize("amount", ["a lot", "NaN", "Infinity", "1e999"])
def test_a_new_deal_with_a_non_numeric_amount_is_in_doubt(writer: Writer, amount: str) -> None:
    deal = RECORD | {"properties": {"amount": amount}}
    writer.gateway.fault("crm", method="POST", path=f"{OBJECTS}/deals", fault="status", status=200, body=deal)
    reply = writer.open()

    assert (502, "outcome_unknown") == (reply.status, reply.code)


def test_an_accepted_association_that_was_not_created_is_rejected(writer: Writer) -> None:
    errors = [{"status": "error", "category": "VALIDATION_ERROR", "message": "Limit of associations exceeded."}]
    writer.gateway.fault("crm", method="PUT", fault="status", status=200, body={"results": [], "errors": errors})
    reply = writer.link()

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert {
        "vendor_code": "VALIDATION_ERROR",
        "vendor_message": "Limit of associations exceeded.",
    } == reply.facts[0]


@pytest.mark.parametrize("write", ["upsert", "link"])
@pytest.mark.parametrize("body", [{"results": []}, {"results": [], "errors": [7]}, {"results": [], "errors": {}}])
def test_a_batch_without_results_and_reason_is_searched(writer: Writer, write: str, body: dict[str, Any]) -> None:
    method, path = {"upsert": ("POST", f"{OBJECTS}/contacts/batch/upsert"), "link": ("PUT", f"{OBJECTS}/contacts")}[
        write
    ]
    writer.gateway.fault("crm", method=method, path=path, fault="status", status=200, body=body)
    reply = getattr(writer, write)(headers={"Idempotency-Key": writer.mark})
    repeated = getattr(writer, write)(headers={"Idempotency-Key": writer.mark})

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert 200 == repeated.status
    assert 1 == writer.count_writes()


@pytest.mark.parametrize("owners", [[], [{"id": "771203", "archived": False}]])
def test_an_owner_missing_in_one_list_is_searched_again(uncached_writer: Writer, owners: list[Any]) -> None:
    uncached_writer.gateway.fault(
        "crm", path="/crm/owners", fault="status", status=200, body={"results": owners}, times=2
    )
    untold = uncached_writer.gateway.get("/crm/contacts", email="ana.lindqvist@aurora-archi.example")
    repeat = uncached_writer.gateway.get("/crm/contacts", email="ana.lindqvist@aurora-archi.example")

    assert untold.data[0]["owner_email"] is None
    assert "mei.tanaka@fjordlicht.example" == repeat.data[0]["owner_email"]


def test_an_owner_missing_in_all_lists_is_searched_twice(uncached_writer: Writer) -> None:
    uncached_writer.gateway.fault("crm", path="/crm/owners", fault="status", status=200, body={"results": []}, times=99)
    for_owners = ("GET", "/crm/owners/2026-09")
    replies = [
        uncached_writer.gateway.get("/crm/contacts", email="ana.lindqvist@aurora-archi.example") for _ in range(4)
    ]

    assert [None] * 4 == [reply.data[0]["owner_email"] for reply in replies]
    assert 4 == uncached_writer.count_requests(for_owners)


@requirement("crm-30")
def test_a_note_with_a_malformed_time_is_no_match(writer: Writer) -> None:
    note = RECORD | {"properties": {"hs_timestamp": "noon", "hs_note_body": writer.mark}}
    path = f"{OBJECTS}/notes/batch/read"
    writer.inject_fault(("POST", f"{OBJECTS}/notes"), fault="drop_after")
    # Applies after the fault of the note itself, whose path has the same start.
    writer.gateway.fault("crm", method="POST", path=path, fault="status", status=200, body={"results": [note]}, times=3)
    lost = writer.note(headers={"Idempotency-Key": writer.mark})

    assert (502, "outcome_unknown") == (lost.status, lost.code)
