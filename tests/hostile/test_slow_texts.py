"""Texts of 64 KB in every parameter that accepts texts delay no other client, as seen from outside the process."""

import asyncio
import signal
import time
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, TypeVar, cast

import pytest
from httpx import QueryParams

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import GRACE_SECONDS, SETTLE_SECONDS, AllConnectors
from harness.gateway_process import Installation, run_installation
from harness.gateway_server import Gateway, Reply, parse_reply
from harness.operation_calls import VendorView
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.bystander_effects import least_blocked_ms
from hostile.hostile_texts import TextParameter, answers
from simulation.writes import World
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

SIZE = 64 * 1024
BLOCKED_MS = 50
"""Over the median of ``/healthz``, without the time in which other programs used the processors."""

PIECES = (
    *(".", "<", " ", "a", "\\", "\n", "(", "1", '"', ":", "-", "*", "#", "%", "[", "{", "\u00e9", "\U0001f44d"),
    *("</script", "<!--", "<a ", "<b>", "&#1", "oauth_a", "a@b.", "http://", "_a", "a,", "0x", "@."),
)
TEXTS = [piece * (SIZE // len(piece)) for piece in PIECES]
LONG_TIMEOUTS = {"GATEWAY_GRACE_SECONDS": str(GRACE_SECONDS), "GATEWAY_QUEUE_SECONDS": "1"} | {
    f"GATEWAY_{connector.upper()}_SETTLE_SECONDS": str(SETTLE_SECONDS) for connector in CONNECTORS
}

T = TypeVar("T")


class Outsider(Gateway):
    """A caller of a gateway in a separate process."""

    def request(self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
        """Send any request; *path* is percent-encoded."""
        target = f"{path}?{QueryParams(more.pop('params', None))}".rstrip("?")
        # As a string, it would be parsed character by character, which costs more than all the calls.
        sent, aside = {"Authorization": f"Bearer {self.key}"} | dict(headers or {}), {"target": target.encode()}
        response = self.http.request(method, self.base_url, headers=sent, extensions=aside, **more)
        return parse_reply(response.status_code, response.headers.multi_items(), response.content)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine*, which sends requests only to vendors."""
        return asyncio.run(coroutine)


def outside(installation: Installation, sandbox: Sandbox) -> AllConnectors:
    """Return all connectors of *installation*, with a key without limits."""
    (workspace,) = installation.manage("GET", "/v1/workspaces")
    wide = {"workspace_id": workspace["workspace_id"], "scope": "read_write", "calls_per_minute": 1_000_000}
    key = installation.manage("POST", "/v1/keys", **wide)["key"]
    no_request = cast("Any", None)
    own = (workspace["workspace_id"], installation.connections, no_request, installation.http)
    caller = Outsider(installation.base_url, no_request, sandbox, key, *own)
    return AllConnectors(caller, World(VendorView(sandbox)))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, AllConnectors]]:
    with run_emulators(**EMULATORS) as sandbox:
        for emulator in sandbox.emulators.values():
            emulator.context.knobs["limits"] = False
        with run_installation(sandbox, tmp_path_factory.mktemp("slow"), **LONG_TIMEOUTS) as installation:
            yield installation, outside(installation, sandbox)


@requirement("common-166")
@pytest.mark.parametrize("connector", CONNECTORS)
def test_slow_texts_do_not_block_other_calls(started: tuple[Installation, AllConnectors], connector: str) -> None:
    installation, connectors = started
    parameter: list[tuple[TextParameter, str, Reply]] = []
    blocked_ms = least_blocked_ms(
        installation, lambda: parameter.extend(answers(connectors, connector, TEXTS)), BLOCKED_MS
    )

    failed = [(str(placed), text[:10], reply.code) for placed, text, reply in parameter if reply.status >= 500]
    assert [] == failed
    assert blocked_ms < BLOCKED_MS


def test_every_long_block_of_the_process_is_detected(
    started: tuple[Installation, AllConnectors],
) -> None:
    installation, _ = started
    blocked_ms = least_blocked_ms(installation, lambda: stand_still(installation, 10 * BLOCKED_MS), BLOCKED_MS)

    assert blocked_ms > BLOCKED_MS


def stand_still(installation: Installation, milliseconds: float) -> None:
    """Stop the process for *milliseconds*.

    On a busy machine the probe waits for a processor meanwhile, and that wait is not counted: stop it for much longer.
    """
    assert installation.process is not None
    installation.process.send_signal(signal.SIGSTOP)
    time.sleep(milliseconds / 1000)
    installation.process.send_signal(signal.SIGCONT)
