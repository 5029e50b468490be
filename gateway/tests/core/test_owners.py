"""Whose an object is that can only be known by its circumstances, on both databases."""

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


async def make(stage: CoreFixture, key: str | None = "key-1") -> Any:
    return data(await stage.put(key=key, operation=make_thing))["thing_id"]


async def refusal(stage: CoreFixture, key: str | None = "key-1") -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(key=key, operation=make_thing)
    return refused.value


async def dropped(stage: CoreFixture, key: str | None = "key-1") -> None:
    """A call whose connection is cut before anything is done."""
    stage.shelf.troubles.append(in_doubt("cut"))
    await refusal(stage, key)


@requirement("common-97")
async def test_what_was_made_since_and_belongs_to_nobody_is_the_calls_own(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage)
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at
    again = await make(stage)

    assert "thing 1" == again
    assert ["cup"] == stage.shelf.things


@requirement("common-97")
async def test_what_was_there_before_is_not_taken_for_the_calls_own(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at - 3
    await dropped(stage)
    clock.at += SETTLE_SECONDS
    again = await make(stage)

    assert "thing 2" == again
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
@pytest.mark.parametrize("other", ["key-2", None])
async def test_what_another_call_made_is_not_taken_for_the_calls_own(
    stage: CoreFixture, clock: ManualClock, other: str | None
) -> None:
    await dropped(stage)
    made = await make(stage, other)
    clock.at += SETTLE_SECONDS
    again = await make(stage)

    assert ("thing 1", "thing 2") == (made, again)
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
async def test_after_a_restart_it_still_is_not(database_url: str, clock: ManualClock) -> None:
    async with run_core(database_url, clock) as before:
        await dropped(before)
        await make(before, "key-2")
        async with run_core(database_url, clock, before.shelf) as after:
            after.workspace_id, after.caller, after.connection_id = (
                before.workspace_id,
                before.caller,
                before.connection_id,
            )
            clock.at += SETTLE_SECONDS
            again = await make(after)

    assert "thing 2" == again


@requirement("common-98")
async def test_equal_objects_of_two_calls_in_doubt_are_shared_out(stage: CoreFixture) -> None:
    stage.shelf.troubles += [in_doubt("cut", done=True)] * 2
    made = await asyncio.gather(make(stage, "key-1"), make(stage, "key-2"))

    assert {"thing 1", "thing 2"} == set(made)
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-98")
async def test_an_object_that_another_call_in_doubt_may_have_made_is_not_taken_while_the_own_request_is_on_its_way(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage, "key-1")
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 1"] = clock.at
    await dropped(stage, "key-2")
    refused = await refusal(stage, "key-2")
    stage.shelf.things.append("cup")
    stage.shelf.created_at["thing 2"] = clock.at
    clock.at += SETTLE_SECONDS
    made = {await make(stage, "key-1"), await make(stage, "key-2")}

    assert isinstance(refused, OutcomeUnknown)
    assert refused.retry_after is not None
    assert {"thing 1", "thing 2"} == made
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-97")
async def test_more_equal_objects_than_can_be_accounted_for_are_nobodys_and_nothing_is_sent_again(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage)
    stage.shelf.things += ["cup", "cup"]
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage)

    assert isinstance(refused, OutcomeUnknown)
    assert [{"candidate": "thing 1"}, {"candidate": "thing 2"}] == refused.details
    assert None is refused.retry_after
    assert ["cup", "cup"] == stage.shelf.things


async def test_while_another_call_is_making_an_equal_object_nothing_is_claimed(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await stage.app._processes.heartbeat()
    await dropped(stage, "key-2")
    stage.shelf.gate.clear()
    stage.shelf.visited.clear()
    making = asyncio.create_task(make(stage, "key-1"))
    await stage.shelf.wait_for_request()
    stage.shelf.things.append("cup")
    refused = await refusal(stage, "key-2")
    stage.shelf.gate.set()
    made = await making

    assert isinstance(refused, OutcomeUnknown)
    assert "thing 2" == made


@requirement("common-98")
@pytest.mark.parametrize(("maker", "repeat"), [("key-1", None), (None, "key-2"), ("key-1", "key-1")])
async def test_what_a_repeat_under_a_key_may_go_on_with_is_not_taken_over_nor_is_anything_by_a_call_with_a_key(
    stage: CoreFixture, maker: str | None, repeat: str | None
) -> None:
    await dropped(stage, maker)
    stage.shelf.things.append("cup")
    covered = await stage.put(key=repeat, operation=cover_thing)

    assert "thing 2" == data(covered)["thing_id"]


@requirement("common-98")
async def test_what_is_taken_over_is_one_call_s_until_it_has_ended(stage: CoreFixture) -> None:
    await dropped(stage, None)
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
async def test_a_call_that_lost_its_claim_changes_nothing_any_more(stage: CoreFixture) -> None:
    stage.shelf.gate.clear()
    late = asyncio.create_task(refusal(stage))
    await stage.shelf.wait_for_request()
    taken = update(tables.claims).values(run_id="run_of_another", attempt=2)
    await stage.app.database.write(lambda writing: writing.execute(taken))
    stage.shelf.gate.set()
    refused = await late
    query = select(tables.claims.c.run_id, tables.claims.c.state).where(tables.claims.c.idempotency_key == "key-1")
    row = await stage.app.database.read(lambda reading: reading.execute(query).all())

    assert "idempotency_in_progress" == refused.code
    assert ("run_of_another", "held") in row


@requirement("common-100")
async def test_a_first_call_that_can_no_longer_be_read_is_told_and_nothing_is_sent(
    stage: CoreFixture, clock: ManualClock
) -> None:
    await dropped(stage)
    spoilt = update(tables.claims).values(sealed=b"sealed with a key that is gone")
    await stage.app.database.write(lambda writing: writing.execute(spoilt))
    clock.at += SETTLE_SECONDS
    refused = await refusal(stage)
    again = await refusal(stage)

    assert (OutcomeUnknown, OutcomeUnknown) == (type(refused), type(again))
    assert "can no longer be read" in refused.message
    assert 1 == stage.shelf.request_count


@requirement("common-84")
async def test_a_key_of_a_thousand_characters_is_a_key(stage: CoreFixture) -> None:
    first = await make(stage, "é" * 1000)
    again = await make(stage, "é" * 1000)
    other = await make(stage, "é" * 999 + "e")

    assert first == again != other


async def test_rows_of_owners_are_purged_in_time(stage: CoreFixture, clock: ManualClock) -> None:
    await make(stage, f"key {ulid()}")
    clock.at += 3 * 24 * 60 * 60
    purged = await stage.app._owners.purge()

    assert 0 < purged
