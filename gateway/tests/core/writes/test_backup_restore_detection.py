"""Databases restored from a backup: the lost period, and writes that still happen once."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from connector_gateway.core.writes.backup_restore_detection import BackupRestoreDetector, LostPeriod
from connector_gateway.core.writes.idempotency import WINDOW_SECONDS
from connector_gateway.core.writes.write_executor import CHECK_AFTER_RESTORE
from connector_gateway.kit.errors import GatewayError, InvalidParameters, OutcomeUnknown
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.backup_restore_witness import Epoch, FileWitness
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase
from harness.clocks import ManualClock
from harness.core_fixture import (
    SETTLE_SECONDS,
    CoreFixture,
    data,
    in_doubt,
    label_thing,
    make_thing,
    put_blindly,
    put_pair,
    run_core,
)
from harness.databases import postgres_on
from harness.postgres import drop_database, execute, new_database
from harness.requirement import requirement

OTHERS = "datname = current_database() AND pid <> pg_backend_pid()"
HOUR = 3600.0


@pytest.fixture(params=["sqlite", "postgresql"])
def copy_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """A database and a method to copy it for serving."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/gateway.db", lambda: _copied_file(tmp_path)
        return
    server = request.getfixturevalue("postgres_server")
    url = postgres_on(server)
    copies: list[str] = []

    def copy() -> str:
        execute(url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}")
        copies.append(new_database(server, like=url.rpartition("/")[2].partition("?")[0]))
        return copies[-1]

    yield url, copy
    for one in (url, *copies):
        drop_database(server, one)


def _copied_file(folder: Path) -> str:
    shutil.copy(folder / "gateway.db", folder / "backup.db")
    return f"sqlite:///{folder}/backup.db"


class BackedUpGateway:
    """A gateway whose database is saved, continues, and is restored."""

    def __init__(self, url: str, copy: Callable[[], str], clock: ManualClock) -> None:
        self._url, self._copy, self._clock = url, copy, clock
        self.core: CoreFixture | None = None

    async def save(self) -> None:
        """Back up a gateway without calls."""
        async with run_core(self._url, self._clock) as core:
            self.core = core
        self._backup, self.backup_at = self._copy(), self._clock.at
        self._clock.at += 60

    @asynccontextmanager
    async def lost(self) -> AsyncIterator[CoreFixture]:
        """Serve on the database that is lost afterwards."""
        async with run_core(self._url, self._clock, before=self.core) as core:
            yield core
        self._clock.at += 60

    @asynccontextmanager
    async def restored(self, *, settled: bool = True) -> AsyncIterator[CoreFixture]:
        """Serve on the backup, declared as restored. If *settled*, some time later."""
        async with run_core(self._backup, self._clock, before=self.core) as core:
            await core.app.restores.declare(self.backup_at)
            await core.app.restores.count_epoch()
            self._clock.at += SETTLE_SECONDS if settled else 0.0
            yield core


@pytest.fixture
async def backed_up_gateway(copy_database: tuple[str, Callable[[], str]], clock: ManualClock) -> BackedUpGateway:
    prepared = BackedUpGateway(*copy_database, clock)
    await prepared.save()
    return prepared


async def catch_error(core: CoreFixture, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(**more)
    return error.value


@requirement("keys-11")
@pytest.mark.parametrize("operation", [make_thing, put_pair])
async def test_a_write_missing_from_the_backup_is_not_repeated(
    backed_up_gateway: BackedUpGateway, operation: Any
) -> None:
    async with backed_up_gateway.lost() as core:
        first = await core.put(operation=operation)
        things = list(core.shelf.things)
    async with backed_up_gateway.restored() as core:
        retry = await core.put(operation=operation)
        later = await core.put(operation=operation)

    assert data(first) == data(retry) == data(later)
    assert (False, True) == (retry.replayed, later.replayed)
    assert things == core.shelf.things


@requirement("keys-11")
async def test_a_half_finished_write_is_completed(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.lost() as core:
        core.shelf.troubles += [None, in_doubt("cut")]
        await catch_error(core, operation=put_pair)
    async with backed_up_gateway.restored() as core:
        await core.put(operation=put_pair)

    assert ["cup", "cup too"] == core.shelf.things


@requirement("keys-12")
async def test_a_new_write_is_sent_after_the_settle_time(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.restored(settled=False) as core:
        early = await catch_error(core)
        early_things = list(core.shelf.things)
        backed_up_gateway._clock.at += SETTLE_SECONDS
        await core.put()

    assert isinstance(early, OutcomeUnknown)
    assert early.retry_after is not None
    assert ([], ["cup"]) == (early_things, core.shelf.things)


@requirement("keys-12")
async def test_an_indistinguishable_write_is_unknown_and_can_be_sent_without_a_key(
    backed_up_gateway: BackedUpGateway,
) -> None:
    async with backed_up_gateway.lost() as core:
        await core.put(operation=make_thing)
        await core.put(operation=make_thing, key="key-2")
    async with backed_up_gateway.restored() as core:
        error = await catch_error(core, operation=make_thing)
        things = list(core.shelf.things)
        await core.put(operation=make_thing, key=None)

    assert isinstance(error, OutcomeUnknown)
    assert (CHECK_AFTER_RESTORE, None) == (error.remedy, error.retry_after)
    assert [{"candidate": "thing 1"}, {"candidate": "thing 2"}] == error.details
    assert (["cup"] * 2, ["cup"] * 3) == (things, core.shelf.things)


@requirement("keys-11")
async def test_an_object_older_than_the_backup_is_not_taken_for_a_new_one(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.restored() as core:
        core.shelf.things.append("cup")
        core.shelf.created_at["thing 1"] = backed_up_gateway.backup_at - HOUR
        retry = await core.put(operation=make_thing)

    assert {"thing_id": "thing 2"} == data(retry)


@requirement("keys-11")
async def test_finished_keys_in_the_backup_are_replayed_without_a_search(
    copy_database: tuple[str, Callable[[], str]], clock: ManualClock
) -> None:
    backed_up_gateway = BackedUpGateway(*copy_database, clock)
    async with run_core(backed_up_gateway._url, clock) as core:
        first = await core.put()
    backed_up_gateway.core, backed_up_gateway._backup, backed_up_gateway.backup_at = (
        core,
        backed_up_gateway._copy(),
        clock.at,
    )
    async with backed_up_gateway.restored(settled=False) as core:
        retry = await core.put()

    assert data(first) == data(retry)
    assert [] == core.shelf.searches


@requirement("keys-11", "writes-6")
async def test_a_change_in_doubt_in_the_backup_is_not_resent(
    copy_database: tuple[str, Callable[[], str]], clock: ManualClock
) -> None:
    backed_up_gateway = BackedUpGateway(*copy_database, clock)
    backed_up_gateway.backup_at = clock.at - 1
    async with run_core(backed_up_gateway._url, clock) as core:
        core.shelf.troubles.append(in_doubt("interrupted"))
        await catch_error(core, name="first", operation=label_thing)
    # The operator states a time slightly before the last commit in the backup.
    backed_up_gateway.core, backed_up_gateway._backup = core, backed_up_gateway._copy()
    async with backed_up_gateway.lost() as core:
        await core.put("second", None, operation=label_thing)
    async with backed_up_gateway.restored() as core:
        error = await catch_error(core, name="first", operation=label_thing)

    assert isinstance(error, OutcomeUnknown)
    assert [{"restored": True}] == error.details
    assert {"thing 1": "second"} == core.shelf.labels


@requirement("keys-11")
async def test_the_history_reports_no_lost_response_for_a_new_key(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.restored() as core:
        envelope = await core.put(operation=make_thing)
        run = await core.app.runs.show(envelope.run_id, None)

    assert (["cup"], None) == (core.shelf.things, run["details"])


@requirement("keys-11")
async def test_a_write_without_a_key_is_not_searched_after_a_restore(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.restored(settled=False) as core:
        await core.put(key=None)

    assert ([], ["cup"]) == (core.shelf.searches, core.shelf.things)


@requirement("keys-11")
async def test_keys_are_trusted_again_after_a_day(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.restored() as core:
        backed_up_gateway._clock.at += WINDOW_SECONDS
        await core.app.restores.count_epoch()
        await core.put(operation=put_blindly)

    assert core.app.restores.lost is None
    assert ["cup"] == core.shelf.things


@requirement("keys-13")
async def test_only_one_day_of_an_old_backup_is_searched(backed_up_gateway: BackedUpGateway) -> None:
    backed_up_gateway._clock.at += 3 * WINDOW_SECONDS
    async with backed_up_gateway.restored(settled=False) as core:
        pass

    restored_at = backed_up_gateway._clock.at
    assert LostPeriod(restored_at - WINDOW_SECONDS, restored_at) == core.app.restores.lost


@requirement("keys-13")
async def test_a_backup_time_in_the_future_is_rejected(backed_up_gateway: BackedUpGateway) -> None:
    async with backed_up_gateway.lost() as core:
        with pytest.raises(InvalidParameters) as raised:
            await core.app.restores.declare(backed_up_gateway._clock.at + 1)

    assert "backup_at" == raised.value.details[0]["parameter"]
    assert core.app.restores.lost is None


@requirement("keys-13")
async def test_a_backup_is_no_newer_than_its_last_heartbeat(backed_up_gateway: BackedUpGateway) -> None:
    async with Database(backed_up_gateway._backup, clock=backed_up_gateway._clock.now) as database:
        declared = await BackupRestoreDetector(database, [], _ignore_gap).declare(backed_up_gateway._clock.at)

    assert backed_up_gateway.backup_at == declared["backup_at"] < backed_up_gateway._clock.at


async def _ignore_gap(_: LostPeriod) -> None:
    """Do nothing, as no connection is observed."""


# Detection without a declaration


class ServedDatabase:
    """A served database with a witness file."""

    def __init__(self, clock: ManualClock, witness: FileWitness) -> None:
        self.clock, self.witness = clock, witness
        self.gaps: list[LostPeriod] = []

    async def _note(self, lost: LostPeriod) -> None:
        self.gaps.append(lost)

    @asynccontextmanager
    async def on(self, url: str) -> AsyncIterator[BackupRestoreDetector]:
        async with Database(url, clock=self.clock.now) as database:
            async with BackupRestoreDetector(database, [self.witness], self._note) as restores:
                yield restores
            self.clock.at += HOUR


@pytest.fixture
def served_database(clock: ManualClock, tmp_path: Path) -> ServedDatabase:
    return ServedDatabase(clock, FileWitness(tmp_path / "beside.db"))


@requirement("keys-14")
async def test_a_database_older_than_its_witness_is_restored(
    backed_up_gateway: BackedUpGateway, served_database: ServedDatabase
) -> None:
    async with served_database.on(backed_up_gateway._url) as original:
        pass
    async with served_database.on(backed_up_gateway._backup) as restored:
        restored_at = served_database.clock.at
    async with served_database.on(backed_up_gateway._backup) as retry:
        pass

    expected = LostPeriod(backed_up_gateway.backup_at, restored_at)
    assert [None, expected, expected] == [original.lost, restored.lost, retry.lost]
    assert [expected] == served_database.gaps


@requirement("keys-14")
async def test_a_running_process_notices_a_restore_of_its_database(
    backed_up_gateway: BackedUpGateway, served_database: ServedDatabase
) -> None:
    async with served_database.on(backed_up_gateway._url) as restores:
        earlier = update(tables.installation).values(epoch=1, epoch_at=backed_up_gateway.backup_at)
        await restores._database.write(lambda db: db.execute(earlier))
        await restores.count_epoch()

    assert [backed_up_gateway.backup_at] == [lost.since for lost in served_database.gaps]


async def _set_installation(url: str, clock: ManualClock, installation_id: str | None) -> None:
    """Set the database's installation. None means a release without identifiers."""
    change = update(tables.installation).values(installation_id=installation_id)
    async with Database(url, clock=clock.now) as database:
        await database.write(lambda db: db.execute(change if installation_id else delete(tables.installation)))


@requirement("keys-14")
async def test_a_backup_of_an_earlier_release_is_noticed(
    backed_up_gateway: BackedUpGateway, served_database: ServedDatabase
) -> None:
    async with served_database.on(backed_up_gateway._url):
        pass
    await _set_installation(backed_up_gateway._backup, served_database.clock, None)
    async with served_database.on(backed_up_gateway._backup) as restored:
        restored_at = served_database.clock.at

    assert LostPeriod(restored_at - WINDOW_SECONDS, restored_at) == restored.lost


@requirement("keys-15")
async def test_a_database_of_another_installation_is_rejected_until_declared(
    backed_up_gateway: BackedUpGateway, served_database: ServedDatabase
) -> None:
    async with served_database.on(backed_up_gateway._url):
        pass
    await _set_installation(backed_up_gateway._backup, served_database.clock, "01ELSEWHERE")
    with pytest.raises(UnusableDatabase, match=r"01ELSEWHERE.*connector-gateway restored --backup-at"):
        async with served_database.on(backed_up_gateway._backup):
            pass
    async with Database(backed_up_gateway._backup, clock=served_database.clock.now) as database:
        await BackupRestoreDetector(database, [served_database.witness], _ignore_gap).declare(served_database.clock.at)
    async with served_database.on(backed_up_gateway._backup) as declared:
        pass

    assert declared.lost is not None


@requirement("keys-15")
async def test_a_new_database_counts_as_unrestored(
    clock: ManualClock, served_database: ServedDatabase, tmp_path: Path
) -> None:
    await served_database.witness.write(Epoch("01ELSEWHERE", 100))
    async with served_database.on(f"sqlite:///{tmp_path}/new.db") as restores:
        pass

    assert restores.lost is None
    assert restores._installation_id == (served_database.witness.read_now() or Epoch("", 0)).installation_id


async def test_an_invalid_witness_file_is_ignored(tmp_path: Path) -> None:
    witness = FileWitness(tmp_path / "gateway.db")
    witness.path.write_text("{}")

    assert Epoch("01HERE", 0) == await witness.read("01HERE")
