"""What is true after the faults: in the stand-ins, in the history, in the database, and of the processes."""

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
from simulation.checks import STORAGE, content_of, objects
from simulation.story import ByHand, Story

if TYPE_CHECKING:
    from simulation.history import Asked, History

SETTLED_SECONDS = 60.0
"""How long after the faults claims and runs of the dead may stay."""

OBSERVED_SECONDS = 150.0
"""How long after the last change its event may come: two polls, behind what else is to be done."""

HELD = "SELECT 'the claim of ' || idempotency_key || ' is still held' FROM claims WHERE state = 'held'"
RUNNING = (
    "SELECT 'a run of ' || operation || ' is still running' FROM runs"
    " WHERE status = 'running' AND operation <> 'observe_events'"
)
WATCHES = (
    "SELECT connector || ' is watched ' || round((due_at - extract(epoch FROM clock_timestamp()))::numeric)"
    " || ' s from now, after ' || failures || ' polls failed' || coalesce(', held by ' || leased_by, '') FROM watches"
)
LIVING = "SELECT 'process ' || process_id || ' is still there' FROM processes"
CONNECTED = (
    "SELECT 'a connection is still open: ' || concat_ws(', ', pid, backend_start, state, query) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'verdict'"
)

COMPLAINTS = (
    "was destroyed",
    "never retrieved",
    "never awaited",
    "Unclosed",
    '"level": "error"',
    '"level": "critical"',
)
"""What Python says of tasks and connections that were left over, and how our log tells of errors."""


@dataclass
class Happened:
    """What the simulation's checks look at."""

    asked: Sequence["Asked"]
    world: Any
    story: Story = field(default_factory=lambda: Story(0, ()))


async def verdict(load: Load, faults: Faults, windows: Windows, by_hand: Sequence[ByHand]) -> list[str]:
    """What is broken, as sentences that begin with the invariant's number; the gateways have ended afterwards."""
    happened = Happened(load.asked, load.world)
    history = cast("History", happened)
    broken = [f"I3 {name} was never told" for name in sorted(load.unsettled)]
    broken += [*objects(history), *await _feeds(load, faults, by_hand), *windows.broken()]
    broken += [f"I4 {sentence}" for sentence in [*load.hidden, *load.garbled]]
    broken += await asyncio.to_thread(_runs, load)
    broken += [f"I5 {sentence}" for sentence in await _left(load, HELD, RUNNING)]
    statuses = await load.installation.end()
    broken += [f"left over: a gateway ended with {status}" for status in statuses if status]
    broken += [f"left over: a gateway tells {line}" for line in _complaints(load)]
    return broken + [f"left over: {sentence}" for sentence in await _left(load, LIVING, CONNECTED)]


def _complaints(load: Load) -> Iterator[str]:
    """What gateways tell of tasks and connections that nobody ended, and of errors of their own."""
    for node in load.installation.nodes:
        for line in node.log.read_text("utf-8", "replace").splitlines():
            if any(words in line for words in COMPLAINTS):
                yield line


def _rows(load: Load, *queries: str) -> list[Any]:
    url = make_url(load.installation.database_url).set(drivername="postgresql+psycopg")
    # The server still knows the connection before this one for a moment after it was closed.
    engine = create_engine(url, connect_args={"application_name": "verdict"})
    with engine.connect() as connection:
        found = [row for query in queries for row in connection.execute(text(query))]
    engine.dispose()
    return found


async def _left(load: Load, *queries: str) -> list[str]:
    """What these queries still find after a while."""

    async def nothing() -> bool:
        return not await asyncio.to_thread(_rows, load, *queries)

    with suppress(TimeoutError):
        await until(nothing, SETTLED_SECONDS)
    return [row[0] for row in await asyncio.to_thread(_rows, load, *queries)]


def _runs(load: Load) -> list[str]:
    """Every answer is in the history as it was answered; where storage was away, it may be missing."""
    kept = {row.run_id: row for row in _rows(load, "SELECT run_id, http_status, status, code FROM runs")}
    return [sentence for asked in load.asked for sentence in _run(asked, kept)]


def _run(asked: "Asked", kept: Mapping[str, Any]) -> Iterator[str]:
    reply = asked.reply
    if reply is None or reply.run_id is None or reply.code == STORAGE:
        return
    if reply.code == "invalid_parameters":
        yield f"I0 {asked.write.kind}: {reply.body['error']}"
    if reply.status == 500:
        yield f"I4 {asked.name} was answered 500 {reply.code}"
    run = kept.get(reply.run_id)
    if run is None:
        yield f"I4 {asked.name} was answered {reply.status} {reply.code}, but its run is not in the history"
    elif (reply.status, reply.code or None) != (run.http_status, run.code):
        yield f"I4 {asked.name} was answered {reply.status} {reply.code}, but its run says {run.http_status} {run.code}"


async def _feeds(load: Load, faults: Faults, by_hand: Sequence[ByHand]) -> list[str]:
    """Every change is in the feed once; in chat in order too, while pages of one minute have the same time in notes."""
    broken = []
    for room in ("notes", "chat"):
        made = [one.content for one in by_hand if one.kind.startswith(room)]
        told = await _told_of(load, room, made)
        missing, twice = set(made) - set(told), [content for content, times in Counter(told).items() if times > 1]
        broken += [f"I8 {room} events do not tell of {one}" for one in sorted(missing)]
        broken += [f"I8 {room} events tell of {one} more than once" for one in twice]
        if room == "chat" and not missing and not twice and told != made:
            broken.append(f"I8 chat events tell of {told} where {made} happened")
        faults.note(f"{len(set(told))} of {len(made)} changes by hand are in the feed of {room}")
    if broken:
        faults.note("; ".join(row[0] for row in await asyncio.to_thread(_rows, load, WATCHES)))
    return broken


async def _told_of(load: Load, room: str, made: Sequence[str]) -> list[str]:
    """What the feed tells of what was *made*, once it tells of all or the time for that is over."""
    deadline = time.monotonic() + OBSERVED_SECONDS
    while True:
        seen = [content_of(room, event, load.world) for event in await _events(load, room)]
        told = [content for content in seen if content in set(made)]
        if set(told) == set(made) or time.monotonic() > deadline:
            return told
        await asyncio.sleep(1)


async def _events(load: Load, room: str) -> list[Mapping[str, Any]]:
    """All that was observed."""
    found: list[Mapping[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        reply = await load.ask(room, "GET", "/events", {"limit": 200, **cursor})
        assert 200 == reply.status, reply.body
        found += reply.body["data"]
        if not reply.body["data"] or not reply.body["next_cursor"]:
            return found
        cursor = {"cursor": reply.body["next_cursor"]}
