"""Idempotency, on both databases and by a clock that is set by hand."""

import asyncio
import gc
from typing import Any

import pytest
from sqlalchemy import ColumnElement, select, update

from connector_gateway.core.connections import Vault
from connector_gateway.core.history.runs import RunRecorder
from connector_gateway.core.process_registry import DEAD_AFTER_SECONDS
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.writes.claims import WINDOW_SECONDS
from connector_gateway.core.writes.protocol import CHECK_UPSTREAM_FIRST, WriteAttempt
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import (
    GatewayError,
    IdempotencyInProgress,
    InvalidParameters,
    OutcomeUnknown,
    StorageUnavailable,
    UpstreamError,
    UpstreamRefused,
)
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway.storage import tables
from harness.clocks import ManualClock
from harness.core_fixture import (
    REJECTED,
    SETTLE_SECONDS,
    CoreFixture,
    Failure,
    data,
    in_doubt,
    put_blindly,
    put_pair,
    run_core,
)
from harness.requirement import requirement

GRACE_SECONDS = 5.0


async def refusal(stage: CoreFixture, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as refused:
        await stage.put(**more)
    return refused.value


def of_connection(stage: CoreFixture) -> ColumnElement[bool]:
    """The claims of this stage, which shares its database with others."""
    return tables.claims.c.connection_id == stage.connection_id


@requirement("common-87", "common-89")
async def test_a_repeat_gets_the_first_result_with_a_run_of_its_own(stage: CoreFixture) -> None:
    first = await stage.put()
    again = await stage.put()

    assert (data(first), first.status) == (data(again), again.status)
    assert (False, True) == (first.replayed, again.replayed)
    assert first.run_id != again.run_id
    assert ["cup"] == stage.shelf.things


@requirement("secrets-2")
async def test_the_first_result_is_stored_encrypted(stage: CoreFixture) -> None:
    first = await stage.put()
    query = select(tables.claims.c.sealed).where(of_connection(stage))
    sealed = await stage.app.database.read(lambda reading: reading.execute(query).scalar_one())

    assert {"thing_id": "thing 1"} == data(first)
    assert b"thing" not in sealed


@requirement("secrets-8")
async def test_a_repeat_whose_first_result_cannot_be_decrypted_sends_nothing(stage: CoreFixture) -> None:
    await stage.put()
    sealed = Vault(SecretKeys(["a secret of others"])).encrypt({}, "anybody")
    foreign = update(tables.claims).where(of_connection(stage)).values(sealed=sealed)
    await stage.app.database.write(lambda writing: writing.execute(foreign).rowcount)
    refused = await refusal(stage)

    assert ("secret_unreadable", ["cup"]) == (refused.code, stage.shelf.things)


@requirement("common-87")
async def test_a_repeat_gets_the_first_result_whatever_else_it_says(stage: CoreFixture) -> None:
    first = await stage.put("cup")
    again = await stage.put("plate")

    assert data(first) == data(again)
    assert ["cup"] == stage.shelf.things


@requirement("common-90")
async def test_twenty_at_once_put_one_thing_and_all_get_it(stage: CoreFixture) -> None:
    envelopes = await asyncio.gather(*(stage.put() for _ in range(20)))

    assert ["cup"] == stage.shelf.things
    assert 1 == len({b"".join(map(bytes, envelope.data)) for envelope in envelopes})
    assert 19 == sum(envelope.replayed for envelope in envelopes)


async def test_nobody_waits_for_a_claim_that_has_ended(stage: CoreFixture) -> None:
    await stage.put()

    assert {} == stage.app._claims._held_by_process


async def test_what_a_call_was_made_of_is_freed_when_it_ends(stage: CoreFixture) -> None:
    gc.disable()
    try:
        envelope = await stage.put()
        attempts = [one for one in gc.get_objects() if type(one) is WriteAttempt]
        left = [one for one in attempts if one.work.run.run_id == envelope.run_id]
    finally:
        gc.enable()

    assert [] == left


async def test_the_history_tells_first_and_replayed(stage: CoreFixture) -> None:
    first = await stage.put()
    again = await stage.put()
    told = [(await stage.app.runs.show(envelope.run_id, None))["idempotency"] for envelope in (first, again)]

    assert [
        {"key": "key-1", "outcome": "first"},
        {"key": "key-1", "outcome": "replayed", "first_run_id": first.run_id},
    ] == told


@requirement("common-82")
async def test_other_keys_other_connections_and_other_operations_are_other_writes(stage: CoreFixture) -> None:
    await stage.put("one", "key-1")
    await stage.put("two", "key-2")
    await stage.put("three", "key-1", connection_id=await stage.new_connection())
    await stage.put("four", "key-1", operation=put_blindly)

    assert ["one", "two", "three", "four"] == stage.shelf.things


async def test_without_a_key_every_call_is_a_write_of_its_own(stage: CoreFixture) -> None:
    await stage.put(key=None)
    await stage.put(key=None)

    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-85")
async def test_the_key_of_the_header_means_the_same_as_that_of_the_body(stage: CoreFixture) -> None:
    first = await stage.put(key=None, header="key-1")
    again = await stage.put(key="key-1")

    assert data(first) == data(again)
    assert ["cup"] == stage.shelf.things


@requirement("common-86")
async def test_a_header_that_says_another_key_than_the_body_is_refused(stage: CoreFixture) -> None:
    refused = await refusal(stage, key="key-1", header="key-2")

    assert isinstance(refused, InvalidParameters)
    assert "idempotency_key" == refused.details[0]["parameter"]
    assert [] == stage.shelf.things


@requirement("common-84")
@pytest.mark.parametrize("header", ["", "k" * 1001])
async def test_a_header_that_is_no_key_is_refused(stage: CoreFixture, header: str) -> None:
    refused = await refusal(stage, key=None, header=header)

    assert isinstance(refused, InvalidParameters)
    assert "idempotency_key" == refused.details[0]["parameter"]


@requirement("common-92")
async def test_a_definite_refusal_gives_the_key_free(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(REJECTED)
    refused = await refusal(stage)
    again = await stage.put()

    assert isinstance(refused, UpstreamRefused)
    assert not again.replayed
    assert ["cup"] == stage.shelf.things


async def test_those_who_wait_for_a_call_that_is_refused_try_themselves(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(REJECTED)
    outcomes = await asyncio.gather(*(stage.put() for _ in range(5)), return_exceptions=True)

    assert 1 == sum(isinstance(outcome, UpstreamRefused) for outcome in outcomes)
    assert ["cup"] == stage.shelf.things


@requirement("common-83")
async def test_a_key_counts_for_24_hours_from_the_success(stage: CoreFixture, clock: ManualClock) -> None:
    first = await stage.put()
    clock.at += WINDOW_SECONDS - 1
    within = await stage.put()
    clock.at += 2
    after = await stage.put()

    assert (True, False) == (within.replayed, after.replayed)
    assert first.run_id != after.run_id
    assert ["cup", "cup"] == stage.shelf.things


@requirement("common-91")
async def test_a_caller_does_not_wait_forever_for_another_one(stage: CoreFixture) -> None:
    stage.shelf.gate.clear()
    holding = asyncio.create_task(stage.put())
    async with run_core(stage.app.settings.database_url, ManualClock(), stage.shelf) as other:
        other.workspace_id, other.caller = stage.workspace_id, stage.caller
        other.connection_id = stage.connection_id
        await stage.shelf.wait_for_request()
        refused = await refusal(other)
        stage.shelf.gate.set()
        await holding

    assert isinstance(refused, IdempotencyInProgress)
    assert 1 == refused.retry_after
    assert ["cup"] == stage.shelf.things


async def test_a_repeat_at_another_process_waits_for_the_first_and_gets_its_result(
    stage: CoreFixture, clock: ManualClock
) -> None:
    stage.shelf.gate.clear()
    holding = asyncio.create_task(stage.put())
    await stage.shelf.wait_for_request()
    clock.slept.clear()
    async with run_core(stage.app.settings.database_url, stage.clock, stage.shelf) as other:
        other.workspace_id, other.caller = stage.workspace_id, stage.caller
        other.connection_id = stage.connection_id
        repeating = asyncio.create_task(other.put())
        await clock.slept.wait()
        stage.shelf.gate.set()
        first, again = await asyncio.gather(holding, repeating)

    assert data(first) == data(again)
    assert ["cup"] == stage.shelf.things


async def test_a_call_that_cannot_be_recorded_gives_the_key_free(
    stage: CoreFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise StorageUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(RunRecorder, "open_statements", fail)
        refused = await refusal(stage)
    again = await stage.put()

    assert "storage_unavailable" == refused.code
    assert not again.replayed
    assert ["cup"] == stage.shelf.things


# Doubt


@requirement("common-79")
async def test_what_was_done_in_doubt_is_found_at_once(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(in_doubt("cut", done=True))
    first = await stage.put()
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(first) == data(again)
    assert ["cup"] == stage.shelf.things


async def test_an_unkeyed_write_in_doubt_is_looked_for_as_well(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(in_doubt("cut", done=True))
    envelope = await stage.put(key=None)

    assert {"thing_id": "thing 1"} == data(envelope)


@requirement("common-80")
async def test_what_was_not_done_in_doubt_is_said_to_be_unknown(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(in_doubt("cut"))
    refused = await refusal(stage)

    assert isinstance(refused, OutcomeUnknown)
    assert 1 == stage.shelf.request_count


@requirement("common-93", "outcomes-7", "outcomes-10")
@pytest.mark.parametrize("doubt", ["cut", "silent", "edge", "garbled"])
async def test_a_call_in_doubt_searches_at_growing_intervals_before_it_is_put_off(
    stage: CoreFixture, clock: ManualClock, doubt: Any
) -> None:
    stage.shelf.troubles.append(in_doubt(doubt))
    sent_at = clock.at
    first = await refusal(stage)
    told_at = clock.at
    again = await refusal(stage)

    assert isinstance(again, OutcomeUnknown)
    assert told_at + GRACE_SECONDS == clock.at
    assert (SETTLE_SECONDS - GRACE_SECONDS, SETTLE_SECONDS - 2 * GRACE_SECONDS) == (
        first.retry_after,
        again.retry_after,
    )
    assert [
        at + pause for at in (sent_at, told_at) for pause in (0, 0.5, 1.5, GRACE_SECONDS)
    ] == stage.shelf.searched_at
    assert 1 == stage.shelf.request_count


@requirement("common-93")
async def test_what_settles_within_the_grace_is_written_by_the_repeat(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(in_doubt("cut"))
    sent_at = clock.at
    await refusal(stage)
    clock.at = sent_at + SETTLE_SECONDS - 1
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(again)
    assert sent_at + SETTLE_SECONDS == clock.at
    assert ["cup"] == stage.shelf.things


@requirement("common-93")
async def test_after_a_cut_a_thing_that_comes_late_is_found_and_not_made_again(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(in_doubt("cut"))
    await refusal(stage)
    stage.shelf.things.append("cup")
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(again)
    assert ["cup"] == stage.shelf.things


@requirement("common-81")
async def test_after_silence_a_repeat_is_put_off_until_the_third_party_has_surely_ended(
    stage: CoreFixture, clock: ManualClock
) -> None:
    stage.shelf.troubles.append(in_doubt("silent"))
    sent_at = clock.at
    await refusal(stage)
    clock.at = sent_at + 10
    early = await refusal(stage)
    clock.at = sent_at + SETTLE_SECONDS
    late = await stage.put()

    assert isinstance(early, OutcomeUnknown)
    assert SETTLE_SECONDS - 10 - GRACE_SECONDS == early.retry_after
    assert {"thing_id": "thing 1"} == data(late)
    assert ["cup"] == stage.shelf.things


@requirement("common-96")
async def test_putting_a_repeat_off_does_not_prolong_the_doubt(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(in_doubt("silent"))
    sent_at = clock.at
    await refusal(stage)
    clock.at = sent_at + 30
    await refusal(stage)
    clock.at = sent_at + 40
    again = await refusal(stage)

    assert SETTLE_SECONDS - 40 - GRACE_SECONDS == again.retry_after


async def test_after_silence_a_thing_that_comes_late_is_found(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(in_doubt("silent"))
    await refusal(stage)
    clock.at += 10
    stage.shelf.things.append("cup")
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(again)
    assert ["cup"] == stage.shelf.things


async def test_after_a_failure_that_the_application_told_a_repeat_looks_and_writes_at_once(
    stage: CoreFixture, clock: ManualClock
) -> None:
    stage.shelf.troubles.append(Failure(UpstreamError("Oh.", doubt="failed")))
    await refusal(stage)
    before = clock.at
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(again)
    assert before == clock.at
    assert 2 == len(stage.shelf.searches)


async def test_an_answer_of_another_shape_is_a_doubt_like_any_other(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(Failure(KeyError("id"), done=True))
    first = await stage.put()
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(first) == data(again)
    assert ["cup"] == stage.shelf.things


async def test_a_call_that_is_cancelled_leaves_the_write_in_doubt(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.gate.clear()
    cancelled = asyncio.create_task(stage.put())
    await stage.shelf.wait_for_request()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    stage.shelf.gate.set()
    early = await refusal(stage)
    clock.at += SETTLE_SECONDS
    again = await stage.put()

    assert isinstance(early, OutcomeUnknown)
    assert {"thing_id": "thing 1"} == data(again)
    assert ["cup"] == stage.shelf.things


async def test_a_cancelled_call_is_told_as_interrupted(stage: CoreFixture) -> None:
    stage.shelf.gate.clear()
    cancelled = asyncio.create_task(stage.put())
    await stage.shelf.wait_for_request()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    (run,) = await stage.app.runs.list(stage.workspace_id)

    assert "interrupted" == run["status"]


@requirement("common-101")
async def test_a_write_that_stops_halfway_tells_what_stands_and_is_completed_by_a_repeat(stage: CoreFixture) -> None:
    stage.shelf.troubles += [None, Failure(UpstreamRefused("No."))]
    refused = await refusal(stage, operation=put_pair)
    again = await stage.put(operation=put_pair)

    assert isinstance(refused, UpstreamRefused)
    assert [{"done": "put the thing", "id": "thing 1"}] == refused.details
    assert {"thing_id": "thing 2"} == data(again)
    assert ["cup", "cup too"] == stage.shelf.things


@requirement("outcomes-10", "outcomes-11")
async def test_a_repeat_ends_a_doubt_as_soon_as_the_work_is_there(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(in_doubt("edge"))
    await refusal(stage)
    stage.shelf.things.append("cup")
    began = clock.at
    again = await stage.put()

    assert {"thing_id": "thing 1"} == data(again)
    assert began == clock.at
    assert 1 == stage.shelf.request_count


@requirement("outcomes-8")
async def test_an_error_in_doubt_says_until_when_the_write_may_be_carried_out(
    stage: CoreFixture, clock: ManualClock
) -> None:
    stage.shelf.troubles.append(in_doubt("edge"))
    settles_at = format_timestamp(utc_datetime(clock.at + SETTLE_SECONDS))
    errors = [await refusal(stage), await refusal(stage)]

    assert [True, True] == [f"until {settles_at};" in error.message for error in errors]


@requirement("outcomes-6")
async def test_a_failure_of_the_vendor_itself_ends_the_doubt(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(Failure(UpstreamError("It failed.", doubt="failed")))
    began = clock.at
    failed = await refusal(stage)
    again = await stage.put()

    assert isinstance(failed, UpstreamError)
    assert {"thing_id": "thing 1"} == data(again)
    assert began == clock.at


@requirement("common-81", "outcomes-9")
async def test_without_a_key_nothing_is_sent_twice_and_the_remedy_speaks_of_looking(stage: CoreFixture) -> None:
    stage.shelf.troubles.append(in_doubt("cut"))
    refused = await refusal(stage, key=None)

    assert isinstance(refused, OutcomeUnknown)
    assert (CHECK_UPSTREAM_FIRST, None) == (refused.remedy, refused.retry_after)
    assert 1 == stage.shelf.request_count


async def test_when_looking_fails_as_well_the_doubt_stays(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.troubles.append(in_doubt("cut"))
    await refusal(stage)
    things, stage.shelf.things = stage.shelf.things, None  # type: ignore[assignment]
    failed = await refusal(stage)
    stage.shelf.things = things
    clock.at += SETTLE_SECONDS
    again = await stage.put()

    assert "internal_error" == failed.code
    assert {"thing_id": "thing 1"} == data(again)


# Crashes


@requirement("common-94")
async def test_what_a_dead_process_held_is_looked_for_before_it_is_written(
    database_url: str, clock: ManualClock
) -> None:
    async with run_core(database_url, clock) as dead:
        dead.shelf.gate.clear()
        lost = asyncio.create_task(dead.put())
        await dead.shelf.wait_for_request()
        async with run_core(database_url, clock, dead.shelf) as living:
            living.workspace_id, living.caller = dead.workspace_id, dead.caller
            living.connection_id = dead.connection_id
            await living.app._processes.heartbeat()
            dead.shelf.things.append("cup")
            again = await living.put()
        dead.shelf.gate.set()
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)

    assert {"thing_id": "thing 1"} == data(again)
    assert ["cup"] == dead.shelf.things


async def test_what_a_living_process_holds_is_left_alone(stage: CoreFixture, clock: ManualClock) -> None:
    stage.shelf.gate.clear()
    await stage.app._processes.heartbeat()
    holding = asyncio.create_task(stage.put())
    await stage.shelf.wait_for_request()
    clock.at += DEAD_AFTER_SECONDS - 1
    await stage.app._processes.heartbeat()
    stage.shelf.gate.set()
    first = await holding
    again = await stage.put()

    assert again.replayed
    assert data(first) == data(again)


async def test_expired_claims_are_purged(database_url: str, clock: ManualClock) -> None:
    async with run_core(database_url, clock) as stage:
        await stage.put(key="old")
        clock.at += WINDOW_SECONDS - 10
        await stage.put(key="young")
        clock.at += 20
        purged = await stage.app._claims.purge()
        again = await stage.put(key="young")

    assert 1 == purged
    assert again.replayed
