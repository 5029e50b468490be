"""Credentials that vendors echo reach no response, log line or run."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.identifiers import ConnectionId
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import read, write, writes_of
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

STATUSES = (200, 400, 401, 403, 404, 409, 422, 500)
SHAPES = ("flat", "error object", "errors", "text")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_all_connectors(sandbox, tmp_path_factory.mktemp("secrets")) as started,
    ):
        yield started


def ways(secret: str) -> list[str]:
    """Return *secret* in the encodings that vendors use."""
    basic = b64encode(f"user:{secret}".encode()).decode()
    return [secret, quote(secret, safe=""), basic, b64encode(secret.encode()).decode()]


def echo(credentials: Mapping[str, str], shape: str) -> Any:
    """An error response that echoes the credentials."""
    said = "Refused: " + "; ".join(f"token={way} Bearer {way} ({way})" for s in credentials.values() for way in ways(s))
    fault = {"code": said, "message": said, "reason": said, "type": said, "status": said}
    bodies = {
        "flat": {"ok": False, "object": "error", "error": said, "category": said, **fault},
        "error object": {"ok": False, "error": fault | {"errors": [fault]}},
        "errors": {"message": said, "errors": [fault | {"context": {"ids": [said]}}], "category": "VALIDATION_ERROR"},
        "text": said,
    }
    return bodies[shape]


def replies(started: AllConnectors, connector: str, status: int, shape: str) -> list[Reply]:
    """Return the responses of every operation of *room* while the vendor echoes requests."""
    gateway, names, content = started.with_new_connection(connector), writes_of(connector), f"echo {status} {shape}"
    readings = started.read_calls(connector)
    started.gateway.clear(connector)
    for name in names:
        started.prepare(name, content)
    credentials = started.gateway.sandbox.emulators[connector].credentials()
    started.gateway.fault(connector, fault="status", status=status, body=echo(credentials, shape), times=10_000)
    reads = [read(gateway, connector, reading) for reading in readings]
    done = [write(gateway, started.world, name, content, content) for name in names]
    started.gateway.clear(connector)
    return reads + done


@requirement("common-160")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("connector", CONNECTORS)
def test_credentials_echoed_by_a_vendor_are_not_returned(
    started: AllConnectors, connector: str, status: int, shape: str
) -> None:
    credentials = started.gateway.sandbox.emulators[connector].credentials()
    with capture_logs() as logged:
        responses = replies(started, connector, status, shape)
    runs = [started.gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").body for reply in responses]

    outputs = json.dumps([[reply.body, dict(reply.headers)] for reply in responses] + runs) + repr(logged)
    assert [] == [way for secret in credentials.values() for way in ways(secret) if way in outputs]
    assert not {500} & {reply.status for reply in responses}


@requirement("common-160")
@pytest.mark.parametrize("connector", CONNECTORS)
def test_outputs_of_a_call_contain_no_credentials(started: AllConnectors, connector: str) -> None:
    caller, run = started.with_new_connection(connector), Run("http")
    connection_id = ConnectionId(caller.connections[connector])
    app = started.gateway.app
    connection = started.gateway.run(app.connections.get_many([connection_id]))[connection_id]
    with app._new_call_executor().poll_client(run, connection) as client:
        representations = repr([connection, run, client, client._upstream])

    credentials = started.gateway.sandbox.emulators[connector].credentials()
    assert "UpstreamClient(" in representations
    assert [] == [way for secret in credentials.values() for way in ways(secret) if way in representations]
