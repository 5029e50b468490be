"""kill -9 in the middle of a write: whoever repeats the call gets one deal and one note, never two."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from connectors.crm.looking import Looking
from connectors.crm.writing import OBJECTS
from harness.installed import Calling, Installation, installed
from harness.requirement import requirement
from harness.waiting import wait_until
from workspace_sandbox.sandbox import Sandbox

SLOW = {"fault": "delay", "seconds": 1.0}
"""Carried out after the process that sent it has died."""

ANSWERED_SLOWLY = {"fault": "slow_body", "seconds": 30}


@dataclass(frozen=True)
class Caller:
    """Calls of a gateway that is killed while the application works on them."""

    installation: Installation
    portal: Looking
    mark: str

    def open(self) -> httpx.Response:
        return self.send("POST", "deals", dealname=self.mark, pipeline="default", dealstage="contractsent")

    def open_for(self) -> httpx.Response:
        deal = {"dealname": self.mark, "pipeline": "default", "dealstage": "contractsent"}
        return self.send("POST", "deals", **deal, contact_id="50912")

    def move(self) -> httpx.Response:
        return self.send("PATCH", "deals/70311", properties={"description": self.mark}, note=self.mark)

    def send(self, method: str, path: str, **body: Any) -> httpx.Response:
        installation = self.installation
        headers = {"Authorization": f"Bearer {installation.key}", "Idempotency-Key": self.mark}
        sent = {"connection_id": installation.connections["crm"]} | body
        url = f"{installation.base_url}/v1/connectors/crm/{path}"
        return installation.http.request(method, url, headers=headers, json=sent)

    def traces(self) -> int:
        """How many deals and notes were made."""
        return self.portal.count("deals", dealname=self.mark) + len(self.portal.notes("70311", self.mark))

    def killed_in(self, write: str, path: str, fault: dict[str, Any]) -> None:
        """Kill the gateway while *fault* holds a request up; it lives again afterwards."""
        stage = self.portal.emulator.stage
        stage.faults.clear()
        control = f"{self.installation.sandbox.address}/_control/crm/faults"
        self.installation.http.post(control, json={"method": "POST", "path": path, **fault}).raise_for_status()
        calling = Calling(getattr(self, write))
        wait_until(lambda: not stage.faults[0].times)
        self.installation.end()
        assert calling.ended() is None
        self.installation.start()

    def insist(self, write: str) -> httpx.Response:
        """The first answer to repeats that is no doubt."""
        answer: httpx.Response = getattr(self, write)()
        while answer.status_code in {409, 502}:
            answer = getattr(self, write)()
        return answer


@pytest.fixture(scope="module")
def installation(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder: Path = tmp_path_factory.mktemp("installation")
    with installed(sandbox, folder, GATEWAY_CRM_SETTLE_SECONDS="3") as started:
        yield started


@pytest.fixture
def caller(installation: Installation, portal: Looking) -> Caller:
    portal.emulator.stage.knobs.update(limits=False, search_lag_seconds=0.5)
    return Caller(installation, portal, f"Crash {uuid4()}")


@requirement("common-94")
@pytest.mark.parametrize("fault", [SLOW, ANSWERED_SLOWLY])
@pytest.mark.parametrize(
    ("write", "path"),
    [("open", f"{OBJECTS}/deals"), ("open_for", f"{OBJECTS}/deals"), ("move", f"{OBJECTS}/notes")],
)
def test_killed_while_a_write_is_under_way_the_repeat_makes_no_second(
    caller: Caller, write: str, path: str, fault: dict[str, Any]
) -> None:
    caller.killed_in(write, path, fault)
    again = caller.insist(write)

    assert 200 == again.status_code, again.text
    assert 1 == caller.traces()


@requirement("crm-30")
def test_killed_while_a_note_is_under_way_the_repeat_tells_that_it_is_logged(caller: Caller) -> None:
    caller.killed_in("move", f"{OBJECTS}/notes", SLOW)
    again = caller.insist("move").json()["data"]

    assert again["note_logged"] is True
    assert 1 == len(caller.portal.notes("70311", caller.mark))
