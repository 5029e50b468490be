"""``python -m benchmarks.parts [read|write|keyed]``: thousand instructions that parts of a call take, in this process.

The application is called without a server, 48 calls at a time, and third parties answer at once. A part counts what it
calls as well; parts that wait for others are left out, since those would be counted too. Needs Linux.
"""

import asyncio
import ctypes
import functools
import inspect
import json
import os
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks import stub
from benchmarks.processes import environment_of
from connector_gateway.app import App
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core import arguments, gateway, pacing, runs, work, writing
from connector_gateway.http import answers, bodies, metrics, routes
from connector_gateway.kit import identifiers, transport, upstream
from connector_gateway.settings import Settings
from connector_gateway.storage import database, memory

CALLS = 2000
PERF_EVENT_OPEN = 298
"""Of x86-64."""

PARTS: list[tuple[Any, str]] = [
    (answers.HttpExchange, "__init__"),
    (identifiers, "ulid"),
    (runs.Runs, "record"),
    (memory.InMemory, "spend"),
    (bodies, "_read"),
    (arguments.Body, "__init__"),
    (arguments.Arguments, "read"),
    (gateway.Gateway, "_work"),
    (upstream.Upstream, "send"),
    (pacing.ConnectionPacer, "admit"),
    (memory.MemoryTurn, "answered"),
    (transport.Answer, "read"),
    (writing.Attempt, "_opened_rows"),
    (writing.Attempt, "_intention"),
    (work.Work, "envelope"),
    (runs.Recording, "_row"),
    (database.Database, "put_all"),
    (metrics.OperationMetrics, "observe"),
    (routes, "enveloped"),
    (answers, "common"),
]


class Instructions:
    """Counts the instructions of this thread, by part."""

    def __init__(self) -> None:
        attributes = bytearray(128)
        struct.pack_into("IIQ", attributes, 0, 0, len(attributes), 1)
        struct.pack_into("Q", attributes, 40, 1 << 5 | 1 << 6)  # neither the kernel's nor a hypervisor's
        event = (ctypes.c_char * len(attributes)).from_buffer(attributes)
        self._file = ctypes.CDLL(None).syscall(PERF_EVENT_OPEN, event, 0, -1, -1, 0)
        self._of_counting = -(self.now() - self.now())
        self.counts: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def now(self) -> int:
        return int.from_bytes(os.read(self._file, 8), "little")

    def count(self, owner: Any, name: str) -> None:
        """Count what *name* takes from now on."""
        part, label = getattr(owner, name), f"{owner.__name__.removeprefix('connector_gateway.')}.{name}"

        @functools.wraps(part)
        def counted(*given: Any, **named: Any) -> Any:
            began = self.now()
            result = part(*given, **named)
            self._add(label, began)
            return result

        @functools.wraps(part)
        async def counted_later(*given: Any, **named: Any) -> Any:
            began = self.now()
            result = await part(*given, **named)
            self._add(label, began)
            return result

        setattr(owner, name, counted_later if inspect.iscoroutinefunction(part) else counted)

    def _add(self, label: str, began: int) -> None:
        self.counts[label] += self.now() - began - self._of_counting
        self.calls[label] += 1


class AtOnce(transport.Transport):
    """Third parties that answer at once."""

    async def exchange(self, *request: Any, **_options: Any) -> transport.Answer:
        _, url, *_ = request
        path = url.removeprefix("http://stub").partition("?")[0]
        return transport.Answer(200, {}, stub.BODIES.get(path) or stub.page())


async def prepared(app: App, kind: str) -> Callable[[int], Awaitable[None]]:
    """What makes so many calls."""
    workspace_id = (await app.workspaces.create("bench"))["workspace_id"]
    key = (await app.keys.create(workspace_id, "read_write", calls_per_minute=1_000_000))["key"]
    connection = await app.connections.create(workspace_id, "notes", {"token": "ntn_bench"})
    sent = {"connection_id": connection["connection_id"], "database_id": stub.DATABASE_ID}
    searched, made = {"property": "Name", "value": "Acme"}, {"properties": {"Name": "Acme", "Value": 12.5}}
    body = json.dumps(sent | (searched if kind == "read" else made)).encode()
    path = "/v1/connectors/notes/pages" + ("/search" if kind == "read" else "")
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    application = app.http()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        if message.get("status", 200) != 200:
            raise RuntimeError(f"not every call succeeded: {message}")

    async def call() -> None:
        own = [(b"idempotency-key", identifiers.ulid().encode())] if kind == "keyed" else []
        await application({**scope, "headers": headers + own, "client": ("", 0)}, receive, send)

    async def calls(count: int) -> None:
        left = iter(range(count))

        async def some() -> None:
            for _ in left:
                await call()

        await asyncio.gather(*(some() for _ in range(48)))

    return calls


async def main(kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of({"GATEWAY_NOTES_BASE_URL": "http://stub"}, Path(folder))
        settings = Settings.read(environment | {"GATEWAY_NOTES_BUDGET": "1000000/1"}, CONNECTORS)
        app, counting = App(settings, transport=AtOnce(5.0)), Instructions()
        async with app.http().lifespan():
            calls = await prepared(app, kind)
            await calls(500)
            began = counting.now()
            await calls(CALLS)
            print(f"{(counting.now() - began) / CALLS / 1e3:8.1f} k  the event loop's thread, all of a {kind}")
            for owner, name in PARTS:
                counting.count(owner, name)
            await calls(CALLS)
    for label, count in counting.counts.most_common():
        print(f"{count / CALLS / 1e3:8.1f} k  {label}, {counting.calls[label] / CALLS:g} times")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:] or ["read"]))
