"""Requests of ``verify`` that are sent again: at a limit that ends soon, and after a lost response."""

from collections.abc import Mapping
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.verify.account_under_test import Account, CallFailed, NotCheckable
from harness.requirement import requirement

DATA = {"data": {"status": 200, "headers": {}, "body": {}}}


def failed(code: str, retry_after: float) -> dict[str, Any]:
    return {"error": {"code": code, "message": "The call failed.", "remedy": "Wait."}, "retry_after": retry_after}


def replied(status: int, body: Any) -> dict[str, Any]:
    return {"data": {"status": status, "headers": {"retry-after": "1"}, "body": body}}


class Script:
    """A gateway with prepared responses."""

    def __init__(self, *bodies: Mapping[str, Any]) -> None:
        self.bodies = list(bodies)
        self.headers: list[dict[str, str] | None] = []

    async def __call__(
        self, method: str, path: str, values: Mapping[str, Any], headers: dict[str, str] | None = None
    ) -> Mapping[str, Any]:
        self.headers.append(headers)
        return self.bodies.pop(0)

    def account(self, connector: str = "chat") -> Account:
        return Account(CONNECTORS[connector], "conn_1", self)


@requirement("requests-16")
async def test_a_limit_that_ends_soon_is_waited_for_once() -> None:
    waiting = Script(failed("upstream_rate_limited", 0.01), failed("rate_limited", 0.01), DATA)
    exhausted = Script(*[failed("upstream_rate_limited", 0.01)] * 2)

    assert 200 == (await waiting.account().request("GET", "/api/auth.test")).status
    with pytest.raises(CallFailed):
        await exhausted.account().request("GET", "/api/auth.test")
    assert [] == exhausted.bodies


@requirement("requests-16")
async def test_a_long_limit_is_not_waited_for() -> None:
    with pytest.raises(CallFailed):
        await Script(failed("upstream_rate_limited", 3600)).account().request("GET", "/api/auth.test")


@requirement("requests-16")
@pytest.mark.parametrize(
    ("connector", "status", "body"),
    [
        ("chat", 200, {"ok": False, "error": "ratelimited"}),
        ("chat", 200, {"ok": False, "error": "missing_scope"}),
        ("mail", 403, {"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}),
        ("mail", 403, {"error": {"code": 403, "errors": [{"reason": "insufficientPermissions"}]}}),
        ("notes", 529, {"object": "error", "code": "service_overload"}),
        ("boards", 401, "unauthorized permission requested"),
        ("tables", 500, {"error": "SERVER_ERROR"}),
    ],
)
async def test_a_response_without_information_is_not_returned(connector: str, status: int, body: Any) -> None:
    with pytest.raises(NotCheckable):
        await Script(replied(status, body)).account(connector).request("GET", "/path")


@requirement("requests-17")
async def test_a_lost_response_is_repeated_with_the_key_and_not_lost_again() -> None:
    script = Script(failed("outcome_unknown", 0.01), failed("outcome_unknown", 0.01), {"data": {"message_ts": "1"}})
    data = await script.account().call_losing_response("post_message", channel="C0000000001", text="Once")

    first, *others = script.headers
    assert {"message_ts": "1"} == data
    assert first
    assert "lose-response" == first["Prefer"]
    assert [{"Idempotency-Key": first["Idempotency-Key"]}] * 2 == others
