"""The state after the faults: in the emulators, in the history, in the database, and of the processes."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import create_engine, make_url, text

from chaos.faults import Faults
from chaos.load import Load
from chaos.window_usage import Windows
from harness.wait import until
from simulation.checks import STORAGE, check_objects, get_created_content
from simulation.scenarios import ByHand, Story

if TYPE_CHECKING:
    from simulation.simulated_history import History, SimulatedCall

SETTLED_SECONDS = 60.0
"""The time for which claims and runs of dead processes can remain after the faults."""

OBSERVED_SECONDS = 150.0
"""The maximum delay of the event of the last change: two polls, queued behind other work."""

ACTIVE_CLAIMS = "SELECT 'the claim of ' || idempotency_key || ' is still active' FROM claims WHERE state = 'held'"
RUNNING = (
    "SELECT 'a run of ' || operation || ' is still running' FROM runs"
    " WHERE status = 'running' AND operation <> 'observe_events'"
)
WATCHES = (
    "SELECT connector || ' is watched ' || round((due_at - extract(epoch FROM clock_timestamp()))::numeric)"
    " || ' s from now, after ' || failures || ' polls failed' || coalesce(', leased by ' || leased_by, '') FROM watches"
)
LIVE_PROCESSES = "SELECT 'process ' || process_id || ' is still live' FROM processes"
OPEN_CONNECTIONS = (
    "SELECT 'a connection is still open: ' || concat_ws(', ', pid, backend_start, state, query) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'chaos'"
)

ERROR_MARKERS = (
    "was destroyed",
    "never retrieved",
    "never awaited",
    "Unclosed",
    '"level": "error"',
    '"level": "critical"',
)
"""Messages of Python about leaked tasks and connections, and the form of errors in our log."""


@dataclass
class TrialState:
    """The state that the simulation's checks read."""

    calls: Sequence["SimulatedCall"]
    world: Any
    story: Story = field(default_factory=lambda: Story(0, ()))


async def check_outcome(load: Load, faults: Faults, windows: Windows, by_hand: Sequence[ByHand]) -> list[str]:
    """Shut down the gateways, and return violations as sentences that begin with the invariant's number."""
    state = TrialState(load.calls, load.world)
    history = cast("History", state)
    broken = [f"I3 {name} never got a final response" for name in sorted(load.unsettled)]
    broken += [*check_objects(history), *await _check_feeds(load, faults, by_hand), *windows.list_violations()]
    broken += [f"I4 {sentence}" for sentence in [*load.run_mismatches, *load.unreadable]]
    broken += await asyncio.to_thread(_check_runs, load)
    broken += [f"I5 {sentence}" for sentence in await _find_remaining(load, ACTIVE_CLAIMS, RUNNING)]
    statuses = await load.installation.end()
    broken += [f"left over: a gateway exited with {status}" for status in statuses if status]
    broken += [f"left over: a gateway logged {line}" for line in _find_logged_errors(load)]
    return broken + [
        f"left over: {sentence}" for sentence in await _find_remaining(load, LIVE_PROCESSES, OPEN_CONNECTIONS)
    ]


def _find_logged_errors(load: Load) -> Iterator[str]:
    """Return logged messages about leaked tasks and connections, and about internal errors."""
    for node in load.installation.nodes:
        for line in node.log.read_text("utf-8", "replace").splitlines():
            if any(words in line for words in ERROR_MARKERS):
                yield line


def _rows(load: Load, *queries: str) -> list[Any]:
    url = make_url(load.installation.database_url).set(drivername="postgresql+psycopg")
    # The server lists a closed connection for a moment.
    engine = create_engine(url, connect_args={"application_name": "chaos"})
    with engine.connect() as connection:
        rows = [row for query in queries for row in connection.execute(text(query))]
    engine.dispose()
    return rows


async def _find_remaining(load: Load, *queries: str) -> list[str]:
    """Return the rows that these queries still find after a while."""

    async def is_empty() -> bool:
        return not await asyncio.to_thread(_rows, load, *queries)

    with suppress(TimeoutError):
        await until(is_empty, SETTLED_SECONDS)
    return [row[0] for row in await asyncio.to_thread(_rows, load, *queries)]


def _check_runs(load: Load) -> list[str]:
    """Compare every response with the history. A run can be missing if storage was unavailable."""
    runs = {row.run_id: row for row in _rows(load, "SELECT run_id, http_status, status, code FROM runs")}
    return [sentence for call in load.calls for sentence in _check_run(call, runs)]


def _check_run(call: "SimulatedCall", runs: Mapping[str, Any]) -> Iterator[str]:
    reply = call.reply
    if reply is None or reply.run_id is None or reply.code == STORAGE:
        return
    if reply.code == "invalid_parameters":
        yield f"I0 {call.write.kind}: {reply.body['error']}"
    if reply.status == 500:
        yield f"I4 {call.name} got a 500 {reply.code}"
    run = runs.get(reply.run_id)
    if run is None:
        yield f"I4 {call.name} got {reply.status} {reply.code}, but its run is not in the history"
    elif (reply.status, reply.code or None) != (run.http_status, run.code):
        yield f"I4 {call.name} got {reply.status} {reply.code}, but its run has {run.http_status} {run.code}"


async def _check_feeds(load: Load, faults: Faults, by_hand: Sequence[ByHand]) -> list[str]:
    """Check that every change is in the feed once and, for chat, in order; notes has a resolution of minutes."""
    broken = []
    for connector in ("notes", "chat"):
        expected = [one.content for one in by_hand if one.kind.startswith(connector)]
        reported = await _reported_changes(load, connector, expected)
        missing, twice = (
            set(expected) - set(reported),
            [content for content, times in Counter(reported).items() if times > 1],
        )
        broken += [f"I8 {connector} events do not contain {one}" for one in sorted(missing)]
        broken += [f"I8 {connector} events contain {one} more than once" for one in twice]
        if connector == "chat" and not missing and not twice and reported != expected:
            broken.append(f"I8 chat events are {reported} instead of {expected}")
        faults.log(f"{len(set(reported))} of {len(expected)} changes by hand are in the feed of {connector}")
    if broken:
        faults.log("; ".join(row[0] for row in await asyncio.to_thread(_rows, load, WATCHES)))
    return broken


async def _reported_changes(load: Load, connector: str, expected: Sequence[str]) -> list[str]:
    """Return the changes in the feed as soon as all *expected* ones are there or the time is up."""
    deadline = time.monotonic() + OBSERVED_SECONDS
    while True:
        seen = [get_created_content(connector, event, load.world) for event in await _read_events(load, connector)]
        reported = [content for content in seen if content in set(expected)]
        if set(reported) == set(expected) or time.monotonic() > deadline:
            return reported
        await asyncio.sleep(1)


async def _read_events(load: Load, connector: str) -> list[Mapping[str, Any]]:
    """Return all observed events."""
    events: list[Mapping[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        reply = await load.request(connector, "GET", "/events", {"limit": 200, **cursor})
        assert 200 == reply.status, reply.body
        events += reply.body["data"]
        if not reply.body["data"] or not reply.body["next_cursor"]:
            return events
        cursor = {"cursor": reply.body["next_cursor"]}
