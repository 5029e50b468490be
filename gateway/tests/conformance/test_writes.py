"""Every write is performed once, despite lost responses, retries and concurrent calls."""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import defects, write, writes_of
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.outcome_cases import STEPS
from simulation.vendors import READS
from simulation.writes import KINDS, OVER
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

HTML = "<html><body><h1>Bad Gateway</h1></body></html>"
EDGE = {"fault": "status", "status": 502, "body": HTML}
WRITES = [name for connector in CONNECTORS for name in writes_of(connector)]
TWINS = [step for step in STEPS if KINDS[step[0]].twins and "long" not in step[0] and "checklists" not in step[2]]
PATIENCE = {"GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "0.3"}
TOGETHER = 20
NUMBERS = count(1)

every_write = pytest.mark.parametrize("name", WRITES)
every_step = pytest.mark.parametrize("step", STEPS, ids=[" ".join(step) for step in STEPS])
every_creation = pytest.mark.parametrize("step", TWINS, ids=[" ".join(step) for step in TWINS])


def settle_settings(seconds: float) -> dict[str, str]:
    """Return the settings with this settling time after a request was sent."""
    return {f"GATEWAY_{connector.upper()}_SETTLE_SECONDS": str(seconds) for connector in CONNECTORS}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(**EMULATORS) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("writes")


@pytest.fixture(scope="module")
def started(sandbox: Sandbox, folder: Path) -> Iterator[AllConnectors]:
    with run_all_connectors(sandbox, folder, alone=False) as started:
        yield started


@pytest.fixture(scope="module")
def other_process(sandbox: Sandbox, folder: Path, started: AllConnectors) -> Iterator[AllConnectors]:
    """A second gateway on the same database, with empty caches."""
    with run_all_connectors(sandbox, folder, alone=False) as other:
        other.gateway = other.gateway.for_caller_of(started.gateway)
        yield other


@pytest.fixture(scope="module")
def short_timeout(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    """A gateway whose response timeout is half the settling time."""
    with run_all_connectors(
        sandbox, tmp_path_factory.mktemp("impatient"), **PATIENCE, **settle_settings(0.6)
    ) as started:
        yield started


@pytest.fixture(scope="module")
def unsettled(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with run_all_connectors(
        sandbox, tmp_path_factory.mktemp("unsettled"), **PATIENCE, **settle_settings(60)
    ) as started:
        yield started


class Writing:
    """A write with unique content, and a fault in one of its requests."""

    def __init__(self, started: AllConnectors, step: tuple[str, str, str] | str, content: str, **fault: Any) -> None:
        self.name, self.method, self.path = (step, "", "") if isinstance(step, str) else step
        self.started, self.connector = started, KINDS[self.name].connector
        self.content = f"{content} {next(NUMBERS)}"
        started.gateway.clear(self.connector)
        started.prepare(self.name, self.content)
        if fault:
            started.gateway.fault(self.connector, method=self.method, path=self.path, times=1, **fault)

    def call(self, key: str = "", content: str = "", started: AllConnectors | None = None) -> Reply:
        """Send the write with a key. The default key is its content."""
        gateway = (started or self.started).gateway
        return write(gateway, self.started.world, self.name, content or self.content, f"{key} {self.content}")

    def call_without_key(self) -> Reply:
        return write(self.started.gateway, self.started.world, self.name, self.content, None)

    def defects_after(self, *replies: Reply) -> list[str]:
        """Return the errors in the vendor's objects after these replies to one write."""
        return [one for reply in replies for one in defects(self.started.world, self.name, self.content, reply)]

    def sent(self) -> list[str]:
        """Return the requests with changes since the journal was cleared."""
        journal = [f"{method} {path}" for method, path, _ in self.started.gateway.journal(self.connector)]
        return [request for request in journal if not READS[self.connector].fullmatch(request)]

    @staticmethod
    def outcome(reply: Reply) -> str:
        """The code of an error, or ``ok``."""
        return "ok" if reply.status == 200 else reply.code

    def count_objects(self) -> int:
        return len([one for one in KINDS[self.name].created(self.started.world, self.content) if one.part == 0])


@requirement("common-79", "common-97", "notes-23", "tables-15")
@every_step
@pytest.mark.parametrize("fault", ["drop_after", "garbage"])
@pytest.mark.parametrize("keyed", [True, False])
def test_a_write_with_a_lost_response_is_found(
    started: AllConnectors, step: tuple[str, str, str], fault: str, *, keyed: bool
) -> None:
    writing = Writing(started, step, "lost", fault=fault)
    first = writing.call() if keyed else writing.call_without_key()
    repeated = writing.call() if keyed else first

    assert (200, 200) == (first.status, repeated.status), first.body
    assert first.data == repeated.data
    assert [] == writing.defects_after(first)


@requirement("common-92", "common-93")
@every_step
@pytest.mark.parametrize("fault", [{"fault": "drop_before"}, EDGE], ids=["cut", "edge"])
def test_a_lost_write_is_done_once_by_a_retry(
    started: AllConnectors, step: tuple[str, str, str], fault: Mapping[str, Any]
) -> None:
    writing = Writing(started, step, "not done", **fault)
    first, repeated = writing.call(), writing.call()

    assert writing.outcome(first) in {"ok", "outcome_unknown"}
    assert 200 == repeated.status
    assert [] == writing.defects_after(repeated)


@requirement("common-81")
@every_step
@pytest.mark.parametrize("fault", [EDGE, {"fault": "delay", "seconds": 60}], ids=["edge", "silence"])
def test_a_write_that_might_still_complete_is_not_sent_again(
    unsettled: AllConnectors, step: tuple[str, str, str], fault: Mapping[str, Any]
) -> None:
    writing = Writing(unsettled, step, "may come", **fault)
    first = writing.call()
    unsettled.gateway.sandbox.emulators[writing.connector].context.request_log.clear()
    repeated = writing.call()

    assert ["outcome_unknown"] * 2 == [first.code, repeated.code]
    assert 50 < repeated.body["retry_after"] <= 60
    assert [] == writing.sent()


@requirement("common-93", "crm-41")
@every_step
def test_a_write_slower_than_the_timeout_is_done_once(short_timeout: AllConnectors, step: tuple[str, str, str]) -> None:
    writing = Writing(short_timeout, step, "slow", fault="delay", seconds=0.4)
    first = writing.call()
    short_timeout.gateway.clear(writing.connector)
    repeated = writing.call()

    assert writing.outcome(first) in {"ok", "outcome_unknown"}
    assert [] == writing.defects_after(repeated)


@requirement("boards-15", "common-87", "crm-38", "notes-19")
@every_step
@pytest.mark.parametrize("fault", [None, "drop_before"])
def test_a_reused_key_returns_the_result_of_its_first_parameters(
    started: AllConnectors, step: tuple[str, str, str], fault: str | None
) -> None:
    writing = Writing(started, step, "first", **({"fault": fault} if fault else {}))
    first, repeated = writing.call(), writing.call(content=writing.content + OVER)

    assert 200 == repeated.status
    assert fault or first.data == repeated.data
    assert [] == writing.defects_after(repeated)


@requirement("chat-9", "common-85", "common-90")
@every_write
def test_concurrent_calls_with_one_key_write_once(started: AllConnectors, name: str) -> None:
    writing = Writing(started, name, "together")
    replies = started.gateway.together(*[writing.call] * TOGETHER)

    assert [replies[0].data] * TOGETHER == [reply.data for reply in replies]
    assert TOGETHER - 1 == [reply.headers.get("idempotent-replayed") for reply in replies].count("true")
    assert [] == writing.defects_after(replies[0])


@requirement("common-98", "crm-40")
@every_creation
@pytest.mark.parametrize("remembers", [True, False])
def test_equal_writes_with_two_keys_are_two_objects(
    started: AllConnectors, other_process: AllConnectors, step: tuple[str, str, str], *, remembers: bool
) -> None:
    writing = Writing(started, step, "twins", fault="drop_before")
    in_doubt, other = writing.call("one"), writing.call("another")
    repeated = writing.call("one", started=started if remembers else other_process)

    assert "outcome_unknown" == in_doubt.code
    assert other.data != repeated.data
    assert 2 == writing.count_objects()
