"""Idempotency, on both databases and with a manual clock."""

import asyncio
import gc
from typing import Any

import pytest
from sqlalchemy import ColumnElement, select, update

from connector_gateway.core.connections import Vault
from connector_gateway.core.heartbeats import DEAD_AFTER_SECONDS
from connector_gateway.core.history.runs import RunRecorder
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.writes.idempotency import WINDOW_SECONDS
from connector_gateway.core.writes.write_executor import CHECK_UPSTREAM_FIRST, WriteAttempt
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
from connector_gateway.kit.models import format_timestamp
from connector_gateway.storage.sql import tables
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
    put_unprovably,
    run_core,
)
from harness.requirement import requirement

GRACE_SECONDS = 5.0


async def catch_error(core: CoreFixture, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        await core.put(**more)
    return error.value


def is_own_claim(core: CoreFixture) -> ColumnElement[bool]:
    """Return the claims of this fixture, which shares its database with others."""
    return tables.claims.c.connection_id == core.connection_id


@requirement("common-87", "common-89")
async def test_a_retry_returns_the_first_result_with_its_own_run(core: CoreFixture) -> None:
    first = await core.put()
    retry = await core.put()

    assert (data(first), first.status) == (data(retry), retry.status)
    assert (False, True) == (first.replayed, retry.replayed)
    assert first.run_id != retry.run_id
    assert ["cup"] == core.shelf.things


@requirement("secrets-2")
async def test_the_first_result_is_stored_encrypted(core: CoreFixture) -> None:
    first = await core.put()
    query = select(tables.claims.c.sealed).where(is_own_claim(core))
    sealed = await core.app.database.read(lambda db: db.execute(query).scalar_one())

    assert {"thing_id": "thing 1"} == data(first)
    assert b"thing" not in sealed


@requirement("secrets-8")
async def test_a_retry_with_an_unreadable_first_result_sends_nothing(core: CoreFixture) -> None:
    await core.put()
    sealed = Vault(SecretKeys(["a secret of others"])).encrypt({}, "anybody")
    foreign = update(tables.claims).where(is_own_claim(core)).values(sealed=sealed)
    await core.app.database.write(lambda db: db.execute(foreign).rowcount)
    error = await catch_error(core)

    assert ("secret_unreadable", ["cup"]) == (error.code, core.shelf.things)


@requirement("common-87")
async def test_a_retry_with_other_parameters_returns_the_first_result(core: CoreFixture) -> None:
    first = await core.put("cup")
    retry = await core.put("plate")

    assert data(first) == data(retry)
    assert ["cup"] == core.shelf.things


@requirement("common-90")
async def test_twenty_concurrent_calls_create_one_object_and_all_return_it(core: CoreFixture) -> None:
    envelopes = await asyncio.gather(*(core.put() for _ in range(20)))

    assert ["cup"] == core.shelf.things
    assert 1 == len({b"".join(map(bytes, envelope.data)) for envelope in envelopes})
    assert 19 == sum(envelope.replayed for envelope in envelopes)


async def test_no_call_waits_for_an_ended_claim(core: CoreFixture) -> None:
    await core.put()

    assert {} == core.app._claims._local_claims


async def test_the_memory_of_a_call_is_freed_when_it_ends(core: CoreFixture) -> None:
    gc.disable()
    try:
        envelope = await core.put()
        attempts = [one for one in gc.get_objects() if type(one) is WriteAttempt]
        left = [one for one in attempts if one.work.run.run_id == envelope.run_id]
    finally:
        gc.enable()

    assert [] == left


async def test_the_history_shows_first_and_replayed_outcomes(core: CoreFixture) -> None:
    first = await core.put()
    retry = await core.put()
    outcomes = [(await core.app.runs.show(envelope.run_id, None))["idempotency"] for envelope in (first, retry)]

    assert [
        {"key": "key-1", "outcome": "first"},
        {"key": "key-1", "outcome": "replayed", "first_run_id": first.run_id},
    ] == outcomes


@requirement("common-82")
async def test_other_keys_connections_and_operations_are_other_writes(core: CoreFixture) -> None:
    await core.put("one", "key-1")
    await core.put("two", "key-2")
    await core.put("three", "key-1", connection_id=await core.new_connection())
    await core.put("four", "key-1", operation=put_blindly)

    assert ["one", "two", "three", "four"] == core.shelf.things


@requirement("common-93")
async def test_a_write_that_nothing_can_prove_is_not_sent_again(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles = [in_doubt("cut", done=True)]
    first = await catch_error(core, operation=put_unprovably)
    clock.at += SETTLE_SECONDS
    repeat = await catch_error(core, operation=put_unprovably)

    assert ("outcome_unknown", "outcome_unknown") == (first.code, repeat.code)
    assert ["cup"] == core.shelf.things
    assert "not sent again" in repeat.message


async def test_calls_without_a_key_are_separate_writes(core: CoreFixture) -> None:
    await core.put(key=None)
    await core.put(key=None)

    assert ["cup", "cup"] == core.shelf.things


@requirement("common-85")
async def test_header_and_body_keys_are_equivalent(core: CoreFixture) -> None:
    first = await core.put(key=None, header="key-1")
    retry = await core.put(key="key-1")

    assert data(first) == data(retry)
    assert ["cup"] == core.shelf.things


@requirement("common-86")
async def test_different_header_and_body_keys_are_rejected(core: CoreFixture) -> None:
    error = await catch_error(core, key="key-1", header="key-2")

    assert isinstance(error, InvalidParameters)
    assert "idempotency_key" == error.details[0]["parameter"]
    assert [] == core.shelf.things


@requirement("common-84")
@pytest.mark.parametrize("header", ["", "k" * 1001])
async def test_an_invalid_header_key_is_rejected(core: CoreFixture, header: str) -> None:
    error = await catch_error(core, key=None, header=header)

    assert isinstance(error, InvalidParameters)
    assert "idempotency_key" == error.details[0]["parameter"]


@requirement("common-92")
async def test_a_definite_error_releases_the_key(core: CoreFixture) -> None:
    core.shelf.troubles.append(REJECTED)
    error = await catch_error(core)
    retry = await core.put()

    assert isinstance(error, UpstreamRefused)
    assert not retry.replayed
    assert ["cup"] == core.shelf.things


async def test_calls_that_wait_for_a_rejected_call_are_attempted(core: CoreFixture) -> None:
    core.shelf.troubles.append(REJECTED)
    outcomes = await asyncio.gather(*(core.put() for _ in range(5)), return_exceptions=True)

    assert 1 == sum(isinstance(outcome, UpstreamRefused) for outcome in outcomes)
    assert ["cup"] == core.shelf.things


@requirement("common-83")
async def test_a_key_is_valid_for_24_hours_after_success(core: CoreFixture, clock: ManualClock) -> None:
    first = await core.put()
    clock.at += WINDOW_SECONDS - 1
    within = await core.put()
    clock.at += 2
    after = await core.put()

    assert (True, False) == (within.replayed, after.replayed)
    assert first.run_id != after.run_id
    assert ["cup", "cup"] == core.shelf.things


@requirement("common-91")
async def test_a_call_waits_for_a_concurrent_call_only_for_a_limited_time(core: CoreFixture) -> None:
    core.shelf.gate.clear()
    first_call = asyncio.create_task(core.put())
    async with run_core(core.app.settings.database_url, ManualClock(), core.shelf) as other:
        other.workspace_id, other.caller = core.workspace_id, core.caller
        other.connection_id = core.connection_id
        await core.shelf.wait_for_request()
        error = await catch_error(other)
        core.shelf.gate.set()
        await first_call

    assert isinstance(error, IdempotencyInProgress)
    assert 1 == error.retry_after
    assert ["cup"] == core.shelf.things


async def test_a_retry_in_another_process_waits_for_and_returns_the_first_result(
    core: CoreFixture, clock: ManualClock
) -> None:
    core.shelf.gate.clear()
    first_call = asyncio.create_task(core.put())
    await core.shelf.wait_for_request()
    clock.slept.clear()
    async with run_core(core.app.settings.database_url, core.clock, core.shelf) as other:
        other.workspace_id, other.caller = core.workspace_id, core.caller
        other.connection_id = core.connection_id
        repeating = asyncio.create_task(other.put())
        await clock.slept.wait()
        core.shelf.gate.set()
        first, retry = await asyncio.gather(first_call, repeating)

    assert data(first) == data(retry)
    assert ["cup"] == core.shelf.things


async def test_a_call_that_is_not_recorded_releases_its_key(core: CoreFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise StorageUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(RunRecorder, "open_statements", fail)
        error = await catch_error(core)
    retry = await core.put()

    assert "storage_unavailable" == error.code
    assert not retry.replayed
    assert ["cup"] == core.shelf.things


# In doubt


@requirement("common-79")
async def test_the_effect_of_an_in_doubt_write_is_found_immediately(core: CoreFixture) -> None:
    core.shelf.troubles.append(in_doubt("cut", done=True))
    first = await core.put()
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(first) == data(retry)
    assert ["cup"] == core.shelf.things


async def test_the_effect_of_an_in_doubt_write_without_a_key_is_searched(core: CoreFixture) -> None:
    core.shelf.troubles.append(in_doubt("cut", done=True))
    envelope = await core.put(key=None)

    assert {"thing_id": "thing 1"} == data(envelope)


@requirement("common-80")
async def test_an_in_doubt_write_without_effect_has_an_unknown_outcome(core: CoreFixture) -> None:
    core.shelf.troubles.append(in_doubt("cut"))
    error = await catch_error(core)

    assert isinstance(error, OutcomeUnknown)
    assert 1 == core.shelf.request_count


@requirement("common-93", "outcomes-7", "outcomes-10")
@pytest.mark.parametrize("cause", ["cut", "silent", "edge", "garbled"])
async def test_an_in_doubt_call_searches_at_growing_intervals_before_it_is_deferred(
    core: CoreFixture, clock: ManualClock, cause: Any
) -> None:
    core.shelf.troubles.append(in_doubt(cause))
    sent_at = clock.at
    first = await catch_error(core)
    answered_at = clock.at
    retry = await catch_error(core)

    assert isinstance(retry, OutcomeUnknown)
    assert answered_at + GRACE_SECONDS == clock.at
    assert (SETTLE_SECONDS - GRACE_SECONDS, SETTLE_SECONDS - 2 * GRACE_SECONDS) == (
        first.retry_after,
        retry.retry_after,
    )
    assert [
        at + pause for at in (sent_at, answered_at) for pause in (0, 0.5, 1.5, GRACE_SECONDS)
    ] == core.shelf.searched_at
    assert 1 == core.shelf.request_count


@requirement("common-93")
async def test_a_retry_writes_what_settles_within_the_grace_time(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("cut"))
    sent_at = clock.at
    await catch_error(core)
    clock.at = sent_at + SETTLE_SECONDS - 1
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(retry)
    assert sent_at + SETTLE_SECONDS == clock.at
    assert ["cup"] == core.shelf.things


@requirement("common-93")
async def test_a_late_object_after_a_lost_connection_is_found_and_not_created_again(core: CoreFixture) -> None:
    core.shelf.troubles.append(in_doubt("cut"))
    await catch_error(core)
    core.shelf.things.append("cup")
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(retry)
    assert ["cup"] == core.shelf.things


@requirement("common-81")
async def test_a_retry_after_a_timeout_waits_until_the_write_settles(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("silent"))
    sent_at = clock.at
    await catch_error(core)
    clock.at = sent_at + 10
    early = await catch_error(core)
    clock.at = sent_at + SETTLE_SECONDS
    late = await core.put()

    assert isinstance(early, OutcomeUnknown)
    assert SETTLE_SECONDS - 10 - GRACE_SECONDS == early.retry_after
    assert {"thing_id": "thing 1"} == data(late)
    assert ["cup"] == core.shelf.things


@requirement("common-96")
async def test_deferring_a_retry_does_not_extend_the_settle_time(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("silent"))
    sent_at = clock.at
    await catch_error(core)
    clock.at = sent_at + 30
    await catch_error(core)
    clock.at = sent_at + 40
    retry = await catch_error(core)

    assert SETTLE_SECONDS - 40 - GRACE_SECONDS == retry.retry_after


async def test_a_late_object_after_a_timeout_is_found(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("silent"))
    await catch_error(core)
    clock.at += 10
    core.shelf.things.append("cup")
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(retry)
    assert ["cup"] == core.shelf.things


async def test_a_retry_after_a_reported_failure_writes_immediately(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(Failure(UpstreamError("Oh.", doubt="failed")))
    await catch_error(core)
    before = clock.at
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(retry)
    assert before == clock.at
    assert 2 == len(core.shelf.searches)


async def test_an_unexpected_response_puts_the_write_in_doubt(core: CoreFixture) -> None:
    core.shelf.troubles.append(Failure(KeyError("id"), done=True))
    first = await core.put()
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(first) == data(retry)
    assert ["cup"] == core.shelf.things


async def test_a_call_that_is_cancelled_leaves_the_write_in_doubt(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.gate.clear()
    cancelled = asyncio.create_task(core.put())
    await core.shelf.wait_for_request()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    core.shelf.gate.set()
    early = await catch_error(core)
    clock.at += SETTLE_SECONDS
    retry = await core.put()

    assert isinstance(early, OutcomeUnknown)
    assert {"thing_id": "thing 1"} == data(retry)
    assert ["cup"] == core.shelf.things


async def test_a_cancelled_call_is_reported_as_interrupted(core: CoreFixture) -> None:
    core.shelf.gate.clear()
    cancelled = asyncio.create_task(core.put())
    await core.shelf.wait_for_request()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    (run,) = await core.app.runs.list(core.workspace_id)

    assert "interrupted" == run["status"]


@requirement("common-101")
async def test_a_partial_write_reports_finished_steps_and_is_completed_by_a_retry(core: CoreFixture) -> None:
    core.shelf.troubles += [None, Failure(UpstreamRefused("No."))]
    error = await catch_error(core, operation=put_pair)
    retry = await core.put(operation=put_pair)

    assert isinstance(error, UpstreamRefused)
    assert [{"done": "put the thing", "id": "thing 1"}] == error.details
    assert {"thing_id": "thing 2"} == data(retry)
    assert ["cup", "cup too"] == core.shelf.things


@requirement("outcomes-10", "outcomes-11")
async def test_a_retry_resolves_an_in_doubt_write_once_it_took_effect(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("edge"))
    await catch_error(core)
    core.shelf.things.append("cup")
    began = clock.at
    retry = await core.put()

    assert {"thing_id": "thing 1"} == data(retry)
    assert began == clock.at
    assert 1 == core.shelf.request_count


@requirement("outcomes-8")
async def test_an_in_doubt_error_states_when_the_write_settles(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("edge"))
    settles_at = format_timestamp(utc_datetime(clock.at + SETTLE_SECONDS))
    errors = [await catch_error(core), await catch_error(core)]

    assert [True, True] == [f"until {settles_at};" in error.message for error in errors]


@requirement("outcomes-6")
async def test_a_failure_reported_by_the_vendor_settles_the_write(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(Failure(UpstreamError("It failed.", doubt="failed")))
    began = clock.at
    failed = await catch_error(core)
    retry = await core.put()

    assert isinstance(failed, UpstreamError)
    assert {"thing_id": "thing 1"} == data(retry)
    assert began == clock.at


@requirement("common-81", "outcomes-9")
async def test_a_write_without_a_key_is_not_resent_and_its_remedy_is_to_check(core: CoreFixture) -> None:
    core.shelf.troubles.append(in_doubt("cut"))
    error = await catch_error(core, key=None)

    assert isinstance(error, OutcomeUnknown)
    assert (CHECK_UPSTREAM_FIRST, None) == (error.remedy, error.retry_after)
    assert 1 == core.shelf.request_count


async def test_a_failed_search_leaves_the_write_in_doubt(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.troubles.append(in_doubt("cut"))
    await catch_error(core)
    objects, core.shelf.things = core.shelf.things, None  # type: ignore[assignment]
    failed = await catch_error(core)
    core.shelf.things = objects
    clock.at += SETTLE_SECONDS
    retry = await core.put()

    assert "internal_error" == failed.code
    assert {"thing_id": "thing 1"} == data(retry)


# Crashes


@requirement("common-94")
async def test_the_write_of_a_dead_process_is_searched_before_it_is_sent(database_url: str, clock: ManualClock) -> None:
    async with run_core(database_url, clock) as dead:
        dead.shelf.gate.clear()
        lost = asyncio.create_task(dead.put())
        await dead.shelf.wait_for_request()
        async with run_core(database_url, clock, dead.shelf) as living:
            living.workspace_id, living.caller = dead.workspace_id, dead.caller
            living.connection_id = dead.connection_id
            await living.app._processes.heartbeat()
            dead.shelf.things.append("cup")
            retry = await living.put()
        dead.shelf.gate.set()
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)

    assert {"thing_id": "thing 1"} == data(retry)
    assert ["cup"] == dead.shelf.things


async def test_the_claim_of_a_live_process_is_not_taken_over(core: CoreFixture, clock: ManualClock) -> None:
    core.shelf.gate.clear()
    await core.app._processes.heartbeat()
    first_call = asyncio.create_task(core.put())
    await core.shelf.wait_for_request()
    clock.at += DEAD_AFTER_SECONDS - 1
    await core.app._processes.heartbeat()
    core.shelf.gate.set()
    first = await first_call
    retry = await core.put()

    assert retry.replayed
    assert data(first) == data(retry)


async def test_expired_claims_are_purged(database_url: str, clock: ManualClock) -> None:
    async with run_core(database_url, clock) as core:
        await core.put(key="old")
        clock.at += WINDOW_SECONDS - 10
        await core.put(key="young")
        clock.at += 20
        purged = await core.app._claims.purge()
        retry = await core.put(key="young")

    assert 1 == purged
    assert retry.replayed
