"""What becomes of calls when the application, the connection or the key does not play along."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from connectors.tables.looking import Looking
from harness.requirement import requirement
from harness.serving import Gateway, Reply

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


@requirement("auth:read-key-writes-nothing")
@pytest.mark.parametrize("call", WRITES)
def test_a_key_that_may_only_read_is_refused_before_anything_is_sent(gateway: Gateway, call: Call) -> None:
    reply = call(gateway.with_key("read"), nonsense=True)

    assert (403, "write_scope_required") == (reply.status, reply.code)
    assert [] == gateway.journal("tables")


@pytest.mark.parametrize("call", READS)
def test_a_key_that_may_only_read_reads(gateway: Gateway, call: Call) -> None:
    assert "ok" == call(gateway.with_key("read")).body["status"]


@requirement("auth:connection-revoked")
@pytest.mark.parametrize("call", EVERYTHING)
def test_a_withdrawn_authorisation_is_told_until_it_is_given_again(gateway: Gateway, call: Call) -> None:
    gateway.revoke("tables")
    revoked = call(gateway)
    gateway.authorise("tables")
    again = call(gateway)

    assert (401, "connection_revoked") == (revoked.status, revoked.code)
    assert "Bearer" == revoked.headers["www-authenticate"]
    assert 401 != again.status


@pytest.mark.parametrize("call", EVERYTHING)
def test_a_parameter_nobody_knows_is_refused_with_all_that_is_wrong(gateway: Gateway, call: Call) -> None:
    reply = call(gateway, colour="red", size="big")

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["colour", "size"] == [detail["parameter"] for detail in reply.details]


@pytest.mark.parametrize("call", EVERYTHING)
def test_a_connection_that_does_not_exist_is_not_found(gateway: Gateway, call: Call) -> None:
    assert "connection_not_found" == call(gateway, connection_id="conn_nope").code


@pytest.mark.parametrize("call", EVERYTHING)
def test_a_token_without_its_scopes_is_forbidden(gateway: Gateway, call: Call) -> None:
    gateway.knob("tables", scopes="user.email:read")
    reply = call(gateway)

    assert (403, "upstream_forbidden") == (reply.status, reply.code)


# An application that fails while it is read


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "status", "status": 500},
        {"fault": "status", "status": 502, "body": "<html>Bad gateway</html>"},
        {"fault": "status", "status": 503},
        {"fault": "status", "status": 503, "body": RETRIABLE, "headers": {"Retry-After": "0"}},
        {"fault": "status", "status": 429, "body": THROTTLED, "headers": {"Retry-After": "0"}},
        {"fault": "drop_before"},
        {"fault": "drop_after"},
    ],
    ids=str,
)
def test_reading_is_tried_again(gateway: Gateway, call: Call, fault: dict[str, Any]) -> None:
    gateway.fault("tables", times=2, **fault)

    assert "ok" == call(gateway).body["status"]


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ({"fault": "status", "status": 500}, 502, "upstream_error"),
        ({"fault": "status", "status": 502, "body": "<html>Bad gateway</html>"}, 502, "upstream_error"),
        ({"fault": "status", "status": 503}, 502, "upstream_error"),
        ({"fault": "drop_before"}, 502, "upstream_error"),
        ({"fault": "status", "status": 200, "body": "<html>Welcome</html>"}, 502, "upstream_error"),
        ({"fault": "status", "status": 418}, 502, "upstream_unexpected"),
        ({"fault": "status", "status": 404, "body": {"error": "NOT_FOUND"}}, 404, "base_not_found"),
        ({"fault": "status", "status": 503, "body": RETRIABLE, "headers": {"Retry-After": "60"}}, 429, None),
    ],
    ids=str,
)
def test_an_application_that_keeps_failing_ends_the_reading(
    gateway: Gateway, call: Call, fault: dict[str, Any], status: int, code: str | None
) -> None:
    gateway.fault("tables", times=3, path="/v0/meta/bases/appFailing", **fault)
    reply = call(gateway, base_id="appFailing")

    assert (status, code or "upstream_rate_limited") == (reply.status, reply.code)
    assert "html" not in str(reply.body)


# An application that fails while it is written to


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "status", "status": 500}, "outcome_unknown"),
        ({"fault": "status", "status": 502, "body": "<html>Bad gateway</html>"}, "outcome_unknown"),
        ({"fault": "status", "status": 503}, "outcome_unknown"),
        ({"fault": "drop_before"}, "outcome_unknown"),
    ],
    ids=str,
)
def test_a_write_that_failed_is_looked_for_and_not_repeated(
    gateway: Gateway, inside: Looking, method: str, fault: dict[str, Any], code: str
) -> None:
    gateway.fault("tables", method=method, **fault)
    reply = {"POST": create, "PATCH": update}[method](gateway)

    assert (502, code) == (reply.status, reply.code)
    assert 1 == len(inside.sent(method))
    assert [] == inside.records(Name="faulty")
    assert "html" not in str(reply.body)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("fault", ["drop_after", "garbage"])
def test_a_write_that_was_done_is_recognised(gateway: Gateway, inside: Looking, method: str, fault: str) -> None:
    gateway.fault("tables", method=method, fault=fault)
    reply = {"POST": create, "PATCH": update}[method](gateway)

    assert "ok" == reply.body["status"]
    assert 1 == len(inside.records(Name="faulty"))


@requirement("service:backoff")
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "body": THROTTLED, "headers": {"Retry-After": "0"}},
        {"status": 503, "body": RETRIABLE, "headers": {"Retry-After": "0"}},
    ],
    ids=str,
)
def test_a_write_that_certainly_was_not_done_is_sent_again(
    gateway: Gateway, inside: Looking, method: str, fault: dict[str, Any]
) -> None:
    gateway.fault("tables", method=method, fault="status", **fault)
    reply = {"POST": create, "PATCH": update}[method](gateway)

    assert "ok" == reply.body["status"]
    assert 2 == len(inside.sent(method))
    assert 1 == len(inside.records(Name="faulty"))


def test_an_update_nobody_waited_for_is_recognised_when_it_is_done(gateway: Gateway, inside: Looking) -> None:
    gateway.fault("tables", method="PATCH", fault="delay", seconds=1.5)
    first = update(gateway, headers={"Idempotency-Key": "slow"})
    inside.wait_for(Name="faulty")
    again = update(gateway, headers={"Idempotency-Key": "slow"})

    assert (502, "outcome_unknown") == (first.status, first.code)
    assert ["Name"] == again.data["updated_fields"]
    assert 1 == len(inside.sent("PATCH"))


def test_updating_twenty_times_at_once_with_a_key_updates_once(gateway: Gateway, inside: Looking) -> None:
    keyed: Mapping[str, str] = {"Idempotency-Key": "twenty"}
    replies = gateway.together(*[lambda: update(gateway, headers=keyed)] * 20)

    assert 1 == len({reply.data["updated_at"] for reply in replies})
    assert 1 == len(inside.sent("PATCH"))


# An application that has had enough


def test_a_used_up_plan_is_no_reason_to_wait(gateway: Gateway) -> None:
    gateway.knob("tables", monthly_calls=0)
    reply = read(gateway)

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert "retry_after" not in reply.body
    assert "administrator" not in reply.body["error"]["remedy"]
    assert ["PUBLIC_API_BILLING_LIMIT_EXCEEDED"] == [detail["vendor_code"] for detail in reply.details]


@pytest.mark.parametrize("envelope", ["list", "object", "bare"])
def test_limits_are_told_apart_in_whichever_envelope(gateway: Gateway, envelope: str) -> None:
    gateway.knob("tables", monthly_calls=0, throttle_envelope=envelope)

    assert "upstream_forbidden" == describe(gateway).code
