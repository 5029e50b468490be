"""Writes that go on after a refusal with another step: what was refused is not sent again by later attempts."""

import pytest

from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import GatewayError, UpstreamError, UpstreamRefused
from connector_gateway.kit.operation import writes
from harness.clocks import ManualClock
from harness.core_fixture import (
    MAKE,
    REJECTED,
    SETTLE_SECONDS,
    CoreFixture,
    Failure,
    PutThing,
    ShelfClient,
    Thing,
    data,
    in_doubt,
    make_thing,
    on_shelf,
)
from harness.requirement import requirement


@writes("POST /tries")
async def try_twice(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Put a thing on the shelf; where that is refused, try once more."""
    try:
        made = await call.step(MAKE, on_shelf(call, params))
    except UpstreamRefused:
        made = await call.step(MAKE, on_shelf(call, params))
    return Thing(thing_id=made["id"])


async def refusal(stage: CoreFixture) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(operation=try_twice)
    return refused.value


async def test_what_is_refused_is_tried_otherwise(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED]
    made = await stage.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(made)
    assert 2 == stage.shelf.request_count


async def test_what_is_not_refused_in_that_way_ends_the_write(stage: CoreFixture) -> None:
    stage.shelf.troubles = [Failure(UpstreamError("It failed.", doubt="failed"))]
    failed = await refusal(stage)

    assert "upstream_error" == failed.code
    assert 1 == stage.shelf.request_count


@requirement("common-93")
async def test_what_was_passed_over_is_not_sent_again_by_a_repeat(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles = [REJECTED, in_doubt("silent")]
    await refusal(stage)
    stage.shelf.things.append("cup")
    clock.at += SETTLE_SECONDS
    again = await stage.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(again)
    assert (["cup"], 2) == (stage.shelf.things, stage.shelf.request_count)


@requirement("common-93")
async def test_what_was_refused_is_no_twin_of_what_is_made(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED, None, in_doubt("cut", done=True)]
    await stage.app._processes.heartbeat()
    await stage.put(operation=try_twice)
    another = await stage.put(key="key-2", operation=make_thing)

    assert {"thing_id": "thing 2"} == data(another)
    assert ["cup", "cup"] == stage.shelf.things


async def test_a_write_that_is_refused_both_ways_gives_its_key_free(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED, REJECTED]
    refused = await refusal(stage)
    again = await stage.put("plate", operation=try_twice)

    assert ("upstream_refused", ()) == (refused.code, tuple(refused.details))
    assert {"thing_id": "thing 1"} == data(again)
    assert ["plate"] == stage.shelf.things
