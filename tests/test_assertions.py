"""The tool that keeps assertions in one order."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parent.parent / "tools" / "assertions.py"
WRONG = """
assert reply.status == 200, reply.body
assert (reply.code) == (
    "über"  # why
    "all"
)
assert [OK, -1] == codes
assert first == second
assert {"a": 1}["a"] == LIMIT and codes
"""
RIGHT = """
assert 200 == reply.status, reply.body
assert (
    "über"  # why
    "all"
) == (reply.code)
assert [OK, -1] == codes
assert first == second
assert {"a": 1}["a"] == LIMIT and codes
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_expected_is_put_first(tmp_path: Path) -> None:
    tried = tmp_path / "test_tried.py"
    tried.write_text(WRONG, encoding="utf-8")

    assert 0 == run(tmp_path).returncode
    assert RIGHT == tried.read_text(encoding="utf-8")


def test_a_check_changes_nothing_and_names_the_file(tmp_path: Path) -> None:
    tried = tmp_path / "test_tried.py"
    tried.write_text(WRONG, encoding="utf-8")
    checked = run("--check", tmp_path)

    assert 1 == checked.returncode
    assert str(tried) in checked.stderr
    assert WRONG == tried.read_text(encoding="utf-8")


def test_a_check_is_content_with_the_right_order(tmp_path: Path) -> None:
    (tmp_path / "test_tried.py").write_text(RIGHT, encoding="utf-8")

    assert 0 == run("--check", tmp_path).returncode
