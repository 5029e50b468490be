"""What every room must survive: an application that fails, hangs, cuts, throttles or cannot be reached."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from gateway.tests.kit.test_error_table import EXAMPLES
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
"""How often a request that changes nothing is sent."""

THROTTLED = {"fault": "status", "status": 429, "headers": {"Retry-After": "0"}, "body": {"error": "too many"}}

THROTTLED_BODIES = {
    room: next(body for status, body in examples if status == 429) for room, examples in EXAMPLES.items()
}
"""A write is sent again only after a 429 in the vendor's own shape."""

every_room = pytest.mark.parametrize("room", CONNECTORS)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(**EMULATORS) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def all_rooms(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with run_all_connectors(sandbox, tmp_path_factory.mktemp("faults")) as started:
        yield started


@pytest.fixture(scope="module")
def impatient(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway that waits a third of a second for an answer."""
    with run_all_connectors(
        sandbox, tmp_path_factory.mktemp("silence"), GATEWAY_UPSTREAM_TIMEOUT_SECONDS="0.3"
    ) as started:
        yield started


@pytest.fixture(scope="module")
def hurried(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway whose calls wait for a second at most."""
    waits = {"GATEWAY_QUEUE_SECONDS": "1", "GATEWAY_RUN_SECONDS": "1"}
    with run_all_connectors(sandbox, tmp_path_factory.mktemp("hurried"), **waits) as started:
        yield started


@pytest.fixture(scope="module")
def cut_off(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway in front of addresses where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        nowhere = {f"GATEWAY_{room.upper()}_BASE_URL": address for room in CONNECTORS}
        with run_all_connectors(sandbox, tmp_path_factory.mktemp("refused"), **nowhere) as started:
            yield started


def reading(started: AllConnectors, room: str, **fault: Any) -> Reply:
    """What is answered to a read through a new connection, whose requests meet *fault*."""
    call, gateway = started.read_calls(room)[0], started.with_new_connection(room)
    started.gateway.clear(room)
    started.gateway.fault(room, **fault)
    return read(gateway, room, call)


@requirement("common-7", "boards-31", "notes-54")
@every_room
def test_throttling_for_longer_than_a_call_may_wait_is_told_with_its_time(hurried: AllConnectors, room: str) -> None:
    throttled = {**THROTTLED, "headers": {"Retry-After": "77"}, "body": THROTTLED_BODIES[room]}
    reply = reading(hurried, room, **throttled)

    assert (429, "upstream_rate_limited", "77") == (reply.status, reply.code, reply.headers["retry-after"])
    assert 77 == reply.body["retry_after"]


@every_room
def test_a_throttled_write_is_sent_again_and_done_once(all_rooms: AllConnectors, room: str) -> None:
    name, path = calls_of(room).WRITE
    all_rooms.gateway.clear(room)
    all_rooms.prepare(name, "throttled")
    throttled = {**THROTTLED, "body": THROTTLED_BODIES[room]}
    all_rooms.gateway.fault(room, method="POST", path=path, times=2, **throttled)
    reply = write(all_rooms.gateway, all_rooms.world, name, "throttled", "throttled")

    assert [] == list(defects(all_rooms.world, name, "throttled", reply))


@requirement("boards-26", "common-69", "notes-46")
@every_room
def test_a_withdrawn_authorisation_is_told_until_it_is_granted_again(all_rooms: AllConnectors, room: str) -> None:
    gateway, world, name = all_rooms.gateway, all_rooms.world, calls_of(room).WRITE[0]
    gateway.clear(room)
    all_rooms.prepare(name, "revoked")

    def status() -> Any:
        return gateway.operator("GET", f"/v1/connections/{gateway.connections[room]}").data["status"]

    gateway.revoke(room)
    refused = [read(gateway, room, all_rooms.read_calls(room)[0]), write(gateway, world, name, "revoked", "revoked")]
    told = status()
    gateway.authorise(room)
    granted = read(gateway, room, all_rooms.read_calls(room)[0])
    written = write(gateway, world, name, "revoked", "revoked")

    assert [(401, "connection_revoked", "Bearer")] * 2 == [
        (reply.status, reply.code, reply.headers["www-authenticate"]) for reply in refused
    ]
    assert ("revoked", "active", 200) == (told, status(), granted.status)
    assert [] == list(defects(world, name, "revoked", written))


@requirement("common-60", "common-62")
@every_room
def test_a_key_that_may_only_read_reads_and_writes_nothing(all_rooms: AllConnectors, room: str) -> None:
    all_rooms.gateway.clear(room)
    reader, name = all_rooms.gateway.with_key("read", calls_per_minute=1000), calls_of(room).WRITE[0]
    all_rooms.prepare(name, "refused")
    answered = read(reader, room, all_rooms.read_calls(room)[0])
    all_rooms.gateway.clear(room)
    refused = write(reader, all_rooms.world, name, "refused", None)

    assert (200, "write_scope_required") == (answered.status, refused.code)
    assert [] == all_rooms.gateway.journal(room)


# Reads


@every_room
@pytest.mark.parametrize("fault", FAILURES)
def test_a_read_gets_over_two_failures(all_rooms: AllConnectors, room: str, fault: dict[str, Any]) -> None:
    reply = reading(all_rooms, room, **fault, times=2)

    assert 200 == reply.status
    assert len(all_rooms.gateway.journal(room)) > 2


@requirement("common-51")
@every_room
@pytest.mark.parametrize("fault", FAILURES)
def test_a_read_that_keeps_failing_is_told_as_the_applications_failure(
    all_rooms: AllConnectors, room: str, fault: dict[str, Any]
) -> None:
    reply = reading(all_rooms, room, **fault, times=50)

    assert (502, "upstream_error") == (reply.status, reply.code)
    assert "html" not in str(reply.body).lower()
    assert ATTEMPTS == len(all_rooms.gateway.journal(room))


@every_room
def test_a_read_that_is_answered_with_garbage_is_told_as_the_applications_failure(
    all_rooms: AllConnectors, room: str
) -> None:
    reply = reading(all_rooms, room, fault="garbage", times=50)

    assert (502, "upstream_error") == (reply.status, reply.code)


@requirement("common-52")
@every_room
@pytest.mark.parametrize("fault", ["delay", "slow_body"])
def test_a_read_without_a_whole_answer_is_given_up(impatient: AllConnectors, room: str, fault: str) -> None:
    reply = reading(impatient, room, fault=fault, seconds=600)

    assert (504, "upstream_timeout") == (reply.status, reply.code)


@every_room
def test_what_a_fault_held_up_is_in_no_later_journal(impatient: AllConnectors, room: str) -> None:
    reading(impatient, room, fault="delay", seconds=600)
    impatient.gateway.clear(room)

    assert [] == impatient.gateway.journal(room)
    assert 0 == impatient.gateway.sandbox.emulators[room].context.requests_in_progress


@requirement("common-53")
@every_room
def test_an_application_that_cannot_be_reached_is_told_so(
    all_rooms: AllConnectors, cut_off: AllConnectors, room: str
) -> None:
    reply = read(cut_off.gateway, room, all_rooms.read_calls(room)[0])

    assert (503, "upstream_unavailable") == (reply.status, reply.code)


@requirement("common-7")
@every_room
def test_a_throttled_read_is_sent_again(all_rooms: AllConnectors, room: str) -> None:
    reply = reading(all_rooms, room, **THROTTLED, times=2)

    assert 200 == reply.status
    assert [429, 429] == [status for _, _, status in all_rooms.gateway.journal(room)][:2]
