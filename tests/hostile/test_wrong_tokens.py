"""Correct tokens are accepted regardless of the number of wrong ones from the same address.

``python -m hostile wrong_tokens`` measures that they are not slowed down either.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.gateway_process import Installation, run_installation
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.bystander_effects import MEBIBYTE
from hostile.token_attempts import compare, guess_tokens
from workspace_sandbox.notes import NotesEmulator

GROWN_MIB = 32
SETTINGS = {"GATEWAY_METRICS_TOKEN": "Qm7TzX2bLf9Kd4WvR8hNcY5sJg1PeUa6", "GATEWAY_TRUSTED_PROXIES": "127.0.0.1"}


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    with run_emulators(notes=NotesEmulator) as sandbox, run_installation(sandbox, tmp_path, **SETTINGS) as installation:
        yield installation


@requirement("limits-1")
def test_correct_tokens_are_accepted_during_two_hundred_wrong_ones_a_second(installation: Installation) -> None:
    noticed = compare(installation, rounds=1)

    assert {200} == set(noticed.statuses)
    assert {"401", "429"} == set(noticed.wrong)


@requirement("limits-3")
def test_ten_thousand_wrong_tokens_from_a_hundred_addresses_use_little_memory(
    installation: Installation,
) -> None:
    before = size_mib(installation)
    with guess_tokens(installation, tokens=10_000, rate=1000, addresses=100) as wrong:
        workspaces = installation.manage("GET", "/v1/workspaces")
    after = size_mib(installation)

    assert 1 == len(workspaces)
    assert 10_000 == wrong["401"] + wrong["429"]
    assert after - before < GROWN_MIB


def size_mib(installation: Installation) -> float:
    """Return the memory of the process."""
    assert installation.process is not None
    pages = int((Path("/proc") / str(installation.process.pid) / "statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / MEBIBYTE
