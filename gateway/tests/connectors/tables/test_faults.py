"""Failures of the vendor, the connection and the key."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

Call = Callable[..., Reply]
RETRIABLE = {"error": {"type": "RETRIABLE_ERROR", "message": "Safe to retry."}}
THROTTLED = {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded."}]}


def read(gateway: Gateway, **more: Any) -> Reply:
    query = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "limit": 1} | more
    return gateway.get("/tables/records", **query)


def describe(gateway: Gateway, **more: Any) -> Reply:
    return gateway.get("/tables/tables", **({"base_id": gateway.examples("tables")["base_id"]} | more))


def create(gateway: Gateway, **more: Any) -> Reply:
    body = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "records": [{"Name": "faulty"}]}
    return gateway.post("/tables/records", **(body | more))


def update(gateway: Gateway, **more: Any) -> Reply:
    examples = gateway.examples("tables")
    body = {"base_id": examples["base_id"], "table": "Leads", "fields": {"Name": "faulty"}} | more
    return gateway.patch(f"/tables/records/{examples['record_id']}", **body)


def attach(gateway: Gateway, **more: Any) -> Reply:
    body = {"record_id": gateway.examples("tables")["record_id"], "field": "Files", "url": "http://10.0.0.1/"}
    return gateway.post("/tables/attachments", **(body | more))


READS = [read, describe]
WRITES = [create, update, attach]
EVERYTHING = [*READS, *WRITES]


# Keys and connections


@pytest.mark.parametrize("call", EVERYTHING)
def test_a_token_without_scopes_is_forbidden(gateway: Gateway, call: Call) -> None:
    gateway.knob("tables", scopes="user.email:read")
    reply = call(gateway)

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# Vendor failures during a write


@requirement("common-7")
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    "injected",
    [
        {"status": 429, "body": THROTTLED, "headers": {"Retry-After": "0"}},
        {"status": 503, "body": RETRIABLE, "headers": {"Retry-After": "0"}},
    ],
    ids=str,
)
def test_a_write_that_was_not_performed_is_resent(
    gateway: Gateway, inspector: VendorInspector, method: str, injected: dict[str, Any]
) -> None:
    gateway.fault("tables", method=method, fault="status", **injected)
    reply = {"POST": create, "PATCH": update}[method](gateway)

    assert "ok" == reply.body["status"]
    assert 2 == len(inspector.list_requests(method))
    assert 1 == len(inspector.records(Name="faulty"))
