"""A few hundred histories with all faults on, for one process and for two.

They are not collected by themselves: ``pytest tests/simulation/seeds.py`` runs them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
HISTORIES = 150


@pytest.mark.parametrize("processes", [1, 2])
def test_the_promise_about_writes_holds_whatever_fails(processes: int) -> None:
    command = [sys.executable, "-m", "simulation", "--seeds", str(HISTORIES), "--processes", str(processes)]
    ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout
