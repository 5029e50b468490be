"""Ownership of objects that can only be inferred from circumstances, on both databases."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select, update

from connector_gateway.kit.errors import GatewayError, OutcomeUnknown
from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage.sql import tables
from harness.clocks import ManualClock
from harness.core_fixture import SETTLE_SECONDS, CoreFixture, cover_thing, data, in_doubt, make_thing, run_core
from harness.requirement import requirement


async def create_thing(core: CoreFixture, key: str | None = "key-1") -> Any:
    return data(await core.put(key=key, operation=make_thing))["thing_id"]


async def catch_error(core: CoreFixture, key: str | None = "key-1") -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(key=key, operation=make_thing)
    return error.value


async def drop_request(core: CoreFixture, key: str | None = "key-1") -> None:
    """A failure that cuts the connection before anything is done."""
    core.shelf.troubles.append(in_doubt("cut"))
    await catch_error(core, key)


@requirement("common-97")
async def test_a_newer_unowned_object_belongs_to_the_call(core: CoreFixture, clock: ManualClock) -> None:
    await drop_request(core)
    core.shelf.things.append("cup")
    core.shelf.created_at["thing 1"] = clock.at
    retry = await create_thing(core)

    assert "thing 1" == retry
    assert ["cup"] == core.shelf.things


@requirement("common-97")
async def test_an_older_object_does_not_belong_to_the_call(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.things.append("cup")
    core.shelf.created_at["thing 1"] = clock.at - 3
    await drop_request(core)
    clock.at += SETTLE_SECONDS
    retry = await create_thing(core)

    assert "thing 2" == retry
    assert ["cup", "cup"] == core.shelf.things


@requirement("common-98")
@pytest.mark.parametrize("other", ["key-2", None])
async def test_an_object_of_another_call_does_not_belong_to_the_call(
    core: CoreFixture, clock: ManualClock, other: str | None
) -> None:
    await drop_request(core)
    object_id = await create_thing(core, other)
    clock.at += SETTLE_SECONDS
    retry = await create_thing(core)

    assert ("thing 1", "thing 2") == (object_id, retry)
    assert ["cup", "cup"] == core.shelf.things


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
async def test_two_in_doubt_calls_each_get_one_of_two_equal_objects(core: CoreFixture) -> None:
    core.shelf.troubles += [in_doubt("cut", done=True)] * 2
    object_ids = await asyncio.gather(create_thing(core, "key-1"), create_thing(core, "key-2"))

    assert {"thing 1", "thing 2"} == set(object_ids)
    assert ["cup", "cup"] == core.shelf.things


@requirement("common-98")
async def test_an_object_of_an_in_doubt_call_is_not_taken_before_the_own_request_settles(
    core: CoreFixture, clock: ManualClock
) -> None:
    await drop_request(core, "key-1")
    core.shelf.things.append("cup")
    core.shelf.created_at["thing 1"] = clock.at
    await drop_request(core, "key-2")
    error = await catch_error(core, "key-2")
    core.shelf.things.append("cup")
    core.shelf.created_at["thing 2"] = clock.at
    clock.at += SETTLE_SECONDS
    object_ids = {await create_thing(core, "key-1"), await create_thing(core, "key-2")}

    assert isinstance(error, OutcomeUnknown)
    assert error.retry_after is not None
    assert {"thing 1", "thing 2"} == object_ids
    assert ["cup", "cup"] == core.shelf.things


@requirement("common-97")
async def test_too_many_equal_objects_are_unowned_and_nothing_is_resent(core: CoreFixture, clock: ManualClock) -> None:
    await drop_request(core)
    core.shelf.things += ["cup", "cup"]
    clock.at += SETTLE_SECONDS
    error = await catch_error(core)

    assert isinstance(error, OutcomeUnknown)
    assert [{"candidate": "thing 1"}, {"candidate": "thing 2"}] == error.details
    assert None is error.retry_after
    assert ["cup", "cup"] == core.shelf.things


async def test_no_object_is_claimed_while_an_equal_one_is_created(core: CoreFixture, clock: ManualClock) -> None:
    await core.app._processes.heartbeat()
    await drop_request(core, "key-2")
    core.shelf.gate.clear()
    core.shelf.visited.clear()
    creation = asyncio.create_task(create_thing(core, "key-1"))
    await core.shelf.wait_for_request()
    core.shelf.things.append("cup")
    error = await catch_error(core, "key-2")
    core.shelf.gate.set()
    object_id = await creation

    assert isinstance(error, OutcomeUnknown)
    assert "thing 2" == object_id


@requirement("common-98")
@pytest.mark.parametrize(("maker", "repeat"), [("key-1", None), (None, "key-2"), ("key-1", "key-1")])
async def test_orphans_with_a_key_are_not_adopted_and_keyed_calls_adopt_nothing(
    core: CoreFixture, maker: str | None, repeat: str | None
) -> None:
    await drop_request(core, maker)
    core.shelf.things.append("cup")
    covered = await core.put(key=repeat, operation=cover_thing)

    assert "thing 2" == data(covered)["thing_id"]


@requirement("common-98")
async def test_an_adopted_object_belongs_to_one_call_until_it_ends(core: CoreFixture) -> None:
    await drop_request(core, None)
    core.shelf.things.append("cup")
    core.shelf.gate.clear()
    first = asyncio.create_task(core.put(key=None, operation=cover_thing))
    await core.shelf.wait_for_request()
    core.shelf.visited.clear()
    second = asyncio.create_task(core.put(key=None, operation=cover_thing))
    await core.shelf.wait_for_request()
    core.shelf.gate.set()
    covered = [data(await first)["thing_id"], data(await second)["thing_id"]]
    after = data(await core.put(key=None, operation=cover_thing))["thing_id"]

    assert "thing 1" == covered[0] != covered[1]
    assert "thing 1" == after


@requirement("common-99")
async def test_a_call_that_lost_its_claim_changes_nothing(core: CoreFixture) -> None:
    core.shelf.gate.clear()
    late = asyncio.create_task(catch_error(core))
    await core.shelf.wait_for_request()
    taken = update(tables.claims).values(run_id="run_of_another", attempt=2)
    await core.app.database.write(lambda db: db.execute(taken))
    core.shelf.gate.set()
    error = await late
    query = select(tables.claims.c.run_id, tables.claims.c.state).where(tables.claims.c.idempotency_key == "key-1")
    row = await core.app.database.read(lambda db: db.execute(query).all())

    assert "idempotency_in_progress" == error.code
    assert ("run_of_another", "held") in row


@requirement("common-100")
async def test_an_unreadable_first_call_is_reported_and_nothing_is_sent(core: CoreFixture, clock: ManualClock) -> None:
    await drop_request(core)
    spoilt = update(tables.claims).values(sealed=b"sealed with a key that is gone")
    await core.app.database.write(lambda db: db.execute(spoilt))
    clock.at += SETTLE_SECONDS
    error = await catch_error(core)
    retry = await catch_error(core)

    assert (OutcomeUnknown, OutcomeUnknown) == (type(error), type(retry))
    assert "can no longer be read" in error.message
    assert 1 == core.shelf.request_count


@requirement("common-84")
async def test_a_key_of_a_thousand_characters_is_accepted(core: CoreFixture) -> None:
    first = await create_thing(core, "é" * 1000)
    retry = await create_thing(core, "é" * 1000)
    other = await create_thing(core, "é" * 999 + "e")

    assert first == retry != other


async def test_expired_owner_rows_are_purged(core: CoreFixture, clock: ManualClock) -> None:
    await create_thing(core, f"key {ulid()}")
    clock.at += 3 * 24 * 60 * 60
    purged = await core.app._owners.purge()

    assert 0 < purged
