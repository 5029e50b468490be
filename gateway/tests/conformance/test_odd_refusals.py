"""Third parties refuse in a shape that they do not document: in every room that is told as theirs, never as a fault.

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
"""The codes of errors that are about what a parameter names."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_all_connectors(sandbox, tmp_path_factory.mktemp("refusals")) as started,
    ):
        yield started


def replies(started: AllConnectors, room: str, status: int) -> Iterator[tuple[object, Reply]]:
    """What every operation of *room* answers while the third party refuses everything, with each of the bodies."""
    names: Sequence[str] = writes_of(room)
    readings = started.read_calls(room)
    for number, body in enumerate(BODIES):
        gateway, content = started.with_new_connection(room), f"odd {status} {number}"
        started.gateway.clear(room)
        for name in names:
            started.prepare(name, content)
        gateway.fault(room, fault="status", status=status, body=body, times=10_000)
        yield from ((body, read(gateway, room, reading)) for reading in readings)
        yield from ((body, write(gateway, started.world, name, content, content)) for name in names)
    started.gateway.clear(room)


@requirement("common-204")
@pytest.mark.parametrize("status", [400, 401, 404, 500])
@pytest.mark.parametrize("room", CONNECTORS)
def test_a_refusal_of_any_shape_is_the_applications(started: AllConnectors, room: str, status: int) -> None:
    given = list(replies(started, room, status))

    assert [] == [(body, reply.body) for body, reply in given if misshapen(reply)]
    assert len(given) >= len(BODIES) * len(CONNECTORS[room].operations)


@requirement("common-204")
@pytest.mark.parametrize("room", CONNECTORS)
@pytest.mark.parametrize(
    ("status", "code"), [(400, "upstream_refused"), (401, "connection_revoked"), (403, "upstream_forbidden")]
)
def test_a_refusal_that_says_nothing_is_told_by_its_status(
    started: AllConnectors, room: str, status: int, code: str
) -> None:
    gateway, reading = started.with_new_connection(room), started.read_calls(room)[0]
    gateway.fault(room, fault="status", status=status, body={}, times=10_000)
    reply = read(gateway, room, reading)
    started.gateway.clear(room)

    assert code == reply.code


@requirement("common-221")
@pytest.mark.parametrize("room", CONNECTORS)
def test_what_does_not_exist_is_told_with_the_parameter_that_names_it(started: AllConnectors, room: str) -> None:
    gateway = started.with_new_connection(room)
    replies = [read(gateway, room, reading) for reading in started.read_calls(room)]
    about = [reply for reply in replies if reply.status >= 400 and reply.code in NAMED]

    assert [] == [reply.body for reply in about if SUBJECT_KEYS.isdisjoint(reply.details[0])]
    assert about
