"""What a database that was restored from a backup has lost, and how writes are done once all the same."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from connector_gateway.core.writes.claims import WINDOW_SECONDS
from connector_gateway.core.writes.protocol import CHECK_AFTER_RESTORE
from connector_gateway.core.writes.restores import LostPeriod, RestoreDetector
from connector_gateway.kit.errors import GatewayError, InvalidParameters, OutcomeUnknown
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.epochs import Epoch, FileWitness
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
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """A database, and what makes a copy of it that can be served on."""
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


class Lives:
    """A gateway whose database is saved, goes on, and is restored."""

    def __init__(self, url: str, copy: Callable[[], str], clock: ManualClock) -> None:
        self._url, self._copy, self._clock = url, copy, clock
        self.stage: CoreFixture | None = None

    async def save(self) -> None:
        """Make the backup of a gateway that nobody has called yet."""
        async with run_core(self._url, self._clock) as stage:
            self.stage = stage
        self._backup, self.backup_at = self._copy(), self._clock.at
        self._clock.at += 60

    @asynccontextmanager
    async def lost(self) -> AsyncIterator[CoreFixture]:
        """Serve on the database that is lost afterwards."""
        async with run_core(self._url, self._clock, before=self.stage) as stage:
            yield stage
        self._clock.at += 60

    @asynccontextmanager
    async def restored(self, *, settled: bool = True) -> AsyncIterator[CoreFixture]:
        """Serve on the backup, as was declared; *settled*, a while later."""
        async with run_core(self._backup, self._clock, before=self.stage) as stage:
            await stage.app.restores.declare(self.backup_at)
            await stage.app.restores.count_epoch()
            self._clock.at += SETTLE_SECONDS if settled else 0.0
            yield stage


@pytest.fixture
async def lives(copied: tuple[str, Callable[[], str]], clock: ManualClock) -> Lives:
    prepared = Lives(*copied, clock)
    await prepared.save()
    return prepared


async def refusal(stage: CoreFixture, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(**more)
    return refused.value


@requirement("keys-11")
@pytest.mark.parametrize("operation", [make_thing, put_pair])
async def test_a_write_that_the_backup_does_not_know_is_not_made_again(lives: Lives, operation: Any) -> None:
    async with lives.lost() as stage:
        first = await stage.put(operation=operation)
        made = list(stage.shelf.things)
    async with lives.restored() as stage:
        again = await stage.put(operation=operation)
        later = await stage.put(operation=operation)

    assert data(first) == data(again) == data(later)
    assert (False, True) == (again.replayed, later.replayed)
    assert made == stage.shelf.things


@requirement("keys-11")
async def test_a_write_that_was_half_done_is_finished(lives: Lives) -> None:
    async with lives.lost() as stage:
        stage.shelf.troubles += [None, in_doubt("cut")]
        await refusal(stage, operation=put_pair)
    async with lives.restored() as stage:
        await stage.put(operation=put_pair)

    assert ["cup", "cup too"] == stage.shelf.things


@requirement("keys-12")
async def test_a_new_write_is_made_once_the_application_has_settled(lives: Lives) -> None:
    async with lives.restored(settled=False) as stage:
        early = await refusal(stage)
        made_early = list(stage.shelf.things)
        lives._clock.at += SETTLE_SECONDS
        await stage.put()

    assert isinstance(early, OutcomeUnknown)
    assert early.retry_after is not None
    assert ([], ["cup"]) == (made_early, stage.shelf.things)


@requirement("keys-12")
async def test_what_cannot_be_told_apart_is_unknown_and_made_by_a_call_without_a_key(lives: Lives) -> None:
    async with lives.lost() as stage:
        await stage.put(operation=make_thing)
        await stage.put(operation=make_thing, key="key-2")
    async with lives.restored() as stage:
        refused = await refusal(stage, operation=make_thing)
        made = list(stage.shelf.things)
        await stage.put(operation=make_thing, key=None)

    assert isinstance(refused, OutcomeUnknown)
    assert (CHECK_AFTER_RESTORE, None) == (refused.remedy, refused.retry_after)
    assert [{"candidate": "thing 1"}, {"candidate": "thing 2"}] == refused.details
    assert (["cup"] * 2, ["cup"] * 3) == (made, stage.shelf.things)


@requirement("keys-11")
async def test_an_object_from_before_the_backup_is_not_taken_for_a_new_one(lives: Lives) -> None:
    async with lives.restored() as stage:
        stage.shelf.things.append("cup")
        stage.shelf.created_at["thing 1"] = lives.backup_at - HOUR
        again = await stage.put(operation=make_thing)

    assert {"thing_id": "thing 2"} == data(again)


@requirement("keys-11")
async def test_keys_of_the_backup_are_replayed_without_a_look(
    copied: tuple[str, Callable[[], str]], clock: ManualClock
) -> None:
    lives = Lives(*copied, clock)
    async with run_core(lives._url, clock) as stage:
        first = await stage.put()
    lives.stage, lives._backup, lives.backup_at = stage, lives._copy(), clock.at
    async with lives.restored(settled=False) as stage:
        again = await stage.put()

    assert data(first) == data(again)
    assert [] == stage.shelf.searches


@requirement("keys-11", "writes-6")
async def test_a_change_in_doubt_in_the_backup_is_not_sent_over_what_followed_it(
    copied: tuple[str, Callable[[], str]], clock: ManualClock
) -> None:
    lives = Lives(*copied, clock)
    lives.backup_at = clock.at - 1
    async with run_core(lives._url, clock) as stage:
        stage.shelf.troubles.append(in_doubt("interrupted"))
        await refusal(stage, name="first", operation=label_thing)
    # The operator names a time that is somewhat earlier than the last commit in the backup.
    lives.stage, lives._backup = stage, lives._copy()
    async with lives.lost() as stage:
        await stage.put("second", None, operation=label_thing)
    async with lives.restored() as stage:
        refused = await refusal(stage, name="first", operation=label_thing)

    assert isinstance(refused, OutcomeUnknown)
    assert [{"restored": True}] == refused.details
    assert {"thing 1": "second"} == stage.shelf.labels


@requirement("keys-11")
async def test_the_history_does_not_say_that_a_new_key_had_lost_a_response(lives: Lives) -> None:
    async with lives.restored() as stage:
        made = await stage.put(operation=make_thing)
        run = await stage.app.runs.show(made.run_id, None)

    assert (["cup"], None) == (stage.shelf.things, run["details"])


@requirement("keys-11")
async def test_without_a_key_nothing_is_looked_for(lives: Lives) -> None:
    async with lives.restored(settled=False) as stage:
        await stage.put(key=None)

    assert ([], ["cup"]) == (stage.shelf.searches, stage.shelf.things)


@requirement("keys-11")
async def test_after_a_day_no_key_is_suspect_any_more(lives: Lives) -> None:
    async with lives.restored() as stage:
        lives._clock.at += WINDOW_SECONDS
        await stage.app.restores.count_epoch()
        await stage.put(operation=put_blindly)

    assert stage.app.restores.lost is None
    assert ["cup"] == stage.shelf.things


@requirement("keys-13")
async def test_of_an_old_backup_only_a_day_is_searched(lives: Lives) -> None:
    lives._clock.at += 3 * WINDOW_SECONDS
    async with lives.restored(settled=False) as stage:
        pass

    restored_at = lives._clock.at
    assert LostPeriod(restored_at - WINDOW_SECONDS, restored_at) == stage.app.restores.lost


@requirement("keys-13")
async def test_a_backup_that_is_newer_than_now_is_refused(lives: Lives) -> None:
    async with lives.lost() as stage:
        with pytest.raises(InvalidParameters) as refused:
            await stage.app.restores.declare(lives._clock.at + 1)

    assert "backup_at" == refused.value.details[0]["parameter"]
    assert stage.app.restores.lost is None


@requirement("keys-13")
async def test_a_backup_is_no_newer_than_the_last_sign_of_life_in_it(lives: Lives) -> None:
    async with Database(lives._backup, clock=lives._clock.now) as database:
        declared = await RestoreDetector(database, [], _nobody_reads).declare(lives._clock.at)

    assert lives.backup_at == declared["backup_at"] < lives._clock.at


async def _nobody_reads(_: LostPeriod) -> None:
    """No connection is observed."""


# Noticed without being told


class Served:
    """A database that is served, with a witness beside it."""

    def __init__(self, clock: ManualClock, witness: FileWitness) -> None:
        self.clock, self.witness = clock, witness
        self.gaps: list[LostPeriod] = []

    async def _note(self, lost: LostPeriod) -> None:
        self.gaps.append(lost)

    @asynccontextmanager
    async def on(self, url: str) -> AsyncIterator[RestoreDetector]:
        async with Database(url, clock=self.clock.now) as database:
            async with RestoreDetector(database, [self.witness], self._note) as restores:
                yield restores
            self.clock.at += HOUR


@pytest.fixture
def served(clock: ManualClock, tmp_path: Path) -> Served:
    return Served(clock, FileWitness(tmp_path / "beside.db"))


@requirement("keys-14")
async def test_a_database_that_is_older_than_what_is_beside_it_was_restored(lives: Lives, served: Served) -> None:
    async with served.on(lives._url) as whole:
        pass
    async with served.on(lives._backup) as restored:
        restored_at = served.clock.at
    async with served.on(lives._backup) as again:
        pass

    expected = LostPeriod(lives.backup_at, restored_at)
    assert [None, expected, expected] == [whole.lost, restored.lost, again.lost]
    assert [expected] == served.gaps


@requirement("keys-14")
async def test_a_database_that_is_restored_below_a_process_is_noticed_by_it(lives: Lives, served: Served) -> None:
    async with served.on(lives._url) as restores:
        earlier = update(tables.installation).values(epoch=1, epoch_at=lives.backup_at)
        await restores._database.write(lambda writing: writing.execute(earlier))
        await restores.count_epoch()

    assert [lives.backup_at] == [lost.since for lost in served.gaps]


async def _given_to(url: str, clock: ManualClock, installation_id: str | None) -> None:
    """Let the database be of another installation; with None, of a release that gave no identifiers."""
    change = update(tables.installation).values(installation_id=installation_id)
    async with Database(url, clock=clock.now) as database:
        await database.write(
            lambda writing: writing.execute(change if installation_id else delete(tables.installation))
        )


@requirement("keys-14")
async def test_a_backup_of_an_earlier_release_is_noticed_as_well(lives: Lives, served: Served) -> None:
    async with served.on(lives._url):
        pass
    await _given_to(lives._backup, served.clock, None)
    async with served.on(lives._backup) as restored:
        restored_at = served.clock.at

    assert LostPeriod(restored_at - WINDOW_SECONDS, restored_at) == restored.lost


@requirement("keys-15")
async def test_a_database_of_another_installation_is_refused_until_it_is_declared(lives: Lives, served: Served) -> None:
    async with served.on(lives._url):
        pass
    await _given_to(lives._backup, served.clock, "01ELSEWHERE")
    with pytest.raises(UnusableDatabase, match=r"01ELSEWHERE.*connector-gateway restored --backup-at"):
        async with served.on(lives._backup):
            pass
    async with Database(lives._backup, clock=served.clock.now) as database:
        await RestoreDetector(database, [served.witness], _nobody_reads).declare(served.clock.at)
    async with served.on(lives._backup) as declared:
        pass

    assert declared.lost is not None


@requirement("keys-15")
async def test_a_new_database_starts_clean(clock: ManualClock, served: Served, tmp_path: Path) -> None:
    await served.witness.write(Epoch("01ELSEWHERE", 100))
    async with served.on(f"sqlite:///{tmp_path}/new.db") as restores:
        pass

    assert restores.lost is None
    assert restores._installation_id == (served.witness.read_now() or Epoch("", 0)).installation_id


async def test_a_file_that_is_no_witness_says_nothing(tmp_path: Path) -> None:
    witness = FileWitness(tmp_path / "gateway.db")
    witness.path.write_text("{}")

    assert Epoch("01HERE", 0) == await witness.read("01HERE")
