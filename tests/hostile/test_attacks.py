"""No single client stalls or exhausts the process: ``make hostile`` tells the figures; these bounds are far above."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.installation import run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.attacks import ATTACKS, Attack
from hostile.bystander import Seen, tries, watch_bystander
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator

LONGEST_MS = 2000
BLOCKED_MS = 50
"""Over what ``/healthz`` takes most of the time, without the time that other programs had the processors."""

GROWN_MIB = 160
"""What one address may hold, what is on its way to become an answer, and what the allocator keeps beside both."""

GROWN_ALONE_MIB = {"large_messages": 16, "unread_answer": 20}
"""What a single request may: for messages 9 were measured at the most, and 15 for an attachment of 12 MiB."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(mail=MailEmulator, notes=NotesEmulator, tables=TablesEmulator) as started:
        yield started


def bystander_delays(attack: Attack, sandbox: Sandbox, folder: Path) -> Seen:
    """What is seen beside *attack* on a process of its own, which no other has made larger or has done anything in."""
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
