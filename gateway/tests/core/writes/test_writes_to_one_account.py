"""Writes through several connections to one account, on both databases."""

from collections.abc import AsyncIterator, Awaitable, Callable
from time import time
from typing import Any

import pytest
from sqlalchemy import delete, select

from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, RateLimited, StorageUnavailable, UrlUnreachable
from connector_gateway.kit.oauth import Account
from connector_gateway.storage.sql import tables
from harness.clocks import ManualClock
from harness.core_fixture import (
    SETTLE_SECONDS,
    CoreFixture,
    cover_thing,
    data,
    in_doubt,
    label_thing,
    make_thing,
    run_core,
)
from harness.requirement import requirement

MINE = Account("mine", "Mine")
OTHER = Account("other", "Another")
CREDENTIALS = {"token": "another-secret"}

StoppedResend = Callable[[GatewayError], Awaitable[None]]


@pytest.fixture
async def second_process(common_database_url: str, clock: ManualClock, core: CoreFixture) -> AsyncIterator[CoreFixture]:
    """Create another workspace with a connection to the same account."""
    async with run_core(common_database_url, clock, core.shelf) as prepared:
        yield prepared


async def catch_error(
    core: CoreFixture, name: str = "cup", key: str | None = "key-1", *, operation: Any
) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(name, key, operation=operation)
    return error.value


async def drop_request(
    core: CoreFixture, name: str = "cup", key: str | None = "key-1", *, operation: Any = make_thing
) -> None:
    """A failure that cuts the connection before anything is done."""
    core.shelf.troubles.append(in_doubt("cut"))
    await catch_error(core, name, key, operation=operation)


@requirement("writes-1")
@pytest.mark.parametrize("key", ["key-1", None])
async def test_objects_created_by_another_workspace_are_not_adopted(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock, key: str | None
) -> None:
    await drop_request(core)
    theirs = data(await second_process.put(key=key, operation=make_thing))["thing_id"]
    clock.at += SETTLE_SECONDS
    mine = data(await core.put(operation=make_thing))["thing_id"]

    assert ("thing 1", "thing 2") == (theirs, mine)


@requirement("writes-2")
async def test_removing_a_connection_does_not_orphan_its_objects(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock
) -> None:
    await drop_request(core)
    await second_process.put(operation=make_thing)
    await second_process.app.connections.remove(second_process.connection_id)
    clock.at += SETTLE_SECONDS
    mine = data(await core.put(operation=make_thing))["thing_id"]

    assert "thing 2" == mine


@requirement("writes-1")
async def test_orphans_of_another_workspaces_key_are_not_adopted(
    core: CoreFixture, second_process: CoreFixture
) -> None:
    core.shelf.troubles += [None, in_doubt("cut")]
    await catch_error(core, operation=cover_thing)
    theirs = data(await second_process.put(key=None, operation=cover_thing))["thing_id"]

    assert "thing 1" != theirs


@requirement("writes-4")
async def test_candidates_of_other_workspaces_are_not_named(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock
) -> None:
    await drop_request(second_process)
    await drop_request(core)
    core.shelf.things += ["cup", "cup", "cup"]
    clock.at += SETTLE_SECONDS
    error = await catch_error(core, operation=make_thing)

    assert isinstance(error, OutcomeUnknown)
    assert [] == error.details


@requirement("writes-5")
@pytest.mark.parametrize(("before", "after"), [(MINE, OTHER), (None, None)], ids=["another", "unknown"])
async def test_a_write_started_in_one_account_is_not_sent_to_another(
    core: CoreFixture, clock: ManualClock, before: Account | None, after: Account | None
) -> None:
    await core.app.connections.change(core.connection_id, before, credentials=CREDENTIALS)
    await drop_request(core)
    await core.app.connections.change(core.connection_id, after, credentials=CREDENTIALS)
    clock.at += SETTLE_SECONDS
    error = await catch_error(core, operation=make_thing)

    assert isinstance(error, OutcomeUnknown)
    assert [{"other_account": True}] == error.details
    assert [] == core.shelf.things


@requirement("writes-5")
async def test_a_reconnected_or_later_identified_account_is_the_same(core: CoreFixture, clock: ManualClock) -> None:
    await drop_request(core)
    await core.app.connections.record_account(await core.app.connections.get(core.connection_id), MINE)
    await catch_error(core, operation=make_thing)
    await core.app.connections.change(core.connection_id, MINE, credentials=CREDENTIALS)
    clock.at += SETTLE_SECONDS
    thing_id = data(await core.put(operation=make_thing))["thing_id"]

    assert "thing 1" == thing_id
    assert ["cup"] == core.shelf.things


@requirement("writes-6")
@pytest.mark.parametrize("key", ["key-2", None])
async def test_an_in_doubt_change_is_not_resent_after_a_later_named_change(
    core: CoreFixture, clock: ManualClock, key: str | None
) -> None:
    await drop_request(core, "first", operation=label_thing)
    later = await core.put("second", key, operation=label_thing)
    clock.at += SETTLE_SECONDS
    error = await catch_error(core, "first", operation=label_thing)

    assert isinstance(error, OutcomeUnknown)
    assert [{"changed_since": True, "run_id": later.run_id}] == error.details
    assert {"thing 1": "second"} == core.shelf.labels


@requirement("writes-4", "writes-6")
async def test_a_later_run_of_another_workspace_is_not_named(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock
) -> None:
    await drop_request(core, "first", operation=label_thing)
    await second_process.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    error = await catch_error(core, "first", operation=label_thing)

    assert [{"changed_since": True}] == error.details
    assert {"thing 1": "second"} == core.shelf.labels


@requirement("writes-6")
@pytest.mark.parametrize(("mine", "theirs"), [(None, OTHER), (OTHER, None)], ids=["mine", "theirs"])
async def test_while_one_account_is_not_known_a_later_change_in_any_account_counts(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock, mine: Account | None, theirs: Account | None
) -> None:
    await core.app.connections.change(core.connection_id, mine, credentials=CREDENTIALS)
    await second_process.app.connections.change(second_process.connection_id, theirs, credentials=CREDENTIALS)
    await drop_request(core, "first", operation=label_thing)
    await second_process.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    error = await catch_error(core, "first", operation=label_thing)

    assert isinstance(error, OutcomeUnknown)
    assert [{"changed_since": True}] == error.details
    assert {"thing 1": "second"} == core.shelf.labels


@requirement("writes-6")
async def test_a_change_during_the_wait_for_a_reservation_counts_as_later(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_log = core.app._change_log
    find_later, checks = change_log.find_later, 0

    async def check_then_change(*arguments: Any) -> Any:
        nonlocal checks
        checks += 1
        later = await find_later(*arguments)
        if checks == 1:
            await second_process.put("second", operation=label_thing)
        return later

    await drop_request(core, "first", operation=label_thing)
    clock.at += SETTLE_SECONDS
    monkeypatch.setattr(change_log, "find_later", check_then_change)
    errors = [await catch_error(core, "first", operation=label_thing) for _ in range(2)]

    assert [OutcomeUnknown, OutcomeUnknown] == [type(error) for error in errors]
    assert [True, True] == [error.details[0]["changed_since"] for error in errors if error.details]
    assert {"thing 1": "second"} == core.shelf.labels


@pytest.fixture
async def stopped_resend(core: CoreFixture, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> StoppedResend:
    """Return a function that stops the resend of an in-doubt change with an error, before anything is sent."""

    async def stop(stopping: GatewayError) -> None:
        change_log = core.app._change_log
        find_later, checks = change_log.find_later, 0

        async def check_then_stop(*arguments: Any) -> Any:
            nonlocal checks
            checks += 1
            # The first check precedes the wait for a reservation.
            if checks == 2:
                raise stopping
            return await find_later(*arguments)

        await drop_request(core, "first", operation=label_thing)
        clock.at += SETTLE_SECONDS
        with monkeypatch.context() as patch:
            patch.setattr(change_log, "find_later", check_then_stop)
            assert stopping is await catch_error(core, "first", operation=label_thing)

    return stop


@requirement("writes-6")
@pytest.mark.parametrize(
    "stopping", [StorageUnavailable("Away."), RateLimited("Later.", retry_after=1)], ids=["storage", "limit"]
)
async def test_a_change_whose_resend_was_not_sent_stays_in_doubt(
    core: CoreFixture, stopped_resend: StoppedResend, stopping: GatewayError
) -> None:
    await stopped_resend(stopping)
    await core.put("second", "key-2", operation=label_thing)
    error = await catch_error(core, "first", operation=label_thing)

    assert isinstance(error, OutcomeUnknown)
    assert {"thing 1": "second"} == core.shelf.labels


@requirement("common-92")
async def test_a_definite_rejection_before_a_resend_releases_the_key(
    core: CoreFixture, stopped_resend: StoppedResend
) -> None:
    await stopped_resend(UrlUnreachable("Gone."))
    await core.put("second", "key-2", operation=label_thing)
    await core.put("third", operation=label_thing)

    assert {"thing 1": "third"} == core.shelf.labels


@requirement("writes-7")
async def test_a_later_change_in_another_account_does_not_keep_one_in_doubt_from_being_sent_again(
    core: CoreFixture, second_process: CoreFixture, clock: ManualClock
) -> None:
    await core.app.connections.change(core.connection_id, MINE, credentials=CREDENTIALS)
    await second_process.app.connections.change(second_process.connection_id, OTHER, credentials=CREDENTIALS)
    await drop_request(core, "first", operation=label_thing)
    await second_process.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    await core.put("first", operation=label_thing)

    assert {"thing 1": "first"} == core.shelf.labels


@requirement("writes-7")
async def test_an_earlier_change_does_not_prevent_resending_one_in_doubt(core: CoreFixture, clock: ManualClock) -> None:
    await core.put("first", "key-2", operation=label_thing)
    clock.at += 1
    await drop_request(core, "second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    await core.put("second", operation=label_thing)

    assert {"thing 1": "second"} == core.shelf.labels


async def test_change_records_are_purged_once_no_step_can_be_in_doubt(core: CoreFixture, clock: ManualClock) -> None:
    clock.at = time()
    changed = tables.changed
    await core.app.database.write(lambda db: db.execute(delete(changed)).rowcount)
    await core.put("first", operation=label_thing)
    count = select(changed.c.change_id)
    await core.app._change_log.purge()
    rows = await core.app.database.read(lambda db: db.execute(count).all())
    clock.at += 4 * 24 * 60 * 60
    await core.app._change_log.purge()
    left = await core.app.database.read(lambda db: db.execute(count).all())

    assert [] != rows
    assert [] == left
