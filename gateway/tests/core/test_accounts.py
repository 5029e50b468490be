"""Writes through several connections to one account, on both databases."""

from collections.abc import AsyncIterator
from time import time
from typing import Any

import pytest
from sqlalchemy import delete, select

from connector_gateway.kit.errors import GatewayError, OutcomeUnknown
from connector_gateway.kit.oauth import Account
from connector_gateway.storage import tables
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


@pytest.fixture
async def elsewhere(common_database_url: str, clock: ManualClock, stage: CoreFixture) -> AsyncIterator[CoreFixture]:
    """Another workspace with a connection to the same account."""
    async with run_core(common_database_url, clock, stage.shelf) as prepared:
        yield prepared


async def refusal(stage: CoreFixture, name: str = "cup", key: str | None = "key-1", *, operation: Any) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(name, key, operation=operation)
    return refused.value


async def dropped(
    stage: CoreFixture, name: str = "cup", key: str | None = "key-1", *, operation: Any = make_thing
) -> None:
    """A call whose connection is cut before anything is done."""
    stage.shelf.troubles.append(in_doubt("cut"))
    await refusal(stage, name, key, operation=operation)


@requirement("writes-1")
@pytest.mark.parametrize("key", ["key-1", None])
async def test_what_another_workspace_made_in_the_account_is_not_taken(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock, key: str | None
) -> None:
    await dropped(stage)
    theirs = data(await elsewhere.put(key=key, operation=make_thing))["thing_id"]
    clock.at += SETTLE_SECONDS
    mine = data(await stage.put(operation=make_thing))["thing_id"]

    assert ("thing 1", "thing 2") == (theirs, mine)


@requirement("writes-2")
async def test_objects_keep_their_owner_when_its_connection_is_removed(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage)
    await elsewhere.put(operation=make_thing)
    await elsewhere.app.connections.remove(elsewhere.connection_id)
    clock.at += SETTLE_SECONDS
    mine = data(await stage.put(operation=make_thing))["thing_id"]

    assert "thing 2" == mine


@requirement("writes-1")
async def test_what_a_key_of_another_workspace_may_finish_is_not_taken_over(
    stage: CoreFixture, elsewhere: CoreFixture
) -> None:
    stage.shelf.troubles += [None, in_doubt("cut")]
    await refusal(stage, operation=cover_thing)
    theirs = data(await elsewhere.put(key=None, operation=cover_thing))["thing_id"]

    assert "thing 1" != theirs


@requirement("writes-4")
async def test_candidates_that_another_workspace_may_have_made_are_not_named(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock
) -> None:
    await dropped(elsewhere)
    await dropped(stage)
    stage.shelf.things += ["cup", "cup", "cup"]
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage, operation=make_thing)

    assert isinstance(refused, OutcomeUnknown)
    assert [] == refused.details


@requirement("writes-5")
@pytest.mark.parametrize(("before", "after"), [(MINE, OTHER), (None, None)], ids=["another", "unknown"])
async def test_what_was_begun_in_one_account_is_not_sent_to_another(
    stage: CoreFixture, clock: ManualClock, before: Account | None, after: Account | None
) -> None:
    await stage.app.connections.change(stage.connection_id, before, credentials=CREDENTIALS)
    await dropped(stage)
    await stage.app.connections.change(stage.connection_id, after, credentials=CREDENTIALS)
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage, operation=make_thing)

    assert isinstance(refused, OutcomeUnknown)
    assert [{"other_account": True}] == refused.details
    assert [] == stage.shelf.things


@requirement("writes-5")
async def test_an_account_that_is_learned_or_connected_again_is_the_same(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage)
    await stage.app.connections.record_account(await stage.app.connections.get(stage.connection_id), MINE)
    await refusal(stage, operation=make_thing)
    await stage.app.connections.change(stage.connection_id, MINE, credentials=CREDENTIALS)
    clock.at += SETTLE_SECONDS
    made = data(await stage.put(operation=make_thing))["thing_id"]

    assert "thing 1" == made
    assert ["cup"] == stage.shelf.things


@requirement("writes-6")
@pytest.mark.parametrize("key", ["key-2", None])
async def test_a_change_in_doubt_is_not_sent_over_a_later_one_whose_run_is_named(
    stage: CoreFixture, clock: ManualClock, key: str | None
) -> None:
    await dropped(stage, "first", operation=label_thing)
    later = await stage.put("second", key, operation=label_thing)
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage, "first", operation=label_thing)

    assert isinstance(refused, OutcomeUnknown)
    assert [{"changed_since": True, "run_id": later.run_id}] == refused.details
    assert {"thing 1": "second"} == stage.shelf.labels


@requirement("writes-4", "writes-6")
async def test_a_later_run_of_another_workspace_is_not_named(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage, "first", operation=label_thing)
    await elsewhere.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage, "first", operation=label_thing)

    assert [{"changed_since": True}] == refused.details
    assert {"thing 1": "second"} == stage.shelf.labels


@requirement("writes-6")
@pytest.mark.parametrize(("mine", "theirs"), [(None, OTHER), (OTHER, None)], ids=["mine", "theirs"])
async def test_while_one_account_is_not_known_a_later_change_in_any_account_counts(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock, mine: Account | None, theirs: Account | None
) -> None:
    await stage.app.connections.change(stage.connection_id, mine, credentials=CREDENTIALS)
    await elsewhere.app.connections.change(elsewhere.connection_id, theirs, credentials=CREDENTIALS)
    await dropped(stage, "first", operation=label_thing)
    await elsewhere.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage, "first", operation=label_thing)

    assert isinstance(refused, OutcomeUnknown)
    assert [{"changed_since": True}] == refused.details
    assert {"thing 1": "second"} == stage.shelf.labels


@requirement("writes-7")
async def test_a_later_change_in_another_account_does_not_keep_one_in_doubt_from_being_sent_again(
    stage: CoreFixture, elsewhere: CoreFixture, clock: ManualClock
) -> None:
    await stage.app.connections.change(stage.connection_id, MINE, credentials=CREDENTIALS)
    await elsewhere.app.connections.change(elsewhere.connection_id, OTHER, credentials=CREDENTIALS)
    await dropped(stage, "first", operation=label_thing)
    await elsewhere.put("second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    await stage.put("first", operation=label_thing)

    assert {"thing 1": "first"} == stage.shelf.labels


@requirement("writes-7")
async def test_an_earlier_change_does_not_keep_one_in_doubt_from_being_sent_again(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await stage.put("first", "key-2", operation=label_thing)
    clock.at += 1
    await dropped(stage, "second", operation=label_thing)
    clock.at += SETTLE_SECONDS
    await stage.put("second", operation=label_thing)

    assert {"thing 1": "second"} == stage.shelf.labels


async def test_records_of_changes_are_purged_once_no_doubt_can_be_older(stage: CoreFixture, clock: ManualClock) -> None:
    clock.at = time()
    changed = tables.changed
    await stage.app.database.write(lambda writing: writing.execute(delete(changed)).rowcount)
    await stage.put("first", operation=label_thing)
    count = select(changed.c.change_id)
    await stage.app._change_log.purge()
    kept = await stage.app.database.read(lambda reading: reading.execute(count).all())
    clock.at += 4 * 24 * 60 * 60
    await stage.app._change_log.purge()
    left = await stage.app.database.read(lambda reading: reading.execute(count).all())

    assert [] != kept
    assert [] == left
