"""Early rejections: credentials that are invalid in headers, and wrong tokens."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.core.access.wrong_token_throttle import (
    BURST,
    DELAY_SECONDS,
    MAX_DELAYED_PER_ADDRESS,
    TokenThrottle,
)
from harness.clocks import NOON
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.mcp_clients import PATH as AGENTS
from harness.mcp_clients import posted
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

SECRET = "ntn_sesame_open_sesame"


def connect(gateway: Gateway, credentials: Any) -> Reply:
    """Create a connection with *credentials*, and return the reply."""
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": credentials, "verify": False}
    return gateway.operator("POST", "/v1/connections", json=body)


@requirement("common-161")
@pytest.mark.parametrize(
    "token",
    [
        "",
        f"{SECRET}\r\nX-Other: 1",
        f"{SECRET}\x00",
        f"{SECRET}\n",
        f" {SECRET}",
        f"{SECRET}\x7f",
        f"{SECRET}\x85",
        f"{SECRET}\u2028",
    ],
    ids=["empty", "two lines", "null", "line end", "space", "delete", "next line", "line separator"],
)
def test_credentials_invalid_in_headers_are_rejected_on_creation(gateway: Gateway, token: str) -> None:
    reply = connect(gateway, {"token": token})

    assert (422, ["credentials.token"]) == (reply.status, [detail["parameter"] for detail in reply.details])
    assert SECRET not in str(reply.body)


@requirement("common-161")
def test_replacement_credentials_invalid_in_headers_are_rejected(gateway: Gateway) -> None:
    connection_id = connect(gateway, {"token": SECRET}).data["connection_id"]
    reply = gateway.operator("PATCH", f"/v1/connections/{connection_id}", json={"credentials": {"token": "two\nlines"}})

    assert (422, ["credentials.token"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("common-161")
@pytest.mark.parametrize("credentials", [SECRET, [SECRET], {"token": [SECRET]}, {"token": {"token": SECRET}}, 5])
def test_credentials_of_another_type_are_not_echoed(gateway: Gateway, credentials: Any) -> None:
    reply = connect(gateway, credentials)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert SECRET not in str(reply.body)


METRICS = "m" * 32
PROTECTED_ROUTES = [
    ("GET", "/v1/workspaces"),
    ("GET", "/v1/connections"),
    ("GET", "/v1/connectors/notes/databases"),
    ("GET", "/v1/nothing"),
    ("POST", AGENTS),
    ("GET", "/metrics"),
]
_numbers = count()


class StoppedClock:
    """A clock that does not advance, so that no burst refills; sleepers wait until the clock is released."""

    def __init__(self) -> None:
        self.sleeps: list[float] = []
        self.released = Future[None]()
        self.released.set_result(None)

    def now(self) -> float:
        return NOON

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        await asyncio.wrap_future(self.released)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    clock = StoppedClock()
    monkeypatch.setattr("connector_gateway.app.TokenThrottle", lambda _: TokenThrottle(clock))
    return clock


@pytest.fixture
def throttled_gateway(clock: StoppedClock, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that has received no wrong token."""
    proxied: dict[str, Any] = {"GATEWAY_METRICS_TOKEN": METRICS, "GATEWAY_TRUSTED_PROXIES": "127.0.0.1"}
    with run_emulators(notes=NotesEmulator) as sandbox, run_gateway(sandbox, tmp_path, **proxied) as gateway:
        yield gateway


def send_wrong_token(gateway: Gateway, method: str = "GET", path: str = "/v1/workspaces", **headers: str) -> Reply:
    """Send a wrong token, and return the reply."""
    return gateway.request(method, path, headers={"Authorization": f"Bearer guess-{next(_numbers)}"} | headers)


@requirement("limits-2")
@pytest.mark.parametrize(("method", "path"), PROTECTED_ROUTES)
def test_wrong_tokens_are_delayed_on_every_route(
    throttled_gateway: Gateway, clock: StoppedClock, method: str, path: str
) -> None:
    for _ in range(BURST):
        send_wrong_token(throttled_gateway)

    assert [] == clock.sleeps
    send_wrong_token(throttled_gateway, method, path)
    assert [DELAY_SECONDS] == clock.sleeps


@requirement("limits-1")
def test_correct_tokens_are_accepted_while_wrong_ones_are_delayed(
    throttled_gateway: Gateway, clock: StoppedClock
) -> None:
    for _ in range(BURST):
        send_wrong_token(throttled_gateway)
    clock.released = Future()
    with ThreadPoolExecutor(MAX_DELAYED_PER_ADDRESS + 1) as pool:
        wrong = [pool.submit(send_wrong_token, throttled_gateway) for _ in range(MAX_DELAYED_PER_ADDRESS + 1)]
        rejected = next(as_completed(wrong)).result()
        correct = [
            throttled_gateway.operator("GET", "/v1/workspaces"),
            throttled_gateway.request("GET", "/v1/runs"),
            throttled_gateway.request("GET", "/v1/connections"),
            throttled_gateway.request("POST", AGENTS, **posted("tools/list")),
            throttled_gateway.request("GET", "/metrics", headers={"Authorization": f"Bearer {METRICS}"}),
        ]
        clock.released.set_result(None)

    assert [200] * len(correct) == [reply.status for reply in correct]
    assert [401] * MAX_DELAYED_PER_ADDRESS + [429] == sorted(one.result().status for one in wrong)
    assert ("rate_limited", "1") == (rejected.code, rejected.headers["retry-after"])
    assert rejected.body["error"]["remedy"].startswith("Send a correct token, which is accepted immediately")


@requirement("limits-5")
@pytest.mark.parametrize(
    ("other", "delayed"),
    [
        ("203.0.113.9", False),
        ("2001:db8:0:1::1", False),
        ("198.51.100.7", True),
        ("203.0.113.9, 198.51.100.7", True),
        ("::ffff:198.51.100.7", True),
    ],
)
def test_wrong_tokens_are_counted_per_forwarded_address(
    throttled_gateway: Gateway, clock: StoppedClock, other: str, *, delayed: bool
) -> None:
    for number in range(BURST):
        send_wrong_token(throttled_gateway, **{"X-Forwarded-For": f"203.0.113.{number}, 198.51.100.7"})
    send_wrong_token(throttled_gateway, **{"X-Forwarded-For": other})

    assert [DELAY_SECONDS] * delayed == clock.sleeps


@requirement("limits-4")
def test_an_ipv6_network_counts_as_one_address(throttled_gateway: Gateway, clock: StoppedClock) -> None:
    for number in range(BURST):
        send_wrong_token(throttled_gateway, **{"X-Forwarded-For": f"2001:db8:0:1::{number:x}"})
    send_wrong_token(throttled_gateway, **{"X-Forwarded-For": "2001:db8:0:1:ffff::1"})

    assert [DELAY_SECONDS] == clock.sleeps
