"""Injected faults: validation, matching, effects and reports."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from harness.sandbox_server import create_emulator
from workspace_sandbox import Sandbox
from workspace_sandbox.kit.faults import KINDS, parse_fault
from workspace_sandbox.notes import NotesEmulator

NOTES = {"Notion-Version": "2026-03-11"}


@pytest.fixture
def control(sandbox: Sandbox) -> Iterator[httpx.Client]:
    for emulator in sandbox.emulators.values():
        emulator.context.clear_faults()
    with httpx.Client(base_url=f"{sandbox.address}/_control") as control:
        yield control


def me(sandbox: Sandbox, token: str = "") -> httpx.Response:
    notes = sandbox.emulators["notes"]
    notes.context.knobs["limits"] = False
    bearer = {"Authorization": f"Bearer {token or notes.credentials()['token']}"}
    return httpx.get(f"{notes.context.addresses['base']}/v1/users/me", headers=NOTES | bearer)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "fault is required."),
        ({"fault": "stauts"}, "fault cannot be 'stauts'; did you mean status? allowed: status, delay, "),
        ({"fault": "status", "tims": 2}, "Unknown field 'tims'; did you mean times? allowed: fault, times, "),
        ({"fault": "status", "times": -1}, "times must be a non-negative integer."),
        ({"fault": "status", "times": True}, "times must be a non-negative integer."),
        ({"fault": "status", "status": 700}, "status must be between 200 and 599."),
        ({"fault": "status", "headers": ["x"]}, "headers must be a JSON object."),
        ({"fault": "status", "headers": {"A": None}}, "headers must have a string for A."),
        ({"fault": "status", "headers": {"A": "1\r\nB: 2"}}, "headers has an invalid name or value for 'A'."),
        ({"fault": "delay", "seconds": -1}, "seconds must be a non-negative number."),
        ({"fault": "delay", "path": "v1"}, "path must start with /."),
        ({"fault": "delay", "path": "/v1?a=b"}, "path must not contain ?, because it is compared with the path only."),
        ({"fault": "delay", "probability": 1.5}, "probability must be between 0 and 1."),
        ({"fault": "delay", "after": "3", "seed": 0.5}, "after must be a non-negative integer. seed must be a non-neg"),
    ],
    ids=str,
)
def test_an_invalid_fault_is_rejected_with_all_violations(
    control: httpx.Client, options: dict[str, object], expected: str
) -> None:
    reply = control.post("/notes/faults", json=options)

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(expected)
    assert [] == control.get("/notes/faults").json()


@pytest.mark.parametrize("content", [b"[]", b"3", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_rejected(control: httpx.Client, content: bytes) -> None:
    assert 400 == control.post("/notes/faults", content=content).status_code


def test_a_fault_sets_the_response_headers(sandbox: Sandbox, control: httpx.Client) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", "Retry-After": 3}
    control.post("/notes/faults", json={"fault": "status", "status": 503, "headers": headers, "body": "<p>away"})

    response = me(sandbox)

    assert (503, "<p>away") == (response.status_code, response.text)
    assert ("text/html; charset=utf-8", "3") == (response.headers["Content-Type"], response.headers["Retry-After"])


def test_a_null_body_is_sent_as_null(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "status", "status": 200, "body": None})

    assert "null" == me(sandbox).text


def test_a_fault_starts_after_a_number_of_requests(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "status", "status": 502, "after": 2})

    assert [200, 200, 502, 200] == [me(sandbox).status_code for _ in range(4)]


def test_a_fault_can_be_limited_to_one_token(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/notes/faults", json={"fault": "status", "status": 502, "token": "another"})

    assert [200, 502] == [me(sandbox).status_code, me(sandbox, "another").status_code]


@pytest.mark.parametrize(
    "request_",
    [
        {"headers": {"X-Api-Key": "t1"}},
        {"params": {"token": "t1"}},
        {"data": {"token": "t1"}},
        {"json": {"token": "t1"}},
    ],
    ids=str,
)
def test_a_fault_matches_tokens_in_any_header_query_form_and_json(
    sandbox: Sandbox, control: httpx.Client, request_: dict[str, Any]
) -> None:
    control.post("/chat/faults", json={"fault": "status", "status": 502, "token": "t1"})
    address = sandbox.emulators["chat"].context.addresses["base"]

    assert 502 == httpx.request("POST", f"{address}/api/auth.test", **request_).status_code


def test_a_seeded_random_fault_is_reproducible() -> None:
    first, again = (parse_fault({"fault": "delay", "times": 100, "probability": 0.3, "seed": 7}) for _ in range(2))

    hits = [first.consume() for _ in range(100)]

    assert hits == [again.consume() for _ in range(100)]
    assert 15 <= sum(hits) <= 45


def test_listed_faults_report_their_counts(sandbox: Sandbox, control: httpx.Client) -> None:
    options = {"fault": "status", "status": 502, "method": "get", "times": 3, "after": 1}
    control.post("/notes/faults", json=options)
    for _ in range(2):
        me(sandbox)

    faults = control.get("/notes/faults").json()

    assert [{**options, "method": "GET", "matched": 2, "done": 1, "left": 2}] == faults


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("notes", 429, '"code": "rate_limited"'),
        ("boards", 429, "API_TOKEN_LIMIT_EXCEEDED"),
        ("mail", 403, '"reason": "rateLimitExceeded"'),
        ("chat", 429, '"error": "ratelimited"'),
        ("crm", 429, '"policyName": "TEN_SECONDLY_ROLLING"'),
        ("tables", 429, "Rate limit exceeded"),
    ],
)
def test_a_throttle_uses_the_vendors_error(
    sandbox: Sandbox, control: httpx.Client, name: str, status: int, expected: str
) -> None:
    control.post(f"/{name}/faults", json={"fault": "throttle", "seconds": 7})

    response = httpx.get(f"{sandbox.emulators[name].context.addresses['base']}/any")

    assert status == response.status_code
    assert expected in response.text


@pytest.mark.parametrize("name", ["notes", "chat"])
def test_a_throttle_sets_retry_after_where_the_vendor_does(sandbox: Sandbox, control: httpx.Client, name: str) -> None:
    control.post(f"/{name}/faults", json={"fault": "throttle", "seconds": 7})

    response = httpx.get(f"{sandbox.emulators[name].context.addresses['base']}/any")

    assert "7" == response.headers["Retry-After"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_can_be_parsed(kind: str) -> None:
    assert kind == parse_fault({"fault": kind, "method": None}).fault


@pytest.mark.parametrize(
    ("fault", "expected_status", "written"),
    [
        ({"fault": "status", "status": 502, "body": "no"}, 502, False),
        ({"fault": "status", "status": 502, "served": True}, 502, True),
        ({"fault": "delay", "seconds": 0.01}, 200, True),
        ({"fault": "drop_before"}, None, False),
        ({"fault": "drop_after"}, None, True),
        ({"fault": "garbage"}, 200, True),
        ({"fault": "slow_body", "seconds": 0.02}, 200, True),
    ],
    ids=str,
)
def test_a_fault_applies_before_or_after_the_write(
    sandbox: Sandbox, control: httpx.Client, fault: dict[str, Any], expected_status: int | None, *, written: bool
) -> None:
    notes = create_emulator(sandbox, NotesEmulator)
    notes.context.knobs["limits"] = False
    control.post("/notes/faults", json={"method": "POST", "path": "/v1/pages", **fault})
    before, status = len(notes.workspace.pages), None
    headers = NOTES | {"Authorization": f"Bearer {notes.credentials()['token']}"}
    page = {"parent": {"database_id": notes.examples()["database_id"]}, "properties": {}}

    with suppress(httpx.TransportError):
        response = httpx.post(f"{notes.context.addresses['base']}/v1/pages", headers=headers, json=page)
        status = response.status_code
        assert (b"<html>" in response.content) == (fault["fault"] == "garbage")

    assert (expected_status, written) == (status, len(notes.workspace.pages) > before)


@pytest.mark.parametrize(
    ("name", "expected_text"),
    [
        ("notes", '"code": "internal_server_error"'),
        ("boards", "Internal Server Error"),
        ("mail", '"reason": "backendError"'),
        ("chat", '"error": "internal_error"'),
        ("crm", '"message": "internal error"'),
        ("tables", "SERVER_ERROR"),
    ],
)
def test_an_emulator_failure_is_logged_and_uses_the_vendors_error(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    expected_text: str,
) -> None:
    monkeypatch.setattr(sandbox.emulators[name], "check_request", None)

    response = httpx.get(f"{sandbox.emulators[name].context.addresses['base']}/any")

    assert 500 == response.status_code
    assert expected_text in response.text
    assert "TypeError" in caplog.text
