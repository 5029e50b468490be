"""Look-ups that concurrent callers share, and that are repeated if a value may be outdated."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from connector_gateway.core.calls.prepared_call import ReadOnlySteps
from connector_gateway.core.connections.cache import ConnectionCaches, ConnectionMemory
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import GatewayError, PropertyNotFound, UpstreamConflict, UpstreamTimeout
from connector_gateway.kit.identifiers import ConnectionId
from harness.clocks import LoopClock, run_in_virtual_time

ONE, OTHER = ConnectionId("conn_1"), ConnectionId("conn_2")
HANGS = UpstreamTimeout("It did not respond in time.")


@dataclass
class SlowVendor:
    """Takes three seconds to return its content at that time, or to fail."""

    shelf: list[str] = field(default_factory=lambda: ["first"])
    failures: list[Exception] = field(default_factory=list)
    requests: int = 0

    async def find(self) -> list[str]:
        self.requests += 1
        await asyncio.sleep(3)
        if self.failures:
            raise self.failures.pop(0)
        return list(self.shelf)

    @property
    def lookup(self) -> CachedLookup[list[str]]:
        return CachedLookup("shelf", 60.0, self.find)


def create_context(connection_id: ConnectionId = ONE, caches: ConnectionCaches | None = None) -> OperationContext[Any]:
    """Return a context with only a cache."""
    absent = cast("Any", None)
    memory = (caches or ConnectionCaches(LoopClock())).for_connection(connection_id)
    return OperationContext(
        absent, connection_id, {}, None, memory, ReadOnlySteps(), absent, absent, absent, absent, absent, 60.0, 5.0
    )


def time() -> float:
    return asyncio.get_running_loop().time()


def test_concurrent_callers_share_one_look_up() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> tuple[list[list[str]], float]:
        return await asyncio.gather(*(call.cached(vendor.lookup) for _ in range(12))), time()

    vendor = SlowVendor()

    assert ([["first"]] * 12, 3.0) == run_in_virtual_time(run(vendor, create_context()))
    assert 1 == vendor.requests


def test_a_failure_is_shared_by_all_waiting_callers_and_not_cached() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> tuple[list[Any], float, list[str]]:
        waiting = (call.cached(vendor.lookup) for _ in range(12))
        failed = await asyncio.gather(*waiting, return_exceptions=True)
        return failed, time(), await call.cached(vendor.lookup)

    vendor = SlowVendor(failures=[HANGS])

    assert ([HANGS] * 12, 3.0, ["first"]) == run_in_virtual_time(run(vendor, create_context()))
    assert 2 == vendor.requests


def test_cancelling_the_first_caller_does_not_affect_the_others() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> list[str]:
        first, second = (asyncio.create_task(call.cached(vendor.lookup)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        return await second

    vendor = SlowVendor()

    assert ["first"] == run_in_virtual_time(run(vendor, create_context()))
    assert 1 == vendor.requests


def test_without_waiting_callers_a_result_is_cached_and_a_failure_is_dropped() -> None:
    async def leave(vendor: SlowVendor, call: OperationContext[Any]) -> None:
        alone = asyncio.create_task(call.cached(vendor.lookup))
        await asyncio.sleep(1)
        alone.cancel()
        await asyncio.sleep(5)

    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> list[str]:
        await leave(vendor, call)
        await leave(vendor, call)
        return await call.cached(vendor.lookup)

    vendor = SlowVendor(failures=[HANGS])

    assert ["first"] == run_in_virtual_time(run(vendor, create_context()))
    assert 2 == vendor.requests


def test_a_cached_value_is_not_requested_until_it_expires() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> list[int]:
        await call.cached(vendor.lookup)
        await asyncio.sleep(59)
        await call.cached(vendor.lookup)
        before = vendor.requests
        await asyncio.sleep(2)
        await call.cached(vendor.lookup)
        return [before, vendor.requests]

    assert [1, 2] == run_in_virtual_time(run(SlowVendor(), create_context()))


def test_connections_have_separate_look_ups() -> None:
    async def run(vendor: SlowVendor, caches: ConnectionCaches) -> int:
        calls = [create_context(ONE, caches), create_context(OTHER, caches)]
        await asyncio.gather(*(call.cached(vendor.lookup) for call in calls))
        return vendor.requests

    assert 2 == run_in_virtual_time(run(SlowVendor(), ConnectionCaches(LoopClock())))


def test_an_insufficient_value_is_reread_once_for_all_its_users() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> list[list[str]]:
        await call.cached(vendor.lookup)
        vendor.shelf.append("second")
        waiting = (call.cached(vendor.lookup, suffices=lambda words: "second" in words) for _ in range(12))
        return await asyncio.gather(*waiting)

    vendor = SlowVendor()

    assert [["first", "second"]] * 12 == run_in_virtual_time(run(vendor, create_context()))
    assert 2 == vendor.requests


def test_a_caller_with_a_replaced_value_gets_the_new_one_without_a_request() -> None:
    async def run(vendor: SlowVendor, memory: ConnectionMemory) -> list[str]:
        old = await memory.get_or_load(vendor.lookup, None)
        vendor.shelf.append("second")
        await memory.get_or_load(vendor.lookup, old)
        return await memory.get_or_load(vendor.lookup, old)

    vendor = SlowVendor()

    assert ["first", "second"] == run_in_virtual_time(run(vendor, ConnectionCaches(LoopClock()).for_connection(ONE)))
    assert 2 == vendor.requests


def test_a_failed_reread_retains_the_cached_value() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> list[str]:
        await call.cached(vendor.lookup)
        vendor.failures.append(HANGS)
        with pytest.raises(UpstreamTimeout):
            await call.reload(vendor.lookup)
        return await call.cached(vendor.lookup)

    assert ["first"] == run_in_virtual_time(run(SlowVendor(), create_context()))


def test_callers_after_our_own_change_reread_the_value() -> None:
    async def run(vendor: SlowVendor, call: OperationContext[Any]) -> tuple[list[str], list[str], list[str]]:
        before = asyncio.create_task(call.cached(vendor.lookup))
        await asyncio.sleep(2)
        call.cache.forget("shelf")
        after = asyncio.create_task(call.cached(vendor.lookup))
        first = await before
        vendor.shelf.append("second")
        return first, await after, await call.cached(vendor.lookup)

    vendor = SlowVendor()

    assert (["first"], ["first", "second"], ["first", "second"]) == run_in_virtual_time(run(vendor, create_context()))
    assert 2 == vendor.requests


# Using cached values


@dataclass
class Reader:
    """Uses a cached list, and raises an error if its word is not in it."""

    word: str
    error: GatewayError = field(default_factory=lambda: PropertyNotFound("There is no such word."))
    used: int = 0

    async def use(self, words: list[str]) -> str:
        self.used += 1
        if self.word not in words:
            raise self.error
        return f"{self.word} of {len(words)}"


async def use_cached(vendor: SlowVendor, call: OperationContext[Any], reader: Reader) -> str:
    return await call.with_cache_retry(
        vendor.lookup,
        reader.use,
        outdated=(PropertyNotFound, UpstreamConflict),
        suspect=lambda result: result == "odd of 1",
    )


async def use_after_change(vendor: SlowVendor, reader: Reader, *added: str) -> str:
    call = create_context()
    await call.cached(vendor.lookup)
    vendor.shelf.extend(added)
    return await use_cached(vendor, call, reader)


def test_a_cached_value_is_used() -> None:
    vendor, reader = SlowVendor(), Reader("first")

    assert "first of 1" == run_in_virtual_time(use_after_change(vendor, reader, "second"))
    assert (1, 1) == (vendor.requests, reader.used)


def test_an_error_with_a_cached_value_is_retried_once_with_the_current_one() -> None:
    vendor, reader = SlowVendor(), Reader("second")

    assert "second of 2" == run_in_virtual_time(use_after_change(vendor, reader, "second"))
    assert (2, 2) == (vendor.requests, reader.used)


def test_a_suspicious_result_is_retried_once_with_the_current_value() -> None:
    vendor, reader = SlowVendor(["odd"]), Reader("odd")

    assert "odd of 2" == run_in_virtual_time(use_after_change(vendor, reader, "second"))
    assert (2, 2) == (vendor.requests, reader.used)


def test_an_error_with_the_current_value_is_final() -> None:
    vendor, reader = SlowVendor(), Reader("third")
    with pytest.raises(PropertyNotFound):
        run_in_virtual_time(use_after_change(vendor, reader, "second"))

    assert (2, 2) == (vendor.requests, reader.used)


def test_an_error_with_an_uncached_value_is_final_immediately() -> None:
    vendor, reader = SlowVendor(), Reader("third")
    with pytest.raises(PropertyNotFound):
        run_in_virtual_time(use_cached(vendor, create_context(), reader))

    assert (1, 1) == (vendor.requests, reader.used)


def test_an_in_doubt_error_is_not_retried() -> None:
    vendor, reader = SlowVendor(), Reader("third", UpstreamConflict("It may have been done.", doubt="failed"))
    with pytest.raises(UpstreamConflict):
        run_in_virtual_time(use_after_change(vendor, reader, "second"))

    assert (1, 1) == (vendor.requests, reader.used)
