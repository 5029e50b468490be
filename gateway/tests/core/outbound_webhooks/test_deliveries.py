"""Deliveries: each event at least once, in the order of its connection, to slow or unavailable receivers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from connector_gateway.core.backlog_metrics import BacklogMonitor
from connector_gateway.core.events.feed import Gap
from connector_gateway.core.events.feed_gaps import format_time
from connector_gateway.core.outbound_webhooks.delivery_positions import CLAIM_SECONDS, MAX_PER_WEBHOOK
from connector_gateway.core.outbound_webhooks.delivery_worker import (
    BATCH_SIZE,
    DISABLE_AFTER_SECONDS,
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_BATCHES,
    SKIP_AFTER_SECONDS,
    retry_delay,
)
from connector_gateway.core.outbound_webhooks.sender import WebhookSender
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.identifiers import RunId
from connector_gateway.kit.models import format_timestamp
from connector_gateway_client.webhooks import verify
from gateway.tests.core.outbound_webhooks.conftest import DeliveryNode, open_node
from harness.clocks import NOON, ManualClock
from harness.databases import sqlite_in
from harness.requirement import requirement
from harness.webhook_receiver import Inbox

FAILED: Any = (500, {}, b"")


def list_plants(inbox: Inbox) -> list[str]:
    """Return the plants that were delivered so far."""
    return [json.loads(inbox.take()[1])["data"]["plant"] for _ in range(inbox.arrived.qsize())]


# Content


@requirement("deliveries-3", "deliveries-4")
async def test_an_event_is_delivered_signed_and_as_its_route_returns_it(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    await node.see("a")
    await node.deliver()
    headers, body = inbox.take()
    delivery: Any = verify(headers, body, webhook["secret"], now=NOON)
    data = delivery.pop("data")

    assert {
        "type": "sprouted",
        "timestamp": format_timestamp(utc_datetime(NOON)),
        "connector": "garden",
        "connection_id": node.connection_id,
    } == delivery
    assert ("a", "sprouted", headers["webhook-id"]) == (data["plant"], data["type"], data["event_id"])
    assert ["event_id", "observed_at", "plant", "type"] == sorted(data)


@requirement("deliveries-5", "keys-11")
async def test_messages_name_a_gap_for_a_day(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.app._feed.record_gap(
        node.connection_id, Gap(RunId("run_1"), NOON - 60, NOON, "the database was restored.")
    )
    await node.see("a")
    await node.deliver()
    _, named = inbox.take()
    node.clock.at += 24 * 60 * 60 + 1
    await node.see("b")
    await node.deliver()
    _, silent = inbox.take()

    between = f"between {format_time(NOON - 60)} and {format_time(NOON)}"
    warning = f"Events {between} may be missing: the database was restored. See run run_1."
    assert [warning] == json.loads(named)["warnings"]
    assert "warnings" not in json.loads(silent)


@requirement("deliveries-5")
async def test_events_are_delivered_once_and_in_order(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see(*"abc")
    await node.see(*"de")
    await node.deliver()

    assert (list("abcde"), 0) == (list_plants(inbox), await node.deliver())
    assert [] == await node.runs()


@requirement("deliveries-2")
async def test_a_webhook_starts_with_events_after_its_creation(node: DeliveryNode, inbox: Inbox) -> None:
    await node.see("before")
    await node.webhook(inbox.address)
    await node.see("after")
    await node.deliver()

    assert ["after"] == list_plants(inbox)


@requirement("deliveries-2")
async def test_a_webhook_can_be_limited_to_one_connection(node: DeliveryNode, inbox: Inbox) -> None:
    other = await node.connect()
    await node.webhook(inbox.address, connection_id=other)
    await node.see("a")
    await node.see("b", connection_id=other)
    await node.deliver()

    assert ["b"] == list_plants(inbox)


@requirement("deliveries-2")
async def test_a_webhook_of_another_workspace_receives_nothing(node: DeliveryNode, inbox: Inbox) -> None:
    workspace = await node.app.workspaces.create("others")
    await node.app.webhooks.create(workspace["workspace_id"], inbox.address)
    await node.see("a")

    assert 0 == await node.deliver()


@requirement("deliveries-9")
async def test_a_webhook_can_be_limited_to_event_types(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address, types=["withered"])
    await node.see(*"ab")
    await node.see("c", kind="withered")
    await node.see("d")
    await node.deliver()
    public = await node.app.webhooks.show(webhook["webhook_id"])
    replayed = await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id)

    assert (["c"], ["withered"], 0, 1) == (list_plants(inbox), public["types"], public["behind"], replayed["events"])


@requirement("deliveries-9")
async def test_changed_event_types_apply_to_waiting_events(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address, types=["withered"])
    await node.see("a")
    changed = await node.app.webhooks.change(webhook["webhook_id"], types=[])
    await node.deliver()

    assert ([], ["a"]) == (changed["types"], list_plants(inbox))


@requirement("deliveries-9")
async def test_an_unknown_event_type_is_rejected_by_name(node: DeliveryNode, inbox: Inbox) -> None:
    with pytest.raises(InvalidParameters) as raised:
        await node.webhook(inbox.address, types=["sprouted", "blossomed"])

    assert [{"parameter": "types", "value": "blossomed", "allowed": ["sprouted", "withered"]}] == raised.value.details


@requirement("deliveries-4")
async def test_a_rotated_secret_signs_alongside_the_previous_one(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    rotated = await node.app.webhooks.rotate(webhook["webhook_id"], 60)
    await node.see("a")
    await node.deliver()
    node.clock.at += 60
    await node.see("b")
    await node.deliver()
    first, second = inbox.take(), inbox.take()

    verify(*first, webhook["secret"], now=NOON)
    verify(*first, rotated["secret"], now=NOON)
    verify(*second, rotated["secret"], now=NOON + 60)
    assert 1 == len(second[0]["webhook-signature"].split(" "))


# Failing receivers


@requirement("deliveries-5", "deliveries-6")
async def test_a_rejected_event_is_retried_while_later_events_wait(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED]
    await node.see(*"ab")
    begun = [await node.deliver(), await node.deliver()]
    node.clock.at += FIRST_BACKOFF_SECONDS
    begun.append(await node.deliver())
    await node.see("c")
    early = await node.deliver()
    node.clock.at += 2 * FIRST_BACKOFF_SECONDS
    await node.deliver()

    assert ([1, 0, 1], 0, list("aaabc")) == (begun, early, list_plants(inbox))
    assert [("delivery_failed", 500)] == await node.runs()


@requirement("deliveries-6")
async def test_retry_delays_grow_with_jitter() -> None:
    pauses = [retry_delay(failures) for failures in range(40)]
    longest = FIRST_BACKOFF_SECONDS * 2.0**39

    assert all(0.8 * min(FIRST_BACKOFF_SECONDS * 2.0**n, MAX_BACKOFF_SECONDS) <= pauses[n] for n in range(40))
    assert all(pauses[n] <= min(FIRST_BACKOFF_SECONDS * 2.0**n, MAX_BACKOFF_SECONDS) for n in range(40))
    assert len(set(pauses)) > 30
    assert (7200.0, MAX_BACKOFF_SECONDS) == (retry_delay(0, 7200.0), retry_delay(0, longest))


@requirement("deliveries-6")
async def test_a_receivers_retry_after_is_respected(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [(429, {"Retry-After": "600"}, b"")]
    await node.see("a")
    await node.deliver()
    node.clock.at += 599
    early = await node.deliver()
    node.clock.at += 1

    assert (0, 1) == (early, await node.deliver())


@requirement("deliveries-6")
async def test_a_webhook_failing_for_days_is_disabled_and_resumes_at_its_position(
    node: DeliveryNode, inbox: Inbox
) -> None:
    webhook = await node.webhook(inbox.address)
    inbox.answers = [FAILED] * 5
    await node.see(*"ab")
    await node.deliver()
    node.clock.at += DISABLE_AFTER_SECONDS - 1
    await node.deliver()
    before = await node.app.webhooks.show(webhook["webhook_id"])
    node.clock.at += MAX_BACKOFF_SECONDS
    await node.deliver()
    disabled = await node.app.webhooks.show(webhook["webhook_id"])
    await node.see("c")
    node.clock.at += MAX_BACKOFF_SECONDS
    meanwhile = await node.deliver()
    enabled = await node.app.webhooks.change(webhook["webhook_id"], status="active")
    await node.deliver()

    assert ["active", "disabled", "active"] == [public["status"] for public in (before, disabled, enabled)]
    assert ("failing", utc_datetime(NOON), 1) == (disabled["reason"], disabled["failing_since"], disabled["behind"])
    assert ("refused", 500) == (disabled["failing_result"], disabled["failing_status"])
    assert (0, list("aabababc")) == (meanwhile, list_plants(inbox))
    assert [("delivery_failed", 500), ("webhook_disabled", 500)] == await node.runs()


async def fail_for(node: DeliveryNode, seconds: float) -> None:
    """Deliver without success for *seconds*."""
    await node.deliver()
    node.clock.at += seconds


@requirement("deliveries-10")
async def test_an_event_is_skipped_after_a_day_if_the_next_one_is_accepted(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED, FAILED, (204, {}, b""), FAILED]
    await node.see(*"abc")
    await fail_for(node, SKIP_AFTER_SECONDS - 1)
    await fail_for(node, MAX_BACKOFF_SECONDS)
    await node.deliver()
    public = await node.app.webhooks.show(webhook["webhook_id"])

    assert ("active", 0, None) == (public["status"], public["behind"], public["failing_since"])
    assert list("aaabac") == list_plants(inbox)
    assert [("delivery_failed", 500), ("event_left_out", 500)] == await node.runs()


@requirement("deliveries-5", "deliveries-10")
async def test_no_event_is_skipped_for_a_receiver_that_just_recovered(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED]
    await node.see(*"abc")
    await fail_for(node, SKIP_AFTER_SECONDS)
    await node.deliver()

    assert list("aabac") == list_plants(inbox)
    assert [("delivery_failed", 500)] == await node.runs()


@requirement("deliveries-5", "deliveries-10")
async def test_no_event_is_skipped_while_the_next_one_fails_too(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [FAILED, FAILED, FAILED]
    await node.see(*"ab")
    await fail_for(node, SKIP_AFTER_SECONDS)
    await fail_for(node, MAX_BACKOFF_SECONDS)
    await node.deliver()

    assert list("aabab") == list_plants(inbox)


@requirement("deliveries-6")
async def test_a_webhook_that_accepts_other_connections_is_not_disabled(node: DeliveryNode, inbox: Inbox) -> None:
    webhook, other = await node.webhook(inbox.address), await node.connect()
    inbox.answers = [FAILED, (204, {}, b""), FAILED]
    await node.see("a")
    await fail_for(node, 1)
    await node.see("b", connection_id=other)
    await fail_for(node, DISABLE_AFTER_SECONDS)
    await node.deliver()
    public = await node.app.webhooks.show(webhook["webhook_id"])

    assert (list("aba"), "active") == (list_plants(inbox), public["status"])
    assert (node.connection_id, utc_datetime(NOON)) == (public["failing_connection_id"], public["failing_since"])


@requirement("deliveries-6")
async def test_a_receiver_that_reports_gone_is_disabled_immediately(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    inbox.answers = [(410, {}, b"")]
    await node.see("a")
    await node.deliver()
    public = await node.app.webhooks.show(webhook["webhook_id"])

    assert ("disabled", "gone") == (public["status"], public["reason"])
    assert [("webhook_disabled", 410)] == await node.runs()


@requirement("deliveries-8")
async def test_a_redirect_is_not_followed(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [(307, {"Location": inbox.address}, b"")]
    await node.see("a")
    await node.deliver()

    assert (["a"], [("delivery_failed", 307)]) == (list_plants(inbox), await node.runs())


@requirement("secrets-10")
async def test_the_history_does_not_show_the_path_of_a_receiver(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(f"{inbox.address}/T0/B0/a-secret")
    inbox.answers = [(500, {}, b"")]
    await node.see("a")
    await node.deliver()
    (run,) = await node.app.runs.list(node.workspace_id, operation="deliver_events")

    assert ["/…"] == [request["path"] for request in run["upstream"]]


async def test_the_run_of_a_failed_delivery_has_the_duration_of_its_request(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [(500, {}, b"")]
    await node.see("a")
    await node.deliver()
    (run,) = await node.app.runs.list(node.workspace_id, operation="deliver_events")

    assert 0 < run["upstream"][0]["duration_ms"] <= run["duration_ms"]


@pytest.fixture
async def public_only(tmp_path: Any, clock: ManualClock) -> AsyncIterator[DeliveryNode]:
    """A process that delivers to public addresses only."""
    async for webhook in open_node(sqlite_in(tmp_path), clock):
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
async def test_a_private_webhook_url_is_rejected(public_only: DeliveryNode, url: str) -> None:
    with pytest.raises(InvalidParameters):
        await public_only.webhook(url)


@requirement("deliveries-8")
async def test_a_host_that_resolves_to_a_private_address_receives_nothing(
    public_only: DeliveryNode, inbox: Inbox
) -> None:
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
async def test_an_unavailable_receiver_is_retried(node: DeliveryNode) -> None:
    await node.webhook("http://127.0.0.1:1/events")
    await node.see("a")
    await node.deliver()

    assert [("delivery_failed", None)] == await node.runs()
    assert {("garden", "unreachable"): 1} == node.deliverer.results


@requirement("deliveries-8")
async def test_a_slow_webhook_does_not_block_others(node: DeliveryNode, inbox: Inbox) -> None:
    slow = await node.webhook(inbox.address)
    connections = [await node.connect() for _ in range(MAX_PER_WEBHOOK + 1)]
    for connection_id in connections:
        await node.see("a", connection_id=connection_id)
    claimed = await node.app._positions.claim(50)
    later = await node.webhook(inbox.address)
    await node.see("b")
    further = await node.app._positions.claim(50, without=[slow["webhook_id"]])

    assert [slow["webhook_id"]] * MAX_PER_WEBHOOK == [one.webhook_id for one in claimed]
    assert [later["webhook_id"]] == [one.webhook_id for one in further]


async def test_long_backlogs_are_delivered_alternately(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    expected = [str(number) for number in range(BATCH_SIZE * MAX_BATCHES + 1)]
    await node.see(*expected)
    begun = [await node.deliver(), await node.deliver(), await node.deliver()]

    assert ([1, 1, 0], expected) == (begun, list_plants(inbox))


@requirement("common-131")
async def test_metrics_report_delivery_delays_and_failure_times(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    inbox.answers = [FAILED]
    await node.see("a")
    await fail_for(node, 100)
    backlog = await BacklogMonitor(node.app.database, node.clock, 60).now()
    await node.deliver()
    well = await BacklogMonitor(node.app.database, node.clock, 60).now()

    assert backlog is not None
    assert (100.0, True) == (backlog.webhook_failing_seconds, 95.0 <= backlog.webhook_lag_seconds <= 96.0)
    assert {"active": 1, "disabled": 0} == backlog.webhooks
    assert well is not None
    assert (0.0, 0.0) == (well.webhook_failing_seconds, well.webhook_lag_seconds)


# Several processes


@requirement("deliveries-5")
async def test_two_processes_deliver_an_event_once(node: DeliveryNode, inbox: Inbox, common_database_url: str) -> None:
    await node.webhook(inbox.address)
    await node.see(*"abc")
    async for other in open_node(common_database_url, node.clock, GATEWAY_PRIVATE_WEBHOOKS="on"):
        await asyncio.gather(node.deliver(), other.deliver())

    assert list("abc") == list_plants(inbox)


@requirement("deliveries-5")
async def test_the_delivery_of_a_dead_process_is_taken_over(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    (dead,) = await node.app._positions.claim(10)
    early = await node.deliver()
    node.clock.at += CLAIM_SECONDS
    late = await node.deliver()

    assert (0, 1, ["a"]) == (early, late, list_plants(inbox))
    assert "ClaimLost" == await error_after_takeover(node, dead)


@requirement("deliveries-5")
async def test_the_delivery_of_a_stopping_process_is_due_immediately(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    await node.app._positions.release(await node.app._positions.claim(10))

    assert (1, ["a"]) == (await node.deliver(), list_plants(inbox))


async def error_after_takeover(node: DeliveryNode, claimed: Any) -> str:
    """Return the name of the error for a process whose work was taken over."""
    with pytest.raises(Exception) as error:  # noqa: PT011  # its type is compared
        await node.app._positions.advance(claimed, 1)
    return type(error.value).__name__


@requirement("deliveries-5")
async def test_an_event_stored_during_a_delivery_is_not_lost(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    (claimed,) = await node.app._positions.claim(10)
    await node.see("b")
    await node.app._positions.finish(claimed.up_to(1))

    assert (1, ["b"]) == (await node.deliver(), list_plants(inbox))


@requirement("deliveries-5")
async def test_an_event_observed_again_is_not_delivered_again(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    await node.deliver()
    await node.see("a")

    assert (0, ["a"]) == (await node.deliver(), list_plants(inbox))


@requirement("deliveries-5")
async def test_a_position_without_events_is_not_due(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    await node.expire()

    assert (1, 0, []) == (await node.deliver(), await node.deliver(), list_plants(inbox))


# Replays


@requirement("deliveries-7")
async def test_events_are_replayed_from_a_time_on(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    await node.see("a")
    node.clock.at += 10
    await node.see("b")
    await node.deliver()
    replay = await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id, since=NOON + 10)
    await node.deliver()

    assert (1, list("abb")) == (replay["events"], list_plants(inbox))


@requirement("deliveries-7")
async def test_events_are_replayed_after_an_event_with_the_same_identifier(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    await node.see(*"abc")
    await node.deliver()
    first = [inbox.take()[0]["webhook-id"] for _ in range(3)]
    replay = await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id, after=first[0])
    await node.deliver()

    assert (2, first[1:]) == (replay["events"], [inbox.take()[0]["webhook-id"] for _ in range(2)])


@requirement("deliveries-7")
async def test_events_from_before_a_webhook_can_be_replayed(node: DeliveryNode, inbox: Inbox) -> None:
    await node.see(*"ab")
    webhook = await node.webhook(inbox.address)
    await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id)
    await node.deliver()

    assert list("ab") == list_plants(inbox)


@requirement("deliveries-7")
async def test_an_event_that_is_always_rejected_can_be_skipped(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    inbox.answers = [FAILED]
    await node.see(*"ab")
    await node.deliver()
    stuck = inbox.take()[0]["webhook-id"]
    await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id, after=stuck)
    await node.deliver()

    assert ["b"] == list_plants(inbox)


async def test_a_replay_ends_the_delivery_in_progress(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    await node.see("a")
    (claimed,) = await node.app._positions.claim(10)
    await node.app.webhooks.replay(webhook["webhook_id"], node.connection_id)

    assert "ClaimLost" == await error_after_takeover(node, claimed)


# Removal


async def test_a_removed_webhook_receives_nothing_and_leaves_no_rows(node: DeliveryNode, inbox: Inbox) -> None:
    webhook = await node.webhook(inbox.address)
    await node.see("a")
    await node.app.webhooks.remove(webhook["webhook_id"])
    await node.see("b")

    assert (0, []) == (await node.deliver(), list_plants(inbox))
    assert [] == (await node.app.webhooks.page()).rows


async def test_positions_of_removed_connections_are_purged(node: DeliveryNode, inbox: Inbox) -> None:
    await node.webhook(inbox.address)
    await node.see("a")
    await node.deliver()
    purged = await node.app._positions.purge()
    await node.app.connection_setup.remove(node.connection_id)

    assert (0, 1, 0) == (purged, await node.app._positions.purge(), await node.app._positions.purge())
