"""Every connector with a vendor that fails, hangs, truncates, throttles or is unreachable."""

import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from gateway.tests.kit.test_vendor_error_table import REJECTIONS
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import calls_of, defects, read, write
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

HTML = "<html><body><h1>Bad Gateway</h1></body></html>"
FAILURES = [
    pytest.param({"fault": "status", "status": 500}, id="500"),
    pytest.param({"fault": "status", "status": 502, "body": HTML}, id="502"),
    pytest.param({"fault": "status", "status": 503}, id="503"),
    pytest.param({"fault": "status", "status": 504, "body": HTML}, id="504"),
    pytest.param({"fault": "drop_before"}, id="cut before"),
    pytest.param({"fault": "drop_after"}, id="cut after"),
]
ATTEMPTS = 3
"""The maximum number of attempts of a read request."""

THROTTLED = {"fault": "status", "status": 429, "headers": {"Retry-After": "0"}, "body": {"error": "too many"}}

THROTTLED_BODIES = {
    connector: next(body for status, body in examples if status == 429) for connector, examples in REJECTIONS.items()
}
"""A write is sent again only after a 429 in the vendor's own shape."""

every_connector = pytest.mark.parametrize("connector", CONNECTORS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(**EMULATORS) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def all_connectors(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with run_all_connectors(sandbox, tmp_path_factory.mktemp("faults")) as started:
        yield started


@pytest.fixture(scope="module")
def short_timeout(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway with a response timeout of a third of a second."""
    with run_all_connectors(
        sandbox, tmp_path_factory.mktemp("silence"), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="0.3"
    ) as started:
        yield started


@pytest.fixture(scope="module")
def short_waits(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway whose calls wait for at most a second."""
    waits = {"GATEWAY_QUEUE_SECONDS": "1", "GATEWAY_RUN_SECONDS": "1"}
    with run_all_connectors(sandbox, tmp_path_factory.mktemp("hurried"), **waits) as started:
        yield started


@pytest.fixture(scope="module")
def unreachable(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway with unreachable vendor URLs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        nowhere = {f"GATEWAY_{connector.upper()}_BASE_URL": address for connector in CONNECTORS}
        with run_all_connectors(sandbox, tmp_path_factory.mktemp("refused"), **nowhere) as started:
            yield started


def faulty_read(started: AllConnectors, connector: str, **fault: Any) -> Reply:
    """Return the response to a read through a new connection with an injected *fault*."""
    call, gateway = started.read_calls(connector)[0], started.with_new_connection(connector)
    started.gateway.clear(connector)
    started.gateway.fault(connector, **fault)
    return read(gateway, connector, call)


@requirement("common-7", "boards-31", "notes-54")
@every_connector
def test_throttling_beyond_the_wait_limit_returns_retry_after(short_waits: AllConnectors, connector: str) -> None:
    throttled = {**THROTTLED, "headers": {"Retry-After": "77"}, "body": THROTTLED_BODIES[connector]}
    reply = faulty_read(short_waits, connector, **throttled)

    assert (429, "upstream_rate_limited", "77") == (reply.status, reply.code, reply.headers["retry-after"])
    assert 77 == reply.body["retry_after"]


@every_connector
def test_a_throttled_write_is_retried_and_done_once(all_connectors: AllConnectors, connector: str) -> None:
    name, path = calls_of(connector).WRITE
    all_connectors.gateway.clear(connector)
    all_connectors.prepare(name, "throttled")
    throttled = {**THROTTLED, "body": THROTTLED_BODIES[connector]}
    all_connectors.gateway.fault(connector, method="POST", path=path, times=2, **throttled)
    reply = write(all_connectors.gateway, all_connectors.world, name, "throttled", "throttled")

    assert [] == list(defects(all_connectors.world, name, "throttled", reply))


@requirement("boards-26", "common-69", "notes-46")
@every_connector
def test_a_withdrawn_authorisation_is_reported_until_granted_again(
    all_connectors: AllConnectors, connector: str
) -> None:
    gateway, world, name = all_connectors.gateway, all_connectors.world, calls_of(connector).WRITE[0]
    gateway.clear(connector)
    all_connectors.prepare(name, "revoked")

    def status() -> Any:
        return gateway.operator("GET", f"/v1/connections/{gateway.connections[connector]}").data["status"]

    gateway.revoke(connector)
    rejected = [
        read(gateway, connector, all_connectors.read_calls(connector)[0]),
        write(gateway, world, name, "revoked", "revoked"),
    ]
    revoked_status = status()
    gateway.authorise(connector)
    granted = read(gateway, connector, all_connectors.read_calls(connector)[0])
    written = write(gateway, world, name, "revoked", "revoked")

    assert [(401, "connection_revoked", "Bearer")] * 2 == [
        (reply.status, reply.code, reply.headers["www-authenticate"]) for reply in rejected
    ]
    assert ("revoked", "active", 200) == (revoked_status, status(), granted.status)
    assert [] == list(defects(world, name, "revoked", written))


@requirement("common-60", "common-62")
@every_connector
def test_a_read_only_key_reads_and_cannot_write(all_connectors: AllConnectors, connector: str) -> None:
    all_connectors.gateway.clear(connector)
    reader, name = all_connectors.gateway.with_key("read", calls_per_minute=1000), calls_of(connector).WRITE[0]
    all_connectors.prepare(name, "refused")
    response = read(reader, connector, all_connectors.read_calls(connector)[0])
    all_connectors.gateway.clear(connector)
    rejected = write(reader, all_connectors.world, name, "refused", None)

    assert (200, "write_scope_required") == (response.status, rejected.code)
    assert [] == all_connectors.gateway.journal(connector)


# Reads


@every_connector
@pytest.mark.parametrize("fault", FAILURES)
def test_a_read_succeeds_after_two_failures(
    all_connectors: AllConnectors, connector: str, fault: dict[str, Any]
) -> None:
    reply = faulty_read(all_connectors, connector, **fault, times=2)

    assert 200 == reply.status
    assert len(all_connectors.gateway.journal(connector)) > 2


@requirement("common-51")
@every_connector
@pytest.mark.parametrize("fault", FAILURES)
def test_a_read_that_keeps_failing_returns_upstream_error(
    all_connectors: AllConnectors, connector: str, fault: dict[str, Any]
) -> None:
    reply = faulty_read(all_connectors, connector, **fault, times=50)

    assert (502, "upstream_error") == (reply.status, reply.code)
    assert "html" not in str(reply.body).lower()
    # Some reads send several requests concurrently, and each is tried as often.
    attempts = Counter(path for _, path, _ in all_connectors.gateway.journal(connector))
    assert {ATTEMPTS} == {*attempts.values()}


@every_connector
def test_a_garbage_response_returns_upstream_error(all_connectors: AllConnectors, connector: str) -> None:
    reply = faulty_read(all_connectors, connector, fault="garbage", times=50)

    assert (502, "upstream_error") == (reply.status, reply.code)


@requirement("common-52")
@every_connector
@pytest.mark.parametrize("fault", ["delay", "slow_body"])
def test_a_read_without_a_complete_response_times_out(short_timeout: AllConnectors, connector: str, fault: str) -> None:
    reply = faulty_read(short_timeout, connector, fault=fault, seconds=600)

    assert (504, "upstream_timeout") == (reply.status, reply.code)


@requirement("common-53")
@every_connector
def test_an_unreachable_vendor_returns_upstream_unavailable(
    all_connectors: AllConnectors, unreachable: AllConnectors, connector: str
) -> None:
    reply = read(unreachable.gateway, connector, all_connectors.read_calls(connector)[0])

    assert (503, "upstream_unavailable") == (reply.status, reply.code)


@requirement("common-7")
@every_connector
def test_a_throttled_read_is_retried(all_connectors: AllConnectors, connector: str) -> None:
    reply = faulty_read(all_connectors, connector, **THROTTLED, times=2)

    assert 200 == reply.status
    assert [429, 429] == [status for _, _, status in all_connectors.gateway.journal(connector)][:2]
