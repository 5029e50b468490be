"""Withdrawn authorisations are noticed by readers, and missed events are searched for; on both databases."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from connector_gateway.core.events.polling import LeaseLost
from connector_gateway.core.events.revocation_check import (
    BACKOFF_SECONDS,
    BURST,
    MAX_CONNECTIONS,
    SECONDS_PER_REQUEST,
    RevocationCheck,
)
from connector_gateway.core.events.watch_lifecycle import MAX_SEARCH_BACK_SECONDS
from connector_gateway.kit.errors import ConnectionRevoked, UpstreamError
from connector_gateway.kit.events import CHANGED_AT, FORMER, RENEWED_AT
from connector_gateway.kit.identifiers import ConnectionId
from gateway.tests.core.events.conftest import Node, Sprouted, sprouted
from gateway.tests.core.events.test_polling import open_session, wait_for_polls, watch_row
from harness.clocks import ManualClock
from harness.requirement import requirement

ONE = ConnectionId("conn_1")


class Vendor:
    """Reports whether a connection is accepted."""

    def __init__(self) -> None:
        self.requests = 0
        self.error: Exception | None = None

    async def query_vendor(self) -> str:
        self.requests += 1
        if self.error:
            raise self.error
        return "me"


@pytest.fixture
def vendor() -> Vendor:
    return Vendor()


async def read(node: Node, connection_id: Any, confirm: Callable[[], Awaitable[object]] | None = None) -> list[str]:
    """Return the plants of the feed."""
    page = await node.app._feed.page(connection_id, Sprouted, None, limit=100, confirm=confirm)
    return [event.plant for event in page.items]


async def observe(node: Node, connection_id: Any, status: str, **more: Any) -> None:
    """Record an observation of a call."""
    connection = await node.app.connections.find(connection_id)
    assert connection is not None
    await node.app.connections.record_status(connection, status, **more)


async def poll_once(node: Node) -> None:
    """Perform the first poll."""
    watchers = await node.watch()
    await wait_for_polls(node)
    await watchers.__aexit__()
    node.tasks.clear()


# Checks of the vendor


async def test_occasional_reads_always_ask_the_vendor(vendor: Vendor, clock: ManualClock) -> None:
    probe = RevocationCheck(clock)
    confirmed = [await probe.is_accepted(ONE, vendor.query_vendor) for _ in range(BURST + 1)]
    clock.at += SECONDS_PER_REQUEST
    later = [await probe.is_accepted(ONE, vendor.query_vendor), await probe.is_accepted(ONE, vendor.query_vendor)]

    assert [*([True] * BURST), False] == confirmed
    assert [True, False] == later
    assert BURST + 1 == vendor.requests


async def test_an_unavailable_vendor_is_not_queried_for_a_while(vendor: Vendor, clock: ManualClock) -> None:
    probe = RevocationCheck(clock)
    vendor.error = UpstreamError("Broken.")
    failed = await probe.is_accepted(ONE, vendor.query_vendor)
    vendor.error = None
    left_alone = await probe.is_accepted(ONE, vendor.query_vendor)
    clock.at += BACKOFF_SECONDS
    again = await probe.is_accepted(ONE, vendor.query_vendor)

    assert (False, False, True) == (failed, left_alone, again)
    assert 2 == vendor.requests


async def test_the_number_of_tracked_connections_is_limited(vendor: Vendor, clock: ManualClock) -> None:
    probe = RevocationCheck(clock)
    await asyncio.gather(
        *(
            probe.is_accepted(ConnectionId(f"conn_{number}"), vendor.query_vendor)
            for number in range(MAX_CONNECTIONS + 1)
        )
    )

    assert MAX_CONNECTIONS == len(probe._allowances)


# Reading


@requirement("common-105")
async def test_the_last_observed_status_applies_if_the_vendor_is_unavailable(node: Node, vendor: Vendor) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a"))
    vendor.error = UpstreamError("Broken.")
    active = await read(node, connection, vendor.query_vendor)
    await observe(node, connection, "revoked")

    assert ["a"] == active
    with pytest.raises(ConnectionRevoked):
        await read(node, connection, vendor.query_vendor)


@requirement("common-105")
async def test_a_vendor_that_accepts_again_overrides_the_observed_status(node: Node, vendor: Vendor) -> None:
    connection = await node.connect()
    await node.see(connection, sprouted("a"))
    await observe(node, connection, "revoked")

    assert ["a"] == await read(node, connection, vendor.query_vendor)


# The watch


@requirement("common-105")
async def test_a_reactivated_connection_is_polled_immediately(node: Node) -> None:
    connection = await node.connect()
    node.garden.script = [ConnectionRevoked("Gone.")]
    await poll_once(node)
    await observe(node, connection, "active")
    watch = await watch_row(node, connection)

    assert (node.clock.at, node.clock.at, 0) == (watch.due_at, watch.whole_at, watch.failures)


async def test_a_poll_that_succeeds_again_is_not_followed_by_another(node: Node) -> None:
    connection = await node.connect()
    await observe(node, connection, "revoked")
    await poll_once(node)

    assert "active" == (await node.app.connections.show(connection))["status"]
    assert node.clock.at == (await watch_row(node, connection)).behind_since
    assert 1 == len(node.garden.polls)


async def test_observations_of_a_removed_connection_are_not_stored(node: Node) -> None:
    connection_id = await node.connect()
    connection = await node.app.connections.find(connection_id)
    assert connection is not None
    await node.app.connections.remove(connection_id)
    await node.app.connections.record_status(connection, "revoked")

    assert await watch_row(node, connection_id) is None


@requirement("common-105")
async def test_missed_hooks_are_searched_since_the_last_event(push_node: Node) -> None:
    connection = await push_node.connect()
    await poll_once(push_node)
    await push_node.app._feed.add({connection: [sprouted("a")]})
    observed_at = push_node.clock.at
    push_node.clock.at += 3600
    await _clear_behind(push_node, connection)
    await observe(push_node, connection, "revoked")

    assert observed_at == (await watch_row(push_node, connection)).behind_since


@requirement("common-105")
async def test_missed_hooks_are_searched_only_within_the_retention_time(push_node: Node) -> None:
    connection = await push_node.connect()
    await poll_once(push_node)
    await _clear_behind(push_node, connection)
    await observe(push_node, connection, "revoked")

    assert push_node.clock.at - MAX_SEARCH_BACK_SECONDS == (await watch_row(push_node, connection)).behind_since


async def _clear_behind(node: Node, connection_id: Any) -> None:
    """Delete the record that the process left when it ended."""
    (claimed,) = await node.watches.claim("garden", 10)
    await node.watches.finish(claimed, whole_at=None, behind_since=None, failures=0)
    assert (await watch_row(node, connection_id)).behind_since is None


@requirement("common-106")
async def test_new_credentials_retain_the_watch_state_until_their_account_is_known(node: Node) -> None:
    connection = await node.connect()
    await poll_once(node)
    await node.app.connections.change(connection, credentials={"token": "second-token"})
    node.clock.at += 5
    await node.app.connections.change(connection, credentials={"token": "another-third-token"}, settings={})
    watch = await watch_row(node, connection)

    assert {FORMER: {"seen": 1}, RENEWED_AT: node.clock.at, CHANGED_AT: node.clock.at} == watch.state
    assert watch.account is None


async def test_new_credentials_before_the_first_poll_do_not_change_the_start(node: Node) -> None:
    connection = await node.connect()
    began = node.clock.at
    node.clock.at += 5
    await node.app.connections.change(connection, credentials={"token": "second-token"}, settings={})
    watch = await watch_row(node, connection)

    assert ({}, began) == (watch.state, watch.behind_since)


@requirement("common-107")
async def test_a_poll_with_replaced_credentials_ends(node: Node) -> None:
    connection = await node.connect()
    (claimed,) = await node.watches.claim("garden", 10)
    poll = await open_session(node, claimed)
    await node.app.connections.change(connection, credentials={"token": "second-token"})

    with pytest.raises(LeaseLost):
        await poll.commit([sprouted("of the old account")])
