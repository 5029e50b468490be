"""Writes that take another path after an error, and their later attempts; on both databases."""

from typing import Any

import pytest

from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import GatewayError, StorageUnavailable, UpstreamError, UpstreamRefused
from connector_gateway.kit.operation import writes
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep
from harness.clocks import ManualClock
from harness.core_fixture import (
    PUT,
    SETTLE_SECONDS,
    CoreFixture,
    Failure,
    PutThing,
    ShelfClient,
    Thing,
    data,
    in_doubt,
)

ShelfCall = OperationContext[ShelfClient]

FOG = "fog"
"""While this thing lies on the shelf, every search fails."""


async def _put(call: ShelfCall, intent: StepInput, _: str) -> StepResult:
    return {"id": await call.upstream.put(intent["name"])}


async def _find(call: ShelfCall, intent: StepInput, _: SentStep) -> list[Match]:
    things = call.upstream.shelf.things
    if FOG in things:
        raise UpstreamError("Nothing can be seen.")
    return [Match({"id": intent["name"]})] if intent["name"] in things else []


async def _remove(call: ShelfCall, intent: StepInput, _: str) -> StepResult:
    await call.upstream.put(f"no {intent['name']}")
    call.upstream.shelf.things.remove(intent["name"])
    return {}


async def _find_gone(call: ShelfCall, intent: StepInput, _: SentStep) -> list[Match]:
    return [] if intent["name"] in call.upstream.shelf.things else [Match({})]


COVER = WriteStep("put the lid on", _put, _find)
REMOVE = WriteStep("take the thing away", _remove, _find_gone)


@writes("POST /boxes")
async def put_box(call: ShelfCall, params: PutThing) -> Thing:
    """Put a box with its lid on the shelf, or neither."""
    await call.step(PUT, {"name": params.name})
    try:
        return Thing(thing_id=(await call.step(COVER, {"name": "lid"}))["id"])
    except GatewayError:
        await call.undo(REMOVE, {"name": params.name})
        raise


@writes("POST /spares")
async def put_or_spare(call: ShelfCall, params: PutThing) -> Thing:
    """Put a thing on the shelf, or a spare one if that is rejected."""
    try:
        return Thing(thing_id=(await call.step(PUT, {"name": params.name}))["id"])
    except UpstreamRefused:
        return Thing(thing_id=(await call.step(COVER, {"name": "spare"}))["id"])


def fail_once() -> Failure:
    """Return a definite error, a new one each time, since finished steps are added to it."""
    return Failure(UpstreamRefused("No."))


async def catch_error(core: CoreFixture, name: str, operation: Any, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(name, operation=operation, **more)
    return error.value


async def test_an_undone_step_is_not_reported_and_releases_the_key(core: CoreFixture) -> None:
    core.shelf.troubles += [None, fail_once()]
    error = await catch_error(core, "box", put_box)
    await core.put("crate", operation=put_box)

    assert ("upstream_refused", []) == (error.code, error.details)
    assert ["no box", "crate", "lid"] == core.shelf.things


async def test_no_step_is_undone_while_a_later_step_is_in_doubt(core: CoreFixture) -> None:
    core.shelf.troubles += [None, in_doubt("silent")]
    unknown = await catch_error(core, "box", put_box)

    assert [{"done": "put the thing", "id": "thing 1"}] == unknown.details
    assert ["box"] == core.shelf.things


async def test_no_step_is_undone_if_the_search_for_a_later_step_fails(core: CoreFixture) -> None:
    core.shelf.troubles += [None, in_doubt("silent", done=True)]
    core.shelf.things.append(FOG)
    await catch_error(core, "box", put_box)
    unseen = await catch_error(core, "box", put_box)
    core.shelf.things.remove(FOG)
    await core.put("box", operation=put_box)

    assert "upstream_error" == unseen.code
    assert ["box", "lid"] == core.shelf.things


async def test_no_step_is_undone_if_a_later_step_could_not_be_stored(
    core: CoreFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, commit = core.app.database, core.app.database.put_all
    failures = [StorageUnavailable("The connection broke during the commit.")]

    async def commit_without_acknowledgement(*arguments: Any, **more: Any) -> bool:
        done = await commit(*arguments, **more)
        if core.shelf.things and failures:
            raise failures.pop()
        return done

    monkeypatch.setattr(database, "put_all", commit_without_acknowledgement)
    error = await catch_error(core, "box", put_box)
    await core.put("box", operation=put_box)

    assert ("storage_unavailable", [{"done": "put the thing", "id": "thing 1"}]) == (error.code, error.details)
    assert ["box", "lid"] == core.shelf.things


async def test_an_uncertain_undo_is_reported_and_repeated_by_the_retry(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles += [None, fail_once(), in_doubt("silent")]
    error = await catch_error(core, "box", put_box)
    clock.at += SETTLE_SECONDS
    again = await catch_error(core, "box", put_box)
    await core.put("crate", operation=put_box)

    assert ("upstream_refused", [{"done": "put the thing", "id": "thing 1"}]) == (error.code, error.details)
    assert ("upstream_refused", []) == (again.code, again.details)
    assert ["no box", "crate", "lid"] == core.shelf.things


async def test_a_repeated_error_retains_its_own_remedy(core: CoreFixture, clock: ManualClock) -> None:
    unwashed = UpstreamRefused("No.")
    unwashed.remedy = "Wash it first."
    core.shelf.troubles += [None, Failure(unwashed), in_doubt("silent")]
    await catch_error(core, "box", put_box)
    clock.at += SETTLE_SECONDS
    again = await catch_error(core, "box", put_box)

    assert ("upstream_refused", "Wash it first.") == (again.code, again.remedy)


async def test_a_skipped_optional_step_is_not_sent_by_a_later_attempt(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles += [fail_once(), in_doubt("silent")]
    await catch_error(core, "cup", put_or_spare)
    clock.at += SETTLE_SECONDS
    again = await core.put("cup", operation=put_or_spare)

    assert {"thing_id": "thing 1"} == data(again)
    assert ["spare"] == core.shelf.things


async def test_a_rejected_write_without_a_key_leaves_nothing(core: CoreFixture) -> None:
    core.shelf.troubles += [None, fail_once()]
    error = await catch_error(core, "box", put_box, key=None)

    assert [] == error.details
    assert ["no box"] == core.shelf.things
