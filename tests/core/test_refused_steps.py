"""A step that is refused in a write that goes on: it did nothing, and that is remembered."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from connector_gateway.kit.call import Call
from connector_gateway.kit.errors import GatewayError, UpstreamRefused
from connector_gateway.kit.operation import writes
from connector_gateway.kit.writing import REFUSAL, Found, Intent, Learned, Sent, Step
from connector_gateway.storage import tables
from harness.clocks import HandClock
from harness.rehearsing import MAKE, REFUSED, PutThing, ShelfClient, Stage, Thing, data, doubtful, rehearsing
from harness.requirement import requirement


async def _try(call: Call[ShelfClient], intent: Intent, mark: str) -> Learned:
    try:
        return await MAKE.send(call, intent, mark)
    except UpstreamRefused:
        return {REFUSAL: "No."}


async def _find_nothing(call: Call[ShelfClient], intent: Intent, sent: Sent) -> list[Found]:
    return []


TRY = Step("try the thing", _try, _find_nothing, makes="thing")


@writes("POST /either")
async def put_either(call: Call[ShelfClient], params: PutThing) -> Thing:
    """Put a thing on the shelf; if that is refused, a spare one and another."""
    learned = await call.step(TRY, {"name": params.name})
    if REFUSAL in learned:
        learned = await call.step(MAKE, {"name": params.name})
        await call.step(MAKE, {"name": "another"})
    return Thing(thing_id=learned["id"])


@pytest.fixture
async def stage(common_database_url: str, clock: HandClock) -> AsyncIterator[Stage]:
    async with rehearsing(common_database_url, clock) as prepared:
        yield prepared


async def refusal(stage: Stage) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(operation=put_either)
    return refused.value


async def owners(stage: Stage) -> list[Any]:
    return await stage.app.database.read(lambda reading: list(reading.execute(select(tables.owned.c.upstream_id))))


async def test_the_write_goes_on_and_owns_what_it_made(stage: Stage) -> None:
    stage.shelf.troubles.append(REFUSED)
    made = data(await stage.put(operation=put_either))["thing_id"]

    assert "thing 1" == made
    assert [("thing 1",), ("thing 2",)] == sorted(await owners(stage))


async def test_it_stands_in_nobodys_way(stage: Stage) -> None:
    stage.shelf.troubles += [REFUSED, doubtful("cut", done=True)]
    await stage.put(operation=put_either)

    assert ["cup", "another"] == stage.shelf.things


@requirement("idempotency:recovery")
async def test_a_repeat_does_not_send_it_again(stage: Stage) -> None:
    stage.shelf.troubles += [REFUSED, None, doubtful("failed")]
    first = await refusal(stage)
    again = data(await stage.put(operation=put_either))["thing_id"]

    assert [{"done": "make the thing", "id": "thing 1"}] == first.details
    assert "thing 1" == again
    assert ["cup", "another"] == stage.shelf.things


@requirement("idempotency:released")
async def test_it_is_not_told_as_done_and_leaves_the_key_free(stage: Stage) -> None:
    stage.shelf.troubles += [REFUSED, REFUSED]
    first = await refusal(stage)
    await stage.put("plate", operation=put_either)

    assert [] == first.details
    assert ["plate"] == stage.shelf.things
