"""Request logs of applications."""

import pytest

from workspace_sandbox import EMULATORS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import RecordedRequest
from workspace_sandbox.kit.request_log import RequestLog
from workspace_sandbox.sandbox import Sandbox

SEEN = RecordedRequest(at=1.5, method="GET", path="/seen", status=200)


def test_a_request_log_can_be_iterated_while_it_grows() -> None:
    log: RequestLog[RecordedRequest] = RequestLog(10)
    log.append(SEEN)

    for entry in log:
        log.append(entry)

    assert 2 == len(log)


def test_the_oldest_requests_are_dropped_first() -> None:
    log: RequestLog[RecordedRequest] = RequestLog(2)
    for number in range(3):
        log.append(RecordedRequest(at=number, method="GET", path="/", status=None))

    assert [1, 2] == [entry["at"] for entry in log.to_json()]


@pytest.mark.parametrize("emulator", Sandbox(EMULATORS).emulators.values(), ids=EMULATORS)
def test_every_emulator_uses_request_logs(emulator: Emulator) -> None:
    assert [RequestLog, RequestLog] == [type(emulator.context.request_log), type(emulator.hooks.log)]
