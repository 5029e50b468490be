"""Writes that continue with another step after an error. Later attempts do not resend the rejected step."""

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
    """Put a thing on the shelf. If that is rejected, try once more."""
    try:
        created = await call.step(MAKE, on_shelf(call, params))
    except UpstreamRefused:
        created = await call.step(MAKE, on_shelf(call, params))
    return Thing(thing_id=created["id"])


async def catch_error(stage: CoreFixture) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await stage.put(operation=try_twice)
    return error.value


async def test_a_rejected_step_is_replaced_by_its_alternative(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED]
    envelope = await stage.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(envelope)
    assert 2 == stage.shelf.request_count


async def test_any_other_error_ends_the_write(stage: CoreFixture) -> None:
    stage.shelf.troubles = [Failure(UpstreamError("It failed.", doubt="failed"))]
    failed = await catch_error(stage)

    assert "upstream_error" == failed.code
    assert 1 == stage.shelf.request_count


@requirement("common-93")
async def test_a_skipped_step_is_not_resent_by_a_retry(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles = [REJECTED, in_doubt("silent")]
    await catch_error(stage)
    stage.shelf.things.append("cup")
    clock.at += SETTLE_SECONDS
    again = await stage.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(again)
    assert (["cup"], 2) == (stage.shelf.things, stage.shelf.request_count)


@requirement("common-93")
async def test_a_rejected_step_does_not_compete_with_its_alternative(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED, None, in_doubt("cut", done=True)]
    await stage.app._processes.heartbeat()
    await stage.put(operation=try_twice)
    another = await stage.put(key="key-2", operation=make_thing)

    assert {"thing_id": "thing 2"} == data(another)
    assert ["cup", "cup"] == stage.shelf.things


async def test_a_write_with_both_steps_rejected_releases_its_key(stage: CoreFixture) -> None:
    stage.shelf.troubles = [REJECTED, REJECTED]
    error = await catch_error(stage)
    again = await stage.put("plate", operation=try_twice)

    assert ("upstream_refused", ()) == (error.code, tuple(error.details))
    assert {"thing_id": "thing 1"} == data(again)
    assert ["plate"] == stage.shelf.things
