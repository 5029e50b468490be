"""Permissions of the files of an embedded database."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import FileLock, check_file, make_private, make_private_folder
from harness.requirement import requirement

OWN = {"gateway.db": 0o600, "gateway.db-wal": 0o600, "gateway.db-shm": 0o600, "gateway.db.lock": 0o600}
READ_BY_ANOTHER_PROCESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM workspaces").fetchone()[0])
connection.close()
"""
ROW = {"workspace_id": "ws_1", "name": "tests", "plan": "free", "created_at": 1.0}


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """Set a umask with which new files are readable by all."""
    before = os.umask(0)
    yield
    os.umask(before)


def read_modes(folder: Path) -> dict[str, int]:
    """Return the permissions of every file in a folder."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


async def modes_while_open(folder: Path) -> dict[str, int]:
    """Return the permissions while a database in the folder is open and written to."""
    file = folder / "gateway.db"
    async with FileLock(file), Database(f"sqlite:///{file}") as database:
        await database.put(insert(tables.workspaces), ROW)
        return read_modes(folder)


@requirement("common-159")
async def test_only_their_owner_can_read_the_files_of_a_database(tmp_path: Path) -> None:
    assert OWN == await modes_while_open(tmp_path)


@requirement("common-159")
async def test_files_of_an_earlier_release_are_restricted_when_they_are_opened(tmp_path: Path) -> None:
    (tmp_path / "gateway.db").touch(0o664)
    (tmp_path / "gateway.db.lock").touch(0o664)

    assert OWN == await modes_while_open(tmp_path)


async def test_stricter_permissions_are_retained(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(0o500)
    (tmp_path / "gateway.db").touch()
    make_private_folder(folder, "gateway.db")

    assert 0o500 == read_modes(tmp_path)["data"]


@requirement("common-159")
def test_a_folder_is_created_for_its_owner_only(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "made" / "here", "gateway.db")

    assert {"here": 0o700} == read_modes(tmp_path / "made")


@requirement("common-159")
def test_only_folders_with_a_database_are_restricted_to_their_owner(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(0o777)
    (tmp_path / "ours" / "gateway.db").touch()
    (tmp_path / "other").mkdir(0o777)
    make_private_folder(tmp_path / "ours", "gateway.db")
    make_private_folder(tmp_path / "other", "gateway.db")

    assert {"ours": 0o700, "other": 0o777} == read_modes(tmp_path)


async def test_checking_an_open_database_preserves_its_locks(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    async with Database(f"sqlite:///{file}") as database:
        await database.put(insert(tables.workspaces), ROW)
        check_file(file)
        make_private(file)
        command = [sys.executable, "-c", READ_BY_ANOTHER_PROCESS, str(file)]
        read = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221  # nothing else runs

        assert ("1\n", True) == (read.stdout, (tmp_path / "gateway.db-wal").exists())
