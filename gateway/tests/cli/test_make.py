"""``make`` with an unusable Python, and ``make clean``."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[3] / "Makefile"
OLD = """#!/bin/sh
exec {python} -c 'import sys; sys.version_info = (3, 9, 2); exec(sys.argv[1])' "$2"
"""
WITHOUT_VENV = """#!/bin/sh
[ "$1" = -c ] && exec {python} "$@"
mkdir -p .venv/bin && touch .venv/bin/python
exit 1
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The part of a clone that make reads before it installs."""
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "run.txt").touch()
    for folder in ("gateway", "sandbox", "client"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pyproject.toml").touch()
    return tmp_path


def python(folder: Path, script: str) -> str:
    path = folder / "python"
    path.write_text(script.format(python=sys.executable))
    path.chmod(0o700)
    return str(path)


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_a_too_old_python_is_reported_before_any_change(clone: Path) -> None:
    old = python(clone, OLD)

    ended = make(clone, "run", f"PYTHON={old}")

    assert 2 == ended.returncode
    assert (
        f"Python 3.11 or newer is required, but {old} is missing or older. Name another one: make run" in ended.stderr
    )
    assert not (clone / ".venv").exists()


def test_a_missing_python_is_reported(clone: Path) -> None:
    ended = make(clone, "run", "PYTHON=python-9")

    assert 2 == ended.returncode
    assert "Python 3.11 or newer is required, but python-9 is missing or older." in ended.stderr


def test_a_retry_with_a_newer_python_creates_the_environment(clone: Path) -> None:
    make(clone, ".venv/bin/python", f"PYTHON={python(clone, OLD)}")

    ended = make(clone, ".venv/bin/python", f"PYTHON={sys.executable}")

    assert (0, "") == (ended.returncode, ended.stderr)
    assert (clone / ".venv" / "bin" / "python").exists()


def test_a_failed_environment_is_removed(clone: Path) -> None:
    ended = make(clone, ".venv/bin/python", f"PYTHON={python(clone, WITHOUT_VENV)}")

    assert 2 == ended.returncode
    assert "The virtual environment could not be created; the reason is above." in ended.stderr
    assert not (clone / ".venv").exists()


def test_clean_leaves_cloned_files_and_serve_data(clone: Path) -> None:
    remaining = {clone / name for name in ("gateway/src/package/module.py", ".env", "gateway.db")}
    created = ["gateway/src/package/__pycache__/module.pyc", "gateway/src/package.egg-info/PKG-INFO"]
    created += [
        "tests/__pycache__/a.pyc",
        ".venv/bin/python",
        ".data/dev.json",
        "dist/sbom.json",
        ".coverage.1",
        ".mypy_cache/x",
        ".ruff_cache/x",
    ]
    cloned = {path for path in clone.rglob("*") if path.is_file()}
    for path in (*remaining, *(clone / name for name in created)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    make(clone, "clean")

    assert cloned | remaining == {path for path in clone.rglob("*") if path.is_file()}
    assert not (clone / "tests" / "__pycache__").exists()
