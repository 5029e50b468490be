"""Undocumented error responses of vendors are reported as vendor errors in every connector.

What they do not have is told in the same way everywhere, too.
"""

from collections.abc import Iterator, Sequence

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import SUBJECT_KEYS, all_errors
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import read, write, writes_of
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.call_trials import misshapen
from workspace_sandbox import EMULATORS

BODIES: Sequence[object] = (
    None,
    7,
    [[{}], None],
    {"error": {"message": {"text": []}, "type": 4, "errors": [{"reason": [7]}, None]}, "message": ["x"]},
    {"error": [1, {}], "errors": {"a": 1}, "code": {"x": 1}, "status": "late", "category": []},
    {"ok": "no", "error": 7, "needed": {}, "object": [], "context": "x", "subCategory": {"a": None}, "errors": 3},
)


NAMED = {error.code for error in all_errors() if error.subject_parameters}
"""Codes of errors that concern the object of a parameter."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_all_connectors(sandbox, tmp_path_factory.mktemp("refusals")) as started,
    ):
        yield started


def replies(started: AllConnectors, connector: str, status: int) -> Iterator[tuple[object, Reply]]:
    """Return the responses of every operation of *room* to an error response with each of the bodies."""
    names: Sequence[str] = writes_of(connector)
    readings = started.read_calls(connector)
    for number, body in enumerate(BODIES):
        gateway, content = started.with_new_connection(connector), f"odd {status} {number}"
        started.gateway.clear(connector)
        for name in names:
            started.prepare(name, content)
        gateway.fault(connector, fault="status", status=status, body=body, times=10_000)
        yield from ((body, read(gateway, connector, reading)) for reading in readings)
        yield from ((body, write(gateway, started.world, name, content, content)) for name in names)
    started.gateway.clear(connector)


@requirement("common-204")
@pytest.mark.parametrize("status", [400, 401, 404, 500])
@pytest.mark.parametrize("connector", CONNECTORS)
def test_an_error_of_any_shape_is_reported_as_the_vendors(started: AllConnectors, connector: str, status: int) -> None:
    responses = list(replies(started, connector, status))

    assert [] == [(body, reply.body) for body, reply in responses if misshapen(reply)]
    assert len(responses) >= len(BODIES) * len(CONNECTORS[connector].operations)


@requirement("common-204")
@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize(
    ("status", "code"), [(400, "upstream_refused"), (401, "connection_revoked"), (403, "upstream_forbidden")]
)
def test_an_empty_error_is_reported_by_its_status(
    started: AllConnectors, connector: str, status: int, code: str
) -> None:
    gateway, reading = started.with_new_connection(connector), started.read_calls(connector)[0]
    gateway.fault(connector, fault="status", status=status, body={}, times=10_000)
    reply = read(gateway, connector, reading)
    started.gateway.clear(connector)

    assert code == reply.code


@requirement("common-221")
@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_missing_object_is_reported_with_its_parameter(started: AllConnectors, connector: str) -> None:
    gateway = started.with_new_connection(connector)
    replies = [read(gateway, connector, reading) for reading in started.read_calls(connector)]
    about = [reply for reply in replies if reply.status >= 400 and reply.code in NAMED]

    assert [] == [reply.body for reply in about if SUBJECT_KEYS.isdisjoint(reply.details[0])]
    assert about
