"""One key for one object, and claims of earlier releases, on both databases."""

import hashlib
from typing import Any

import pytest

from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.history.runs import Run
from connector_gateway.core.writes.idempotency_messages import different_parameters
from connector_gateway.kit.errors import GatewayError, IdempotencyKeyReused
from connector_gateway.kit.json_encoding import encode_json
from harness.clocks import ManualClock
from harness.core_fixture import SETTLE_SECONDS, CoreFixture, data, in_doubt, place_thing
from harness.requirement import requirement

LONG = "k" * 300


async def put_on_board(core: CoreFixture, name: str = "cup", *, board: str = "top", building: str = "hall") -> Any:
    """Put a thing on a board, which the path names, in a building, which the body names."""
    body = {"connection_id": core.connection_id, "name": name, "building": building}
    arguments = Arguments(path={"board": board}, body=Body(encode_json(body)), key=NormalizedKey.parse("key-1"))
    return await core.gateway.call(Run("test"), core.caller, "shelf", place_thing, arguments)


async def catch_error(core: CoreFixture, **more: Any) -> GatewayError:
    with pytest.raises(IdempotencyKeyReused) as error:
        await put_on_board(core, **more)
    return error.value


@requirement("keys-9")
@pytest.mark.parametrize("other", [{"board": "bottom"}, {"building": "cellar"}])
async def test_a_key_used_for_another_object_is_rejected(core: CoreFixture, other: dict[str, str]) -> None:
    first = await put_on_board(core)
    error = await catch_error(core, **other)

    assert [{"parameter": "idempotency_key", "first_run_id": first.run_id}] == error.details
    assert ["cup"] == core.shelf.things


@requirement("keys-9")
async def test_an_in_doubt_key_is_rejected_for_another_object(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("silent"))
    with pytest.raises(GatewayError):
        await put_on_board(core)
    await clock.sleep(SETTLE_SECONDS)
    error = await catch_error(core, board="bottom")

    assert "first_run_id" in error.details[0]
    assert [] == core.shelf.things


@requirement("keys-10")
async def test_a_retry_with_other_parameters_returns_a_warning(core: CoreFixture) -> None:
    first = await put_on_board(core)
    retry = await put_on_board(core, "plate")
    run = await core.app.runs.show(retry.run_id, None)

    assert data(first) == data(retry)
    assert ([], [different_parameters(first.run_id)]) == (list(first.warnings), list(retry.warnings))
    assert {
        "key": "key-1",
        "outcome": "replayed",
        "first_run_id": first.run_id,
        "parameters_differ": True,
    } == run["idempotency"]


@requirement("keys-10")
async def test_an_in_doubt_write_is_resolved_by_the_first_parameters_with_a_warning(
    core: CoreFixture, clock: ManualClock
) -> None:
    core.shelf.troubles.append(in_doubt("silent"))
    with pytest.raises(GatewayError):
        await put_on_board(core)
    await clock.sleep(SETTLE_SECONDS)
    retry = await put_on_board(core, "plate")

    assert [different_parameters(None)] == list(retry.warnings)
    assert ["cup"] == core.shelf.things


@requirement("keys-10")
async def test_null_does_not_count_as_another_parameter(core: CoreFixture) -> None:
    await core.put()
    retry = await core.put(colour=None)

    assert [] == list(retry.warnings)


@requirement("keys-7")
async def test_a_key_that_spells_the_digest_of_a_long_key_is_separate(core: CoreFixture) -> None:
    await core.put(key=LONG)
    retry = await core.put(key="sha256:" + hashlib.sha256(LONG.encode()).hexdigest())

    assert not retry.replayed
    assert ["cup", "cup"] == core.shelf.things
