"""Caches of connections: with expiry, bounded, and separate."""

import pytest

from connector_gateway.core.connections import cache
from connector_gateway.core.connections.cache import ConnectionCaches
from connector_gateway.kit.identifiers import ConnectionId
from harness.clocks import ManualClock

ONE, OTHER = ConnectionId("conn_1"), ConnectionId("conn_2")


def test_a_cached_value_lasts_until_it_expires(clock: ManualClock) -> None:
    remembered = ConnectionCaches(clock).for_connection(ONE)
    remembered.put("name", "value", 10)
    clock.at += 9.9
    before = remembered.get("name")
    clock.at += 0.1

    assert ("value", None) == (before, remembered.get("name"))


def test_a_dropped_value_is_not_cached(clock: ManualClock) -> None:
    remembered = ConnectionCaches(clock).for_connection(ONE)
    remembered.put("name", "value", 10)
    remembered.forget("name")
    remembered.forget("never known")

    assert None is remembered.get("name")


def test_connections_have_separate_caches(clock: ManualClock) -> None:
    memories = ConnectionCaches(clock)
    memories.for_connection(ONE).put("name", "mine", 10)

    assert None is memories.for_connection(OTHER).get("name")
    assert "mine" == memories.for_connection(ONE).get("name")


def test_new_credentials_start_with_an_empty_cache(clock: ManualClock) -> None:
    caches = ConnectionCaches(clock)
    caches.for_connection(ONE, era=1).put("portal", "of the former account", 10)

    assert None is caches.for_connection(ONE, era=2).get("portal")


def test_caching_again_replaces_the_value_and_its_expiry(clock: ManualClock) -> None:
    remembered = ConnectionCaches(clock).for_connection(ONE)
    remembered.put("name", "old", 10)
    clock.at += 9
    remembered.put("name", "new", 10)
    clock.at += 9

    assert "new" == remembered.get("name")


def test_a_full_cache_drops_the_least_recently_used_value(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_ITEMS", 2)
    remembered = ConnectionCaches(clock).for_connection(ONE)
    remembered.put("a", 1, 10)
    remembered.put("b", 2, 10)
    remembered.get("a")
    remembered.put("c", 3, 10)

    assert [1, None, 3] == [remembered.get(name) for name in "abc"]
