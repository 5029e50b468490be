"""Pacing at saturation: the used share of each budget, and the number of vendor rejections.

Used is the time that full windows need, over the time from the first request to the first one after them.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from benchmarks.processes import Server, environment_of, free_port, started
from benchmarks.stores import stores
from connector_gateway.connectors import CONNECTORS

PROCESSES = (1, 2, 4)
"""The numbers of processes that share a store."""

AT_ONCE = 120
"""Concurrent calls: more than a window admits, and fewer connections than a gateway accepts."""

AT_ONCE_IN_A_MAILBOX = 8
"""The vendor rejects more than about ten concurrent requests of one user, regardless of their units."""

QUEUE_SECONDS = 900

DRAFT_UNITS = 10
"""The units that the vendor charges for creating a draft."""


@dataclass(frozen=True)
class Order:
    """A burst of the same read, large enough to saturate the budget."""

    connector: str
    method: str
    path: str
    arguments: Mapping[str, Any]
    calls: int
    counted: str
    """Only vendor requests whose path begins with this are counted."""

    budget: str = ""
    """The saturated budget. Defaults to the connector's first."""

    units: float = 1
    """The units that each request takes from it."""

    at_once: int = AT_ONCE


@dataclass(frozen=True)
class PacingBench:
    """A sandbox, gateways in front of it, and their connections."""

    sandbox: Mapping[str, Any]
    gateways: Sequence[Server]
    operator: httpx.Client
    key: str
    connections: Mapping[str, str]

    @property
    def gateway(self) -> Server:
        """The first gateway."""
        return self.gateways[0]


@contextmanager
def pacing_bench(processes: int = 1, queue_seconds: float = QUEUE_SECONDS) -> Iterator[PacingBench]:
    """Run sandbox and gateways in separate processes with default budgets.

    Several gateways share PostgreSQL and Valkey. A single one uses SQLite and memory, unless *processes* is 0.
    """
    with ExitStack() as stack:
        described = stack.enter_context(sandboxed())
        shared = {} if processes == 1 else stack.enter_context(stores())
        settings = {**addresses_of(described), "GATEWAY_QUEUE_SECONDS": str(queue_seconds), **shared}
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        environment = environment_of(settings, Path(folder))
        gateways = [stack.enter_context(_gateway(environment)) for _ in range(max(1, processes))]
        yield set_up(described, gateways, environment["GATEWAY_OPERATOR_TOKEN"])


@contextmanager
def _gateway(environment: Mapping[str, str]) -> Iterator[Server]:
    port = free_port()
    command = ("connector_gateway", "serve", "--port", str(port))
    with started(*command, port=port, ready="/readyz", **environment) as gateway:
        yield gateway


@contextmanager
def sandboxed() -> Iterator[dict[str, Any]]:
    """Run a sandbox in a separate process, and yield its description."""
    sandbox = subprocess.Popen(
        [sys.executable, "-m", "connector_gateway", "sandbox", "--port", str(free_port()), "--until-eof"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield json.loads(sandbox.stdout.readline()) if sandbox.stdout else {}
    finally:
        if sandbox.stdin:
            sandbox.stdin.close()
        sandbox.wait(10)


def addresses_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that direct a gateway to a sandbox."""
    return {
        f"GATEWAY_{connector.upper()}_{name.upper()}": value
        for connector, upstream in described["upstreams"].items()
        for name, value in upstream.items()
        if name.endswith("_url")
    }


def set_up(described: Mapping[str, Any], gateways: Sequence[Server], operator_token: str) -> PacingBench:
    """Create a workspace, a key and the connections."""
    operator = httpx.Client(base_url=gateways[0].url, headers={"Authorization": f"Bearer {operator_token}"}, timeout=60)

    def make(path: str, **body: Any) -> Any:
        return operator.post(path, json=body).raise_for_status().json()["data"]

    workspace_id = make("/v1/workspaces", name="bench")["workspace_id"]
    key = make("/v1/keys", workspace_id=workspace_id, scope="read_write", calls_per_minute=1_000_000)["key"]
    connections = {
        connector: make(
            "/v1/connections",
            workspace_id=workspace_id,
            connector=connector,
            credentials={name: value for name, value in upstream.items() if not name.endswith("_url")},
        )["connection_id"]
        for connector, upstream in described["upstreams"].items()
        if connector in CONNECTORS
    }
    return PacingBench(described, gateways, operator, key, connections)


def orders(examples: Mapping[str, Any]) -> Iterator[Order]:
    """Return the load that saturates each connector."""
    notes = examples["notes"]
    search = {"database_id": notes["database_id"], "property": "Name", "value": notes["title"]}
    yield Order("notes", "POST", "/pages/search", search, 298, "/v1/")
    boards = {"board_id": examples["boards"]["board_id"], "include_labels": "false"}
    yield Order("boards", "GET", "/lists", boards, 100, "/1/")
    tables = {"base_id": examples["tables"]["base_id"], "table": examples["tables"]["table"], "limit": "1"}
    yield Order("tables", "GET", "/records", tables, 150, "/v0/")
    chat = {"channel": examples["chat"]["channel_id"], "text": "measuring"}
    yield Order("chat", "POST", "/messages", chat, 30, "/api/chat.postMessage", "posts of a channel")
    yield Order("crm", "GET", "/contacts", {"email": examples["crm"]["email"]}, 500, "/crm/")


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with pacing_bench() as here:
        for order in orders(here.sandbox["examples"]):
            if order.connector in here.connections:
                yield _saturate(here, order)


def orders_together(examples: Mapping[str, Any]) -> Iterator[Order]:
    """Saturate all six connectors for forty seconds, and mail for a minute, which is its window."""
    for order in orders(examples):
        yield replace(
            order, calls={"notes": 124, "boards": 118, "tables": 204, "chat": 44, "crm": 404}[order.connector]
        )
    draft = {"to": ["somebody@example.com"], "subject": "measuring", "body_html": "<p>measuring</p>"}
    yield Order(
        "mail", "POST", "/drafts", draft, 604, "/gmail/v1/users/me/drafts", "user", DRAFT_UNITS, AT_ONCE_IN_A_MAILBOX
    )


def rows_together() -> Iterator[tuple[str, str, str, bool]]:
    """Saturate one, two and four processes that share a store, and the rate limit of a key, all in parallel."""
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        benches = [stack.enter_context(pacing_bench(processes if processes > 1 else 0)) for processes in PROCESSES]
        for rows in threads.map(_measure_together, benches):
            yield from rows


def _measure_together(here: PacingBench) -> Sequence[tuple[str, str, str, bool]]:
    with ThreadPoolExecutor(max_workers=len(CONNECTORS) + 1) as threads:
        minute = threads.submit(_minute, here)
        saturated = threads.map(lambda order: _saturate(here, order), orders_together(here.sandbox["examples"]))
        label = f"{len(here.gateways)} on Valkey, "
        return [(label + what, figure, bar, good) for what, figure, bar, good in (*saturated, minute.result())]


def _minute(here: PacingBench) -> tuple[str, str, str, bool]:
    """Return the number of calls of one key that are admitted concurrently."""
    workspace_id = here.operator.get("/v1/workspaces").json()["data"][0]["workspace_id"]
    body = {"workspace_id": workspace_id, "scope": "read", "calls_per_minute": 120}
    key = here.operator.post("/v1/keys", json=body).raise_for_status().json()["data"]["key"]
    # Invalid calls count against the key, and take nothing from a budget that is measured in parallel.
    statuses = _burst(replace(here, key=key), Order("boards", "GET", "/lists", {}, 200, ""))
    return "a key's minute of 120", f"answers {statuses}", "120 of 200", statuses == {"422": 120, "429": 80}


def rows_burst() -> Iterator[tuple[str, str, str, bool]]:
    """Send simultaneous calls on notes to one, two and four processes that have not seen any. Half are searches."""
    for processes in PROCESSES:
        with pacing_bench(processes, queue_seconds=30) as here:
            notes, connection = here.sandbox["examples"]["notes"], {"connection_id": here.connections["notes"]}
            search = {"database_id": notes["database_id"], "property": "Name", "value": notes["title"], **connection}
            control = f"{here.sandbox['sandbox_url']}/_control/notes/requests"
            httpx.delete(control)
            responses = asyncio.run(_simultaneous(here, search, connection))
            seen = httpx.get(control, timeout=60).json()
            yield from _burst_rows(f"{processes} cold, 230 calls: ", responses, seen)


@dataclass(frozen=True)
class TimedResponse:
    """The response to one of the simultaneous calls."""

    seconds: float
    status: int
    retry_after: float


async def _simultaneous(
    here: PacingBench, search: Mapping[str, Any], connection: Mapping[str, Any]
) -> Sequence[TimedResponse]:
    began, gateways = asyncio.get_running_loop().time(), cycle(here.gateways)

    async def call(session: aiohttp.ClientSession, gateway: Server, *, searches: bool) -> TimedResponse:
        base = f"{gateway.url}/v1/connectors/notes"
        request = (
            session.post(f"{base}/pages/search", json=search)
            if searches
            else session.get(f"{base}/databases", params=connection)
        )
        async with request as response:
            await response.read()
            seconds = asyncio.get_running_loop().time() - began
            return TimedResponse(seconds, response.status, float(response.headers.get("Retry-After", 0)))

    authorised, connections = {"Authorization": f"Bearer {here.key}"}, aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connections, headers=authorised) as session:
        calls = [call(session, next(gateways), searches=number % 2 == 0) for number in range(230)]
        return await asyncio.gather(*calls)


def _burst_rows(
    label: str, responses: Sequence[TimedResponse], seen: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str, bool]]:
    served = [one.seconds for one in responses if one.status == 200]
    rejected = [one for one in responses if one.status != 200]
    longest, slowest = max(one.seconds for one in responses), max(one.seconds for one in rejected)
    yield label + "longest wait", f"{longest:.1f} s, {len(served)} served", "<= 45 s", longest <= 45
    yield label + "slowest rejection", f"{slowest:.2f} s", "<= 1 s", slowest <= 1
    lasted = seen[-1]["at"] - seen[0]["at"]
    ratios = [(one.seconds + one.retry_after) / lasted for one in rejected]
    true = min(ratios) >= 0.8 and max(ratios) <= 1.2
    yield label + "retry_after", f"{min(ratios):.0%} to {max(ratios):.0%} of the true wait", "80 to 120%", true
    used = (len(seen) - 1) / 3 / lasted
    throttled = sum(entry["status"] == 429 for entry in seen)
    yield label + "budget used; upstream 429s", f"{used:.1%}; {throttled}", ">= 98%; 0", used >= 0.98 and not throttled
    mean = sum(served) / len(served)
    yield label + "mean of served calls", f"{mean:.1f} s", "<= 75 s", mean <= 75


def _saturate(here: PacingBench, order: Order) -> tuple[str, str, str, bool]:
    control = f"{here.sandbox['sandbox_url']}/_control/{order.connector}/requests"
    httpx.delete(control)
    statuses = _burst(here, order)
    seen = [entry for entry in httpx.get(control, timeout=60).json() if entry["path"].startswith(order.counted)]
    budgets = CONNECTORS[order.connector].budgets
    budget = budgets[order.budget or next(iter(budgets))]
    each = int(budget.limit / order.units)
    windows = (len(seen) - 1) // each
    lasted = seen[windows * each]["at"] - seen[0]["at"]
    used, throttled = windows * budget.per_seconds / lasted, sum(entry["status"] == 429 for entry in seen)
    good = used >= 0.98 and throttled == 0 and statuses == {"200": order.calls}
    figure = (
        f"{used:.1%} ({windows} windows in {lasted:.1f} s); {throttled} throttled by the vendor; responses {statuses}"
    )
    return f"{order.connector}: budget used at saturation; upstream 429s", figure, ">= 98%; 0", good


def _burst(here: PacingBench, order: Order) -> Mapping[str, int]:
    """Send all calls to the gateways in turn, some of them concurrently, and count the responses by status."""
    return asyncio.run(_answers(here, order))


async def _answers(here: PacingBench, order: Order) -> Mapping[str, int]:
    gateways, responses, free = cycle(here.gateways), Counter[str](), asyncio.Semaphore(order.at_once)
    arguments = {"connection_id": here.connections[order.connector], **order.arguments}
    sent: dict[str, Any] = {"params": arguments} if order.method == "GET" else {"json": arguments}

    async def call(session: aiohttp.ClientSession, gateway: Server) -> None:
        url = f"{gateway.url}/v1/connectors/{order.connector}{order.path}"
        async with free, session.request(order.method, url, **sent) as response:
            await response.read()
            responses[str(response.status)] += 1

    # No connection is reused: the gateway would close one that waits for the next window.
    connections, waiting = aiohttp.TCPConnector(limit=0, force_close=True), aiohttp.ClientTimeout(total=QUEUE_SECONDS)
    authorised = {"Authorization": f"Bearer {here.key}"}
    async with aiohttp.ClientSession(connector=connections, timeout=waiting, headers=authorised) as session:
        await asyncio.gather(*(call(session, next(gateways)) for _ in range(order.calls)))
    return dict(responses)
