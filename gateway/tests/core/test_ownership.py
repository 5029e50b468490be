"""Ownership of objects that can only be inferred from circumstances, on both databases."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select, update

from connector_gateway.kit.errors import GatewayError, OutcomeUnknown
from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage import tables
from harness.clocks import ManualClock
from harness.core_fixture import SETTLE_SECONDS, CoreFixture, cover_thing, data, in_doubt, make_thing, run_core
from harness.requirement import requirement


async def create_thing(stage: CoreFixture, key: str | None = "key-1") -> Any:
    return data(await stage.put(key=key, operation=make_thing))["thing_id"]


async def catch_error(stage: CoreFixture, key: str | None = "key-1") -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await stage.put(key=key, operation=make_thing)
    return error.value


async def drop_request(stage: CoreFixture, key: str | None = "key-1") -> None:
    """A failure that cuts the connection before anything is done."""
    stage.shelf.troubles.append(in_doubt("cut"))
    await catch_error(stage, key)


@requirement("common-97")
async def test_a_newer_unowned_object_belongs_to_the_call(stage: CoreFixture, clock: ManualClock) -> None:
    await drop_request(stage)
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at
    retry = await create_thing(stage)

    assert "thing 1" == retry
    assert ["cup"] == stage.shelf.things


@requirement("common-97")
async def test_an_older_object_does_not_belong_to_the_call(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at - 3
    await drop_request(stage)
    clock.at += SETTLE_SECONDS
    retry = await create_thing(stage)

    assert "thing 2" == retry
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
@pytest.mark.parametrize("other", ["key-2", None])
async def test_an_object_of_another_call_does_not_belong_to_the_call(
    stage: CoreFixture, clock: ManualClock, other: str | None
) -> None:
    await drop_request(stage)
    object_id = await create_thing(stage, other)
    clock.at += SETTLE_SECONDS
    retry = await create_thing(stage)

    assert ("thing 1", "thing 2") == (object_id, retry)
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
async def test_object_ownership_survives_a_restart(database_url: str, clock: ManualClock) -> None:
    async with run_core(database_url, clock) as before:
        await drop_request(before)
        await create_thing(before, "key-2")
        async with run_core(database_url, clock, before.shelf) as after:
            after.workspace_id, after.caller, after.connection_id = (
                before.workspace_id,
                before.caller,
                before.connection_id,
            )
            clock.at += SETTLE_SECONDS
            retry = await create_thing(after)

    assert "thing 2" == retry


@requirement("common-98")
async def test_two_in_doubt_calls_each_get_one_of_two_equal_objects(stage: CoreFixture) -> None:
    stage.shelf.troubles += [in_doubt("cut", done=True)] * 2
    object_ids = await asyncio.gather(create_thing(stage, "key-1"), create_thing(stage, "key-2"))

    assert {"thing 1", "thing 2"} == set(object_ids)
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
async def test_an_object_of_an_in_doubt_call_is_not_taken_before_the_own_request_settles(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await drop_request(stage, "key-1")
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at
    await drop_request(stage, "key-2")
    error = await catch_error(stage, "key-2")
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 2"] = clock.at
    clock.at += SETTLE_SECONDS
    object_ids = {await create_thing(stage, "key-1"), await create_thing(stage, "key-2")}

    assert isinstance(error, OutcomeUnknown)
    assert error.retry_after is not None
    assert {"thing 1", "thing 2"} == object_ids
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-97")
async def test_too_many_equal_objects_are_unowned_and_nothing_is_resent(stage: CoreFixture, clock: ManualClock) -> None:
    await drop_request(stage)
    stage.shelf.things += ["cup", "cup"]
    clock.at += SETTLE_SECONDS
    error = await catch_error(stage)

    assert isinstance(error, OutcomeUnknown)
    assert [{"candidate": "thing 1"}, {"candidate": "thing 2"}] == error.details
    assert None is error.retry_after
    assert ["cup", "cup"] == stage.shelf.things


async def test_no_object_is_claimed_while_an_equal_one_is_created(stage: CoreFixture, clock: ManualClock) -> None:
    await stage.app._processes.heartbeat()
    await drop_request(stage, "key-2")
    stage.shelf.gate.clear()
    stage.shelf.visited.clear()
    creation = asyncio.create_task(create_thing(stage, "key-1"))
    await stage.shelf.wait_for_request()
    stage.shelf.things.append("cup")
    error = await catch_error(stage, "key-2")
    stage.shelf.gate.set()
    object_id = await creation

    assert isinstance(error, OutcomeUnknown)
    assert "thing 2" == object_id


@requirement("common-98")
@pytest.mark.parametrize(("maker", "repeat"), [("key-1", None), (None, "key-2"), ("key-1", "key-1")])
async def test_orphans_with_a_key_are_not_adopted_and_keyed_calls_adopt_nothing(
    stage: CoreFixture, maker: str | None, repeat: str | None
) -> None:
    await drop_request(stage, maker)
    stage.shelf.things.append("cup")
    covered = await stage.put(key=repeat, operation=cover_thing)

    assert "thing 2" == data(covered)["thing_id"]


@requirement("common-98")
async def test_an_adopted_object_belongs_to_one_call_until_it_ends(stage: CoreFixture) -> None:
    await drop_request(stage, None)
    stage.shelf.things.append("cup")
    stage.shelf.gate.clear()
    first = asyncio.create_task(stage.put(key=None, operation=cover_thing))
    await stage.shelf.wait_for_request()
    stage.shelf.visited.clear()
    second = asyncio.create_task(stage.put(key=None, operation=cover_thing))
    await stage.shelf.wait_for_request()
    stage.shelf.gate.set()
    covered = [data(await first)["thing_id"], data(await second)["thing_id"]]
    after = data(await stage.put(key=None, operation=cover_thing))["thing_id"]

    assert "thing 1" == covered[0] != covered[1]
    assert "thing 1" == after


@requirement("common-99")
async def test_a_call_that_lost_its_claim_changes_nothing(stage: CoreFixture) -> None:
    stage.shelf.gate.clear()
    late = asyncio.create_task(catch_error(stage))
    await stage.shelf.wait_for_request()
    taken = update(tables.claims).values(run_id="run_of_another", attempt=2)
    await stage.app.database.write(lambda writing: writing.execute(taken))
    stage.shelf.gate.set()
    error = await late
    query = select(tables.claims.c.run_id, tables.claims.c.state).where(tables.claims.c.idempotency_key == "key-1")
    row = await stage.app.database.read(lambda reading: reading.execute(query).all())

    assert "idempotency_in_progress" == error.code
    assert ("run_of_another", "held") in row


@requirement("common-100")
async def test_an_unreadable_first_call_is_reported_and_nothing_is_sent(stage: CoreFixture, clock: ManualClock) -> None:
    await drop_request(stage)
    spoilt = update(tables.claims).values(sealed=b"sealed with a key that is gone")
    await stage.app.database.write(lambda writing: writing.execute(spoilt))
    clock.at += SETTLE_SECONDS
    error = await catch_error(stage)
    retry = await catch_error(stage)

    assert (OutcomeUnknown, OutcomeUnknown) == (type(error), type(retry))
    assert "can no longer be read" in error.message
    assert 1 == stage.shelf.request_count


@requirement("common-84")
async def test_a_key_of_a_thousand_characters_is_accepted(stage: CoreFixture) -> None:
    first = await create_thing(stage, "é" * 1000)
    retry = await create_thing(stage, "é" * 1000)
    other = await create_thing(stage, "é" * 999 + "e")

    assert first == retry != other


async def test_expired_owner_rows_are_purged(stage: CoreFixture, clock: ManualClock) -> None:
    await create_thing(stage, f"key {ulid()}")
    clock.at += 3 * 24 * 60 * 60
    purged = await stage.app._owners.purge()

    assert 0 < purged
