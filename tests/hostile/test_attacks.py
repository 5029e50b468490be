"""No single client stalls or exhausts the process: ``make hostile`` prints the figures; these bounds are far above."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.gateway_process import run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.attacks import ATTACKS, Attack
from hostile.bystander_effects import Seen, tries, watch_bystander
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

LONGEST_MS = 2000
BLOCKED_MS = 50
"""Over the median of ``/healthz``, without the time in which other programs used the processors."""

GROWN_MIB = 160
"""The bytes reserved for one address, for responses in progress, and by the allocator in addition."""

GROWN_ALONE_MIB = {"large_messages": 16, "unread_answer": 20}
"""The limit for a single request: for messages at most 9 were measured, and 15 for an attachment of 12 MiB."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(mail=MailEmulator, notes=NotesEmulator, tables=TablesEmulator) as started:
        yield started


def bystander_delays(attack: Attack, sandbox: Sandbox, folder: Path) -> Seen:
    """Measure *attack* on a new process, which no other attack has affected."""
    with run_installation(sandbox, folder, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20") as installation:
        with watch_bystander(installation) as seen:
            attack(installation)
        return seen


@requirement("common-181")
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_attacks_barely_delay_other_clients(sandbox: Sandbox, tmp_path: Path, attack: Attack) -> None:
    seen = tries(lambda: bystander_delays(attack, sandbox, tmp_path), BLOCKED_MS)

    assert min(one.blocked_ms for one in seen) < BLOCKED_MS
    assert max(one.longest_ms for one in seen) < LONGEST_MS
    assert max(one.grown_mib for one in seen) < GROWN_ALONE_MIB.get(attack.__name__, GROWN_MIB)
