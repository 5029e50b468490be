"""The right to serve: held by one process, released by its death, taken again when it was lost."""

import os
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from connector_gateway.storage.alone import TransactionLock, Unshared, alone_on
from connector_gateway.storage.engines import database_file
from connector_gateway.storage.files import AlreadyServed, Unusable
from harness.requirement import requirement


def sessions_ended(address: str) -> int:
    """End every session of a database; how many there were."""
    engine = create_engine(make_url(address).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    end_all = text(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'"
    )
    with engine.connect() as connection:
        ended = len(connection.execute(end_all).all())
    engine.dispose()
    return ended


@requirement("storage:alone")
async def test_a_second_process_is_refused_in_a_sentence_that_names_the_first(database_url: str) -> None:
    url = make_url(database_url)
    async with alone_on(url):
        with pytest.raises(AlreadyServed, match=f"process {os.getpid()} on .+; stop that one first") as caught:
            await alone_on(url).__aenter__()

    assert Path(url.database or "").name in str(caught.value)


async def test_the_right_is_free_again_afterwards(database_url: str) -> None:
    url = make_url(database_url)
    async with alone_on(url):
        pass

    async with alone_on(url) as again:
        await again.keep()


async def test_two_names_of_one_file_are_one_database(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with alone_on(make_url(f"sqlite:///{tmp_path}/real/gateway.db")):
        with pytest.raises(AlreadyServed):
            await alone_on(make_url(f"sqlite:///{tmp_path}/link/gateway.db")).__aenter__()


async def test_a_folder_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=f"^The database's folder {tmp_path}/nowhere does not exist; "):
        await alone_on(make_url(f"sqlite:///{tmp_path}/nowhere/gateway.db")).__aenter__()


async def test_a_database_in_memory_is_nobody_elses() -> None:
    async with alone_on(make_url("sqlite://")) as first, alone_on(make_url("sqlite://")) as second:
        await first.keep()
        await second.keep()

    assert isinstance(first, Unshared)


def test_a_file_may_be_named_by_its_address() -> None:
    assert Path("/data/gateway.db") == database_file(make_url("sqlite:///file:/data/gateway.db?uri=true"))


async def test_a_right_whose_connection_was_lost_is_taken_again(new_postgres: str) -> None:
    url = make_url(new_postgres)
    async with TransactionLock(url, 5) as first:
        ended = sessions_ended(new_postgres)
        await first.keep()
        with pytest.raises(AlreadyServed):
            await TransactionLock(url, 5).__aenter__()

    assert 1 == ended


async def test_a_right_that_another_process_has_taken_meanwhile_is_lost(new_postgres: str) -> None:
    url = make_url(new_postgres)
    async with TransactionLock(url, 5) as first:
        sessions_ended(new_postgres)
        async with TransactionLock(url, 5):
            with pytest.raises(AlreadyServed):
                await first.keep()
        await first.keep()


async def test_an_earlier_connection_of_ones_own_is_no_other_process(new_postgres: str) -> None:
    async with TransactionLock(make_url(new_postgres), 5) as lock:
        forgotten, lock._connection = lock._connection, None
        await lock.keep()

        assert lock._connection is not None
    assert forgotten is not None
    forgotten.invalidate()


async def test_the_right_lasts_and_keeps_no_old_rows_from_being_tidied_away(new_postgres: str) -> None:
    lasting = text("SELECT current_setting('idle_in_transaction_session_timeout')")
    keeping = text(
        "SELECT backend_xid, backend_xmin FROM pg_stat_activity"
        " WHERE state = 'idle in transaction' AND datname = current_database()"
    )
    async with TransactionLock(make_url(new_postgres), 5) as lock:
        assert lock._connection is not None
        most = lock._connection.execute(lasting).scalar()
        engine = create_engine(new_postgres)
        with engine.connect() as connection:
            kept = [tuple(row) for row in connection.execute(keeping)]
        engine.dispose()

    assert "0" == most
    assert {(None, None)} == set(kept)
