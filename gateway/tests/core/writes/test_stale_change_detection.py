"""The search for later changes of the same object, on both databases."""

import hashlib

import pytest
from sqlalchemy import insert

from connector_gateway.core.writes.stale_change_detection import ChangeLog, ChangeScope
from connector_gateway.kit.identifiers import RunId, ulid
from connector_gateway.storage.sql import tables
from harness.clocks import ManualClock
from harness.core_fixture import CoreFixture
from harness.requirement import requirement

MINE = ChangeScope("shelf/mine", "shelf", account_is_known=True)
OTHER = ChangeScope("shelf/other", "shelf", account_is_known=True)
UNKNOWN = ChangeScope("shelf/looked up", "shelf", account_is_known=False)
UNKNOWN_TOO = ChangeScope("shelf/looked up by another", "shelf", account_is_known=False)
ALL = ChangeScope("shelf", "shelf", account_is_known=False)
"""Of names that are unique in all accounts."""

ELSEWHERE = ChangeScope("box/mine", "box", account_is_known=True)
ELSEWHERE_UNKNOWN = ChangeScope("box/looked up", "box", account_is_known=False)


@pytest.fixture
def name() -> str:
    """An object that no other test changes."""
    return ulid()


async def record(core: CoreFixture, within: ChangeScope, name: str) -> None:
    """Record a change of the object by another call."""
    records = ChangeLog(core.app.database).record_statements(within, [name], "theirs", RunId(ulid()))
    await core.app.database.put_all(records)


async def is_changed(core: CoreFixture, within: ChangeScope, name: str) -> bool:
    """Whether another call has changed the object in the last second."""
    change_log, since = ChangeLog(core.app.database), core.clock.now() - 1
    return await change_log.find_later(within, [name], since, ["mine"], core.workspace_id) is not None


@requirement("writes-6")
@pytest.mark.parametrize(
    ("recorded", "compared"),
    [
        (MINE, MINE),
        (MINE, UNKNOWN),
        (UNKNOWN, MINE),
        (UNKNOWN, UNKNOWN_TOO),
        (ALL, ALL),
        (ALL, MINE),
        (MINE, ALL),
    ],
)
async def test_a_change_counts_in_its_account_and_where_one_account_is_not_known(
    core: CoreFixture, name: str, recorded: ChangeScope, compared: ChangeScope
) -> None:
    await record(core, recorded, name)

    assert await is_changed(core, compared, name)


@requirement("writes-7")
@pytest.mark.parametrize(
    ("recorded", "compared"),
    [
        (MINE, OTHER),
        (ELSEWHERE, MINE),
        (ELSEWHERE, UNKNOWN),
        (ELSEWHERE_UNKNOWN, MINE),
        (ELSEWHERE_UNKNOWN, UNKNOWN),
    ],
)
async def test_a_change_counts_neither_in_another_known_account_nor_in_another_connector(
    core: CoreFixture, name: str, recorded: ChangeScope, compared: ChangeScope
) -> None:
    await record(core, recorded, name)

    assert not await is_changed(core, compared, name)


@pytest.mark.parametrize("compared", [MINE, MINE._replace(account_is_known=False)], ids=["known", "unknown"])
async def test_changes_that_earlier_releases_recorded_by_account_alone_still_count(
    core: CoreFixture, clock: ManualClock, name: str, compared: ChangeScope
) -> None:
    row = {
        "change_id": ulid(),
        "target": hashlib.sha256(f"shelf/mine\n{name}".encode()).hexdigest(),
        "mark": "theirs",
        "run_id": ulid(),
        "changed_at": clock.at,
    }
    await core.app.database.write(lambda db: db.execute(insert(tables.changed), row).rowcount)

    assert await is_changed(core, compared, name)
