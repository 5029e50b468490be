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


async def catch_error(core: CoreFixture) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(operation=try_twice)
    return error.value


async def test_a_rejected_step_is_replaced_by_its_alternative(core: CoreFixture) -> None:
    core.shelf.troubles = [REJECTED]
    envelope = await core.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(envelope)
    assert 2 == core.shelf.request_count


async def test_any_other_error_ends_the_write(core: CoreFixture) -> None:
    core.shelf.troubles = [Failure(UpstreamError("It failed.", doubt="failed"))]
    failed = await catch_error(core)

    assert "upstream_error" == failed.code
    assert 1 == core.shelf.request_count


@requirement("common-93")
async def test_a_skipped_step_is_not_resent_by_a_retry(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles = [REJECTED, in_doubt("silent")]
    await catch_error(core)
    core.shelf.things.append("cup")
    clock.at += SETTLE_SECONDS
    again = await core.put(operation=try_twice)

    assert {"thing_id": "thing 1"} == data(again)
    assert (["cup"], 2) == (core.shelf.things, core.shelf.request_count)


@requirement("common-93")
async def test_a_rejected_step_does_not_compete_with_its_alternative(core: CoreFixture) -> None:
    core.shelf.troubles = [REJECTED, None, in_doubt("cut", done=True)]
    await core.app._processes.heartbeat()
    await core.put(operation=try_twice)
    another = await core.put(key="key-2", operation=make_thing)

    assert {"thing_id": "thing 2"} == data(another)
    assert ["cup", "cup"] == core.shelf.things


async def test_a_write_with_both_steps_rejected_releases_its_key(core: CoreFixture) -> None:
    core.shelf.troubles = [REJECTED, REJECTED]
    error = await catch_error(core)
    again = await core.put("plate", operation=try_twice)

    assert ("upstream_refused", ()) == (error.code, tuple(error.details))
    assert {"thing_id": "thing 1"} == data(again)
    assert ["plate"] == core.shelf.things
