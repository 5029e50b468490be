"""Look-ups that concurrent callers share, and that are repeated if a value may be outdated."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from connector_gateway.core.calls.prepared_operation import ReadOnlySteps
from connector_gateway.core.connections.connection_cache import ConnectionCaches, ConnectionMemory
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import GatewayError, PropertyNotFound, UpstreamConflict, UpstreamTimeout
from connector_gateway.kit.identifiers import ConnectionId
from harness.clocks import LoopClock, run_in_virtual_time

ONE, OTHER = ConnectionId("conn_1"), ConnectionId("conn_2")
HANGS = UpstreamTimeout("It did not respond in time.")


@dataclass
class Library:
    """Takes three seconds to answer with its content at that time, or to fail."""

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
    async def run(library: Library, call: OperationContext[Any]) -> tuple[list[list[str]], float]:
        return await asyncio.gather(*(call.cached(library.lookup) for _ in range(12))), time()

    library = Library()

    assert ([["first"]] * 12, 3.0) == run_in_virtual_time(run(library, create_context()))
    assert 1 == library.requests


def test_a_failure_is_shared_by_all_waiting_callers_and_not_cached() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> tuple[list[Any], float, list[str]]:
        waiting = (call.cached(library.lookup) for _ in range(12))
        failed = await asyncio.gather(*waiting, return_exceptions=True)
        return failed, time(), await call.cached(library.lookup)

    library = Library(failures=[HANGS])

    assert ([HANGS] * 12, 3.0, ["first"]) == run_in_virtual_time(run(library, create_context()))
    assert 2 == library.requests


def test_cancelling_the_first_caller_does_not_affect_the_others() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> list[str]:
        first, second = (asyncio.create_task(call.cached(library.lookup)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        return await second

    library = Library()

    assert ["first"] == run_in_virtual_time(run(library, create_context()))
    assert 1 == library.requests


def test_without_waiting_callers_a_result_is_cached_and_a_failure_is_dropped() -> None:
    async def leave(library: Library, call: OperationContext[Any]) -> None:
        alone = asyncio.create_task(call.cached(library.lookup))
        await asyncio.sleep(1)
        alone.cancel()
        await asyncio.sleep(5)

    async def run(library: Library, call: OperationContext[Any]) -> list[str]:
        await leave(library, call)
        await leave(library, call)
        return await call.cached(library.lookup)

    library = Library(failures=[HANGS])

    assert ["first"] == run_in_virtual_time(run(library, create_context()))
    assert 2 == library.requests


def test_a_cached_value_is_not_requested_until_it_expires() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> list[int]:
        await call.cached(library.lookup)
        await asyncio.sleep(59)
        await call.cached(library.lookup)
        before = library.requests
        await asyncio.sleep(2)
        await call.cached(library.lookup)
        return [before, library.requests]

    assert [1, 2] == run_in_virtual_time(run(Library(), create_context()))


def test_connections_have_separate_look_ups() -> None:
    async def run(library: Library, caches: ConnectionCaches) -> int:
        calls = [create_context(ONE, caches), create_context(OTHER, caches)]
        await asyncio.gather(*(call.cached(library.lookup) for call in calls))
        return library.requests

    assert 2 == run_in_virtual_time(run(Library(), ConnectionCaches(LoopClock())))


def test_an_insufficient_value_is_reread_once_for_all_its_users() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> list[list[str]]:
        await call.cached(library.lookup)
        library.shelf.append("second")
        waiting = (call.cached(library.lookup, suffices=lambda words: "second" in words) for _ in range(12))
        return await asyncio.gather(*waiting)

    library = Library()

    assert [["first", "second"]] * 12 == run_in_virtual_time(run(library, create_context()))
    assert 2 == library.requests


def test_a_caller_with_a_replaced_value_gets_the_new_one_without_a_request() -> None:
    async def run(library: Library, memory: ConnectionMemory) -> list[str]:
        old = await memory.get_or_load(library.lookup, None)
        library.shelf.append("second")
        await memory.get_or_load(library.lookup, old)
        return await memory.get_or_load(library.lookup, old)

    library = Library()

    assert ["first", "second"] == run_in_virtual_time(run(library, ConnectionCaches(LoopClock()).for_connection(ONE)))
    assert 2 == library.requests


def test_a_failed_reread_retains_the_cached_value() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> list[str]:
        await call.cached(library.lookup)
        library.failures.append(HANGS)
        with pytest.raises(UpstreamTimeout):
            await call.reload(library.lookup)
        return await call.cached(library.lookup)

    assert ["first"] == run_in_virtual_time(run(Library(), create_context()))


def test_callers_after_our_own_change_reread_the_value() -> None:
    async def run(library: Library, call: OperationContext[Any]) -> tuple[list[str], list[str], list[str]]:
        before = asyncio.create_task(call.cached(library.lookup))
        await asyncio.sleep(2)
        call.cache.forget("shelf")
        after = asyncio.create_task(call.cached(library.lookup))
        first = await before
        library.shelf.append("second")
        return first, await after, await call.cached(library.lookup)

    library = Library()

    assert (["first"], ["first", "second"], ["first", "second"]) == run_in_virtual_time(run(library, create_context()))
    assert 2 == library.requests


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


async def use_cached(library: Library, call: OperationContext[Any], reader: Reader) -> str:
    return await call.with_cache_retry(
        library.lookup,
        reader.use,
        outdated=(PropertyNotFound, UpstreamConflict),
        suspect=lambda result: result == "odd of 1",
    )


async def use_after_change(library: Library, reader: Reader, *added: str) -> str:
    call = create_context()
    await call.cached(library.lookup)
    library.shelf.extend(added)
    return await use_cached(library, call, reader)


def test_a_cached_value_is_used() -> None:
    library, reader = Library(), Reader("first")

    assert "first of 1" == run_in_virtual_time(use_after_change(library, reader, "second"))
    assert (1, 1) == (library.requests, reader.used)


def test_an_error_with_a_cached_value_is_retried_once_with_the_current_one() -> None:
    library, reader = Library(), Reader("second")

    assert "second of 2" == run_in_virtual_time(use_after_change(library, reader, "second"))
    assert (2, 2) == (library.requests, reader.used)


def test_a_suspicious_result_is_retried_once_with_the_current_value() -> None:
    library, reader = Library(["odd"]), Reader("odd")

    assert "odd of 2" == run_in_virtual_time(use_after_change(library, reader, "second"))
    assert (2, 2) == (library.requests, reader.used)


def test_an_error_with_the_current_value_is_final() -> None:
    library, reader = Library(), Reader("third")
    with pytest.raises(PropertyNotFound):
        run_in_virtual_time(use_after_change(library, reader, "second"))

    assert (2, 2) == (library.requests, reader.used)


def test_an_error_with_an_uncached_value_is_final_immediately() -> None:
    library, reader = Library(), Reader("third")
    with pytest.raises(PropertyNotFound):
        run_in_virtual_time(use_cached(library, create_context(), reader))

    assert (1, 1) == (library.requests, reader.used)


def test_an_in_doubt_error_is_not_retried() -> None:
    library, reader = Library(), Reader("third", UpstreamConflict("It may have been done.", doubt="failed"))
    with pytest.raises(UpstreamConflict):
        run_in_virtual_time(use_after_change(library, reader, "second"))

    assert (1, 1) == (library.requests, reader.used)
