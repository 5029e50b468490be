"""The lock on the file of an embedded database: one process has it, and its death releases it."""

import os
from pathlib import Path

import pytest
from sqlalchemy import make_url

from connector_gateway.storage.sql.engines import database_file
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse, FileLock, UnusableDatabase
from harness.requirement import requirement


@requirement("common-141")
async def test_a_second_process_is_rejected_with_the_name_of_the_first(tmp_path: Path) -> None:
    database = tmp_path / "gateway.db"
    async with FileLock(database):
        with pytest.raises(DatabaseInUse, match=f"gateway.db .* process {os.getpid()} on .+; stop that process first"):
            await FileLock(database).__aenter__()


async def test_the_lock_is_free_after_its_release(tmp_path: Path) -> None:
    lock, again = FileLock(tmp_path / "gateway.db"), FileLock(tmp_path / "gateway.db")
    async with lock:
        pass

    async with again:
        assert again._file is not None


async def test_two_names_of_one_file_share_a_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with FileLock(tmp_path / "real/gateway.db"):
        with pytest.raises(DatabaseInUse):
            await FileLock(tmp_path / "link/gateway.db").__aenter__()


async def test_a_missing_folder_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnusableDatabase, match=f"^The database's folder {tmp_path}/nowhere does not exist; "):
        await FileLock(tmp_path / "nowhere/gateway.db").__aenter__()


def test_a_file_can_be_named_by_its_url() -> None:
    assert Path("/data/gateway.db") == database_file(make_url("sqlite:///file:/data/gateway.db?uri=true"))
