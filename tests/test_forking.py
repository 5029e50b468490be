"""Tests in forked processes: each is told once, also one that its process does not survive."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
FILES = {
    "test_one.py": """
import os, subprocess, sys
from pathlib import Path
BEFORE = sys.stderr

def test_prints(tmp_path):
    print("printed by one")
    print("kept from before", file=BEFORE)
    subprocess.run(["echo", "printed by a child"])
    Path("folder").write_text(str(tmp_path))
    assert 1 == 2

def test_passes(): pass
""",
    "test_two.py": """
import os
def test_prints(): print("printed by two"); assert 2 == 3
def test_dies(): os._exit(1)
def test_comes_after(): pass
""",
}


def run(folder: Path, *options: str) -> str:
    """What is told of the tests in *folder*."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "harness.forking", "-n", "2", "-c", os.devnull, *options]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, f"--rootdir={folder}", "."], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (1, "") == (done.returncode, done.stderr)
    return done.stdout


def test_each_process_tells_what_its_tests_did_and_a_death_is_a_failure(tmp_path: Path) -> None:
    told = run(tmp_path, f"--basetemp={tmp_path / 'folders'}")
    printed = ("printed by one\n", "printed by two\n", "printed by a child\n", "kept from before\n")

    assert "3 failed, 1 passed" in told
    assert "died, and with it the tests that were to come in this file" in told
    assert [1, 1, 1, 1] == [told.count(line) for line in printed]
    assert "process-0" == Path((tmp_path / "folder").read_text()).parent.name


def test_after_the_first_failure_all_processes_end(tmp_path: Path) -> None:
    told = run(tmp_path, "-x", "-k", "prints")

    assert "stopping after 1 failures" in told
