"""Deliveries: each event at least once, in the order of its connection, to slow or unavailable receivers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from connector_gateway.core.events.feed import Gap
from connector_gateway.core.events.gaps import format_time
from connector_gateway.core.history.backlog import BacklogMonitor
from connector_gateway.core.webhooks.delivery import (
    BATCH_SIZE,
    DISABLE_AFTER_SECONDS,
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_BATCHES,
    SKIP_AFTER_SECONDS,
    retry_delay,
)
from connector_gateway.core.webhooks.progress import CLAIM_SECONDS, MAX_PER_WEBHOOK
from connector_gateway.core.webhooks.sender import WebhookSender
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.identifiers import RunId
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway_client.webhooks import verify
from gateway.tests.core.webhooks.conftest import Post, posting
from harness.clocks import NOON, ManualClock
from harness.databases import sqlite_in
from harness.requirement import requirement
from harness.webhook_receiver import Inbox

FAILED: Any = (500, {}, b"")


def plants(inbox: Inbox) -> list[str]:
    """Return the plants that were delivered so far."""
    return [json.loads(inbox.take()[1])["data"]["plant"] for _ in range(inbox.arrived.qsize())]


# Content


@requirement("deliveries-3", "deliveries-4")
async def test_an_event_is_delivered_signed_and_as_its_route_returns_it(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    await post.see("a")
    await post.deliver()
    headers, body = inbox.take()
    delivery: Any = verify(headers, body, webhook["secret"], now=NOON)
    data = delivery.pop("data")

    assert {
        "type": "sprouted",
        "timestamp": format_timestamp(utc_datetime(NOON)),
        "connector": "garden",
        "connection_id": post.connection_id,
    } == delivery
    assert ("a", "sprouted", headers["webhook-id"]) == (data["plant"], data["type"], data["event_id"])
    assert ["event_id", "observed_at", "plant", "type"] == sorted(data)


@requirement("deliveries-5", "keys-11")
async def test_messages_name_a_gap_for_a_day(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.app._feed.record_gap(
        post.connection_id, Gap(RunId("run_1"), NOON - 60, NOON, "the database was restored.")
    )
    await post.see("a")
    await post.deliver()
    _, named = inbox.take()
    post.clock.at += 24 * 60 * 60 + 1
    await post.see("b")
    await post.deliver()
    _, silent = inbox.take()

    between = f"between {format_time(NOON - 60)} and {format_time(NOON)}"
    warning = f"Events {between} may be missing: the database was restored. See run run_1."
    assert [warning] == json.loads(named)["warnings"]
    assert "warnings" not in json.loads(silent)


@requirement("deliveries-5")
async def test_events_are_delivered_once_and_in_order(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see(*"abc")
    await post.see(*"de")
    await post.deliver()

    assert (list("abcde"), 0) == (plants(inbox), await post.deliver())
    assert [] == await post.runs()


@requirement("deliveries-2")
async def test_a_webhook_starts_with_events_after_its_creation(post: Post, inbox: Inbox) -> None:
    await post.see("before")
    await post.webhook(inbox.address)
    await post.see("after")
    await post.deliver()

    assert ["after"] == plants(inbox)


@requirement("deliveries-2")
async def test_a_webhook_can_be_limited_to_one_connection(post: Post, inbox: Inbox) -> None:
    other = await post.connect()
    await post.webhook(inbox.address, connection_id=other)
    await post.see("a")
    await post.see("b", connection_id=other)
    await post.deliver()

    assert ["b"] == plants(inbox)


@requirement("deliveries-2")
async def test_a_webhook_of_another_workspace_receives_nothing(post: Post, inbox: Inbox) -> None:
    workspace = await post.app.workspaces.create("others")
    await post.app.webhooks.create(workspace["workspace_id"], inbox.address)
    await post.see("a")

    assert 0 == await post.deliver()


@requirement("deliveries-9")
async def test_a_webhook_can_be_limited_to_event_types(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address, types=["withered"])
    await post.see(*"ab")
    await post.see("c", kind="withered")
    await post.see("d")
    await post.deliver()
    public = await post.app.webhooks.show(webhook["webhook_id"])
    replayed = await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id)

    assert (["c"], ["withered"], 0, 1) == (plants(inbox), public["types"], public["behind"], replayed["events"])


@requirement("deliveries-9")
async def test_changed_event_types_apply_to_waiting_events(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address, types=["withered"])
    await post.see("a")
    changed = await post.app.webhooks.change(webhook["webhook_id"], types=[])
    await post.deliver()

    assert ([], ["a"]) == (changed["types"], plants(inbox))


@requirement("deliveries-9")
async def test_an_unknown_event_type_is_rejected_by_name(post: Post, inbox: Inbox) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await post.webhook(inbox.address, types=["sprouted", "blossomed"])

    assert [{"parameter": "types", "value": "blossomed", "allowed": ["sprouted", "withered"]}] == raised.value.details


@requirement("deliveries-4")
async def test_a_rotated_secret_signs_alongside_the_previous_one(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    rotated = await post.app.webhooks.rotate(webhook["webhook_id"], 60)
    await post.see("a")
    await post.deliver()
    post.clock.at += 60
    await post.see("b")
    await post.deliver()
    first, second = inbox.take(), inbox.take()

    verify(*first, webhook["secret"], now=NOON)
    verify(*first, rotated["secret"], now=NOON)
    verify(*second, rotated["secret"], now=NOON + 60)
    assert 1 == len(second[0]["webhook-signature"].split(" "))


# Failing receivers


@requirement("deliveries-5", "deliveries-6")
async def test_a_rejected_event_is_retried_while_later_events_wait(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED]
    await post.see(*"ab")
    begun = [await post.deliver(), await post.deliver()]
    post.clock.at += FIRST_BACKOFF_SECONDS
    begun.append(await post.deliver())
    await post.see("c")
    early = await post.deliver()
    post.clock.at += 2 * FIRST_BACKOFF_SECONDS
    await post.deliver()

    assert ([1, 0, 1], 0, list("aaabc")) == (begun, early, plants(inbox))
    assert [("delivery_failed", 500)] == await post.runs()


@requirement("deliveries-6")
async def test_retry_delays_grow_with_jitter() -> None:
    pauses = [retry_delay(failures) for failures in range(40)]
    longest = FIRST_BACKOFF_SECONDS * 2.0**39

    assert all(0.8 * min(FIRST_BACKOFF_SECONDS * 2.0**n, MAX_BACKOFF_SECONDS) <= pauses[n] for n in range(40))
    assert all(pauses[n] <= min(FIRST_BACKOFF_SECONDS * 2.0**n, MAX_BACKOFF_SECONDS) for n in range(40))
    assert len(set(pauses)) > 30
    assert (7200.0, MAX_BACKOFF_SECONDS) == (retry_delay(0, 7200.0), retry_delay(0, longest))


@requirement("deliveries-6")
async def test_a_receivers_retry_after_is_respected(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [(429, {"Retry-After": "600"}, b"")]
    await post.see("a")
    await post.deliver()
    post.clock.at += 599
    early = await post.deliver()
    post.clock.at += 1

    assert (0, 1) == (early, await post.deliver())


@requirement("deliveries-6")
async def test_a_webhook_failing_for_days_is_disabled_and_resumes_at_its_position(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    inbox.answers = [FAILED] * 5
    await post.see(*"ab")
    await post.deliver()
    post.clock.at += DISABLE_AFTER_SECONDS - 1
    await post.deliver()
    before = await post.app.webhooks.show(webhook["webhook_id"])
    post.clock.at += MAX_BACKOFF_SECONDS
    await post.deliver()
    disabled = await post.app.webhooks.show(webhook["webhook_id"])
    await post.see("c")
    post.clock.at += MAX_BACKOFF_SECONDS
    meanwhile = await post.deliver()
    enabled = await post.app.webhooks.change(webhook["webhook_id"], status="active")
    await post.deliver()

    assert ["active", "disabled", "active"] == [public["status"] for public in (before, disabled, enabled)]
    assert ("failing", utc_datetime(NOON), 1) == (disabled["reason"], disabled["failing_since"], disabled["behind"])
    assert ("refused", 500) == (disabled["failing_result"], disabled["failing_status"])
    assert (0, list("aabababc")) == (meanwhile, plants(inbox))
    assert [("delivery_failed", 500), ("webhook_disabled", 500)] == await post.runs()


async def fail_for(post: Post, seconds: float) -> None:
    """Deliver without success for *seconds*."""
    await post.deliver()
    post.clock.at += seconds


@requirement("deliveries-10")
async def test_an_event_is_skipped_after_a_day_if_the_next_one_is_accepted(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED, FAILED, (204, {}, b""), FAILED]
    await post.see(*"abc")
    await fail_for(post, SKIP_AFTER_SECONDS - 1)
    await fail_for(post, MAX_BACKOFF_SECONDS)
    await post.deliver()
    public = await post.app.webhooks.show(webhook["webhook_id"])

    assert ("active", 0, None) == (public["status"], public["behind"], public["failing_since"])
    assert list("aaabac") == plants(inbox)
    assert [("delivery_failed", 500), ("event_left_out", 500)] == await post.runs()


@requirement("deliveries-5", "deliveries-10")
async def test_no_event_is_skipped_for_a_receiver_that_just_recovered(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED]
    await post.see(*"abc")
    await fail_for(post, SKIP_AFTER_SECONDS)
    await post.deliver()

    assert list("aabac") == plants(inbox)
    assert [("delivery_failed", 500)] == await post.runs()


@requirement("deliveries-5", "deliveries-10")
async def test_no_event_is_skipped_while_the_next_one_fails_too(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED, FAILED]
    await post.see(*"ab")
    await fail_for(post, SKIP_AFTER_SECONDS)
    await fail_for(post, MAX_BACKOFF_SECONDS)
    await post.deliver()

    assert list("aabab") == plants(inbox)


@requirement("deliveries-6")
async def test_a_webhook_that_accepts_other_connections_is_not_disabled(post: Post, inbox: Inbox) -> None:
    webhook, other = await post.webhook(inbox.address), await post.connect()
    inbox.answers = [FAILED, (204, {}, b""), FAILED]
    await post.see("a")
    await fail_for(post, 1)
    await post.see("b", connection_id=other)
    await fail_for(post, DISABLE_AFTER_SECONDS)
    await post.deliver()
    public = await post.app.webhooks.show(webhook["webhook_id"])

    assert (list("aba"), "active") == (plants(inbox), public["status"])
    assert (post.connection_id, utc_datetime(NOON)) == (public["failing_connection_id"], public["failing_since"])


@requirement("deliveries-6")
async def test_a_receiver_that_reports_gone_is_disabled_immediately(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    inbox.answers = [(410, {}, b"")]
    await post.see("a")
    await post.deliver()
    public = await post.app.webhooks.show(webhook["webhook_id"])

    assert ("disabled", "gone") == (public["status"], public["reason"])
    assert [("webhook_disabled", 410)] == await post.runs()


@requirement("deliveries-8")
async def test_a_redirect_is_not_followed(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [(307, {"Location": inbox.address}, b"")]
    await post.see("a")
    await post.deliver()

    assert (["a"], [("delivery_failed", 307)]) == (plants(inbox), await post.runs())


@requirement("secrets-10")
async def test_the_history_does_not_show_the_path_of_a_receiver(post: Post, inbox: Inbox) -> None:
    await post.webhook(f"{inbox.address}/T0/B0/a-secret")
    inbox.answers = [(500, {}, b"")]
    await post.see("a")
    await post.deliver()
    (run,) = await post.app.runs.list(post.workspace_id, operation="deliver_events")

    assert ["/…"] == [request["path"] for request in run["upstream"]]


async def test_the_run_of_a_failed_delivery_has_the_duration_of_its_request(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [(500, {}, b"")]
    await post.see("a")
    await post.deliver()
    (run,) = await post.app.runs.list(post.workspace_id, operation="deliver_events")

    assert 0 < run["upstream"][0]["duration_ms"] <= run["duration_ms"]


@pytest.fixture
async def public_only(tmp_path: Any, clock: ManualClock) -> AsyncIterator[Post]:
    """A process that delivers to public addresses only."""
    async for webhook in posting(sqlite_in(tmp_path), clock):
        yield webhook


@requirement("deliveries-8")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/events",
        "https://127.0.0.1/events",
        "https://[::1]/events",
        "https://[::ffff:10.0.0.1]/events",
        "https://10.1.2.3/events",
        "https://2130706433/events",
        "https://localhost/events",
        "http://localhost/events",
        "https://user@example.com/events",
        "ftp://example.com/events",
        "https://example.com/ev ents",
        "/events",
    ],
)
async def test_a_private_webhook_url_is_rejected(public_only: Post, url: str) -> None:
    with pytest.raises(InvalidParameters):
        await public_only.webhook(url)


@requirement("deliveries-8")
async def test_a_host_that_resolves_to_a_private_address_receives_nothing(public_only: Post, inbox: Inbox) -> None:
    attempt = await public_only.app._sender.send(inbox.address.replace("127.0.0.1", "localhost"), {}, b"{}")

    assert ("not_allowed", None, 0) == (attempt.result, attempt.status, inbox.arrived.qsize())


@requirement("deliveries-8")
async def test_a_silent_receiver_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    async with (
        await asyncio.start_server(silent, "127.0.0.1") as server,
        WebhookSender(private=True, seconds=0.05) as sender,
    ):
        port = server.sockets[0].getsockname()[1]
        attempt = await sender.send(f"http://127.0.0.1:{port}/", {}, b"{}")

    assert ("timed_out", None) == (attempt.result, attempt.status)


@requirement("deliveries-6")
async def test_an_unavailable_receiver_is_retried(post: Post) -> None:
    await post.webhook("http://127.0.0.1:1/events")
    await post.see("a")
    await post.deliver()

    assert [("delivery_failed", None)] == await post.runs()
    assert {("garden", "unreachable"): 1} == post.deliverer.results


@requirement("deliveries-8")
async def test_a_slow_webhook_does_not_block_others(post: Post, inbox: Inbox) -> None:
    slow = await post.webhook(inbox.address)
    connections = [await post.connect() for _ in range(MAX_PER_WEBHOOK + 1)]
    for connection_id in connections:
        await post.see("a", connection_id=connection_id)
    claimed = await post.app._positions.claim(50)
    later = await post.webhook(inbox.address)
    await post.see("b")
    further = await post.app._positions.claim(50, without=[slow["webhook_id"]])

    assert [slow["webhook_id"]] * MAX_PER_WEBHOOK == [one.webhook_id for one in claimed]
    assert [later["webhook_id"]] == [one.webhook_id for one in further]


async def test_long_backlogs_are_delivered_alternately(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    expected = [str(number) for number in range(BATCH_SIZE * MAX_BATCHES + 1)]
    await post.see(*expected)
    begun = [await post.deliver(), await post.deliver(), await post.deliver()]

    assert ([1, 1, 0], expected) == (begun, plants(inbox))


@requirement("common-131")
async def test_metrics_report_delivery_delays_and_failure_times(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    inbox.answers = [FAILED]
    await post.see("a")
    await fail_for(post, 100)
    backlog = await BacklogMonitor(post.app.database, post.clock, 60).now()
    await post.deliver()
    well = await BacklogMonitor(post.app.database, post.clock, 60).now()

    assert backlog is not None
    assert (100.0, True) == (backlog.webhook_failing_seconds, 95.0 <= backlog.webhook_lag_seconds <= 96.0)
    assert {"active": 1, "disabled": 0} == backlog.webhooks
    assert well is not None
    assert (0.0, 0.0) == (well.webhook_failing_seconds, well.webhook_lag_seconds)


# Several processes


@requirement("deliveries-5")
async def test_two_processes_deliver_an_event_once(post: Post, inbox: Inbox, common_database_url: str) -> None:
    await post.webhook(inbox.address)
    await post.see(*"abc")
    async for other in posting(common_database_url, post.clock, GATEWAY_PRIVATE_WEBHOOKS="on"):
        await asyncio.gather(post.deliver(), other.deliver())

    assert list("abc") == plants(inbox)


@requirement("deliveries-5")
async def test_the_delivery_of_a_dead_process_is_taken_over(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    (dead,) = await post.app._positions.claim(10)
    early = await post.deliver()
    post.clock.at += CLAIM_SECONDS
    late = await post.deliver()

    assert (0, 1, ["a"]) == (early, late, plants(inbox))
    assert "ClaimLost" == await error_after_takeover(post, dead)


@requirement("deliveries-5")
async def test_the_delivery_of_a_stopping_process_is_due_immediately(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    await post.app._positions.release(await post.app._positions.claim(10))

    assert (1, ["a"]) == (await post.deliver(), plants(inbox))


async def error_after_takeover(post: Post, claimed: Any) -> str:
    """Return the name of the error for a process whose work was taken over."""
    with pytest.raises(Exception) as error:  # noqa: PT011  # its type is compared
        await post.app._positions.advance(claimed, 1)
    return type(error.value).__name__


@requirement("deliveries-5")
async def test_an_event_stored_during_a_delivery_is_not_lost(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    (claimed,) = await post.app._positions.claim(10)
    await post.see("b")
    await post.app._positions.finish(claimed.up_to(1))

    assert (1, ["b"]) == (await post.deliver(), plants(inbox))


@requirement("deliveries-5")
async def test_an_event_observed_again_is_not_delivered_again(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    await post.deliver()
    await post.see("a")

    assert (0, ["a"]) == (await post.deliver(), plants(inbox))


@requirement("deliveries-5")
async def test_a_position_without_events_is_not_due(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    await post.expire()

    assert (1, 0, []) == (await post.deliver(), await post.deliver(), plants(inbox))


# Replays


@requirement("deliveries-7")
async def test_events_are_replayed_from_a_time_on(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    await post.see("a")
    post.clock.at += 10
    await post.see("b")
    await post.deliver()
    replay = await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id, since=NOON + 10)
    await post.deliver()

    assert (1, list("abb")) == (replay["events"], plants(inbox))


@requirement("deliveries-7")
async def test_events_are_replayed_after_an_event_with_the_same_identifier(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    await post.see(*"abc")
    await post.deliver()
    first = [inbox.take()[0]["webhook-id"] for _ in range(3)]
    replay = await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id, after=first[0])
    await post.deliver()

    assert (2, first[1:]) == (replay["events"], [inbox.take()[0]["webhook-id"] for _ in range(2)])


@requirement("deliveries-7")
async def test_events_from_before_a_webhook_can_be_replayed(post: Post, inbox: Inbox) -> None:
    await post.see(*"ab")
    webhook = await post.webhook(inbox.address)
    await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id)
    await post.deliver()

    assert list("ab") == plants(inbox)


@requirement("deliveries-7")
async def test_an_event_that_is_always_rejected_can_be_skipped(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    inbox.answers = [FAILED]
    await post.see(*"ab")
    await post.deliver()
    stuck = inbox.take()[0]["webhook-id"]
    await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id, after=stuck)
    await post.deliver()

    assert ["b"] == plants(inbox)


async def test_a_replay_ends_the_delivery_in_progress(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    await post.see("a")
    (claimed,) = await post.app._positions.claim(10)
    await post.app.webhooks.replay(webhook["webhook_id"], post.connection_id)

    assert "ClaimLost" == await error_after_takeover(post, claimed)


# Removal


async def test_a_removed_webhook_receives_nothing_and_leaves_no_rows(post: Post, inbox: Inbox) -> None:
    webhook = await post.webhook(inbox.address)
    await post.see("a")
    await post.app.webhooks.remove(webhook["webhook_id"])
    await post.see("b")

    assert (0, []) == (await post.deliver(), plants(inbox))
    assert [] == (await post.app.webhooks.page()).rows


async def test_positions_of_removed_connections_are_purged(post: Post, inbox: Inbox) -> None:
    await post.webhook(inbox.address)
    await post.see("a")
    await post.deliver()
    purged = await post.app._positions.purge()
    await post.app.connection_service.remove(post.connection_id)

    assert (0, 1, 0) == (purged, await post.app._positions.purge(), await post.app._positions.purge())
