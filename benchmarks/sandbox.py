"""The sandbox alone: its start, what a request costs, a reset, and what it holds in memory.

It goes by processor time, and by the round that other work on the machine disturbed least.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load import Load, loading
from benchmarks.processes import Server
from workspace_sandbox import APPLICATIONS

ROUNDS = 5
CALLS = 4_000
WARM_UP = 500
RESETS = 84
SEED = Path(__file__).parents[1] / "sandbox" / "examples" / "seed.yaml"

Row = tuple[str, str, str, bool]
Told = dict[str, Any]


def rows() -> Iterator[Row]:
    """What is measured, the figure, the bar, and whether it is reached."""
    yield _start("all six", 0.8)
    yield _start("one (chat)", 0.3, "--only", "chat")
    with loading() as load:
        for name in APPLICATIONS:
            yield _request(load, name)
    yield from _resets_and_memory()


@contextmanager
def sandbox(*options: str) -> Iterator[tuple[Server, Told]]:
    """A sandbox, once it has told where it is; and what it told."""
    command = [sys.executable, "-m", "workspace_sandbox", "--port", "0", "--until-eof", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        yield Server(process.pid, told["sandbox_url"]), told
        process.communicate(timeout=30)


def _start(what: str, bar: float, *options: str) -> Row:
    taken, spent = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with sandbox(*options) as (server, _):
            taken.append(time.perf_counter() - began)
            spent.append(server.cpu_seconds)
    figure = f"{min(spent):.2f} s of CPU in {min(taken):.2f} s (best of {ROUNDS})"
    return f"sandbox: start of {what}", figure, f"<= {bar} s", min(spent) <= bar


def _request(load: Load, name: str) -> Row:
    """What a read of one application costs with its limits off."""
    with sandbox("--only", name) as (server, told):
        httpx.post(f"{server.url}/_control/{name}/knobs", json={"limits": False}).raise_for_status()
        upstream = told["upstreams"][name]
        method, path, arguments, headers = _read(name, upstream, told["examples"][name])

        def calls(count: int) -> float:
            before = server.cpu_seconds
            done = load(f"{upstream['base_url']}{path}", arguments, headers, calls=count, concurrency=8, method=method)
            assert {"200": count} == done["statuses"], done["statuses"]
            return (server.cpu_seconds - before) / count

        calls(WARM_UP)
        cost = min(calls(CALLS) for _ in range(ROUNDS))
    figure = f"{cost * 1e6:.0f} µs of CPU, {1 / cost:,.0f} a second (best of {ROUNDS})"
    return f"sandbox: a read of {name}", figure, ">= 3,000 a second", cost <= 1 / 3_000


def _read(name: str, upstream: Mapping[str, str], examples: Mapping[str, Any]) -> tuple[str, str, Any, dict[str, str]]:
    """An object read by its identifier: method, path, body and headers."""
    bearer = {"Authorization": f"Bearer {upstream['token']}"}
    match name:
        case "notes":
            return "GET", f"/v1/pages/{examples['page_id']}", None, {**bearer, "Notion-Version": "2026-03-11"}
        case "boards":
            given = f'OAuth oauth_consumer_key="{upstream["key"]}", oauth_token="{upstream["token"]}"'
            return "GET", f"/1/cards/{examples['card_id']}", None, {"Authorization": given}
        case "mail":
            return "GET", f"/gmail/v1/users/me/messages/{examples['message_id']}", None, bearer
        case "chat":
            return "GET", f"/api/conversations.info?channel={examples['channel_id']}", None, bearer
        case "crm":
            return "GET", f"/crm/v3/objects/contacts/{examples['contact_id']}", None, bearer
        case _:
            return "GET", f"/v0/{examples['base_id']}/{examples['table']}/{examples['record_id']}", None, bearer


def _resets_and_memory() -> Iterator[Row]:
    with sandbox("--seed", str(SEED)) as (server, told), httpx.Client() as http:
        for name in APPLICATIONS:
            http.post(f"{server.url}/_control/{name}/knobs", json={"limits": False})
        time.sleep(3)  # until the beginnings are written down
        taken = []
        for _ in range(RESETS):
            for name in APPLICATIONS:
                _, path, _, headers = _read(name, told["upstreams"][name], told["examples"][name])
                http.get(told["upstreams"][name]["base_url"] + path, headers=headers).raise_for_status()
            before = server.cpu_seconds
            http.post(f"{server.url}/_control/reset").raise_for_status()
            taken.append(server.cpu_seconds - before)
        held, peak = server.memory_bytes / 2**20, server.peak_memory_bytes / 2**20
    best, median = min(taken) * 1e3, statistics.median(taken) * 1e3
    figure = f"{best:.1f} ms of CPU at best, {median:.1f} in the median of {RESETS}"
    yield "sandbox: reset of all six, used", figure, "<= 10 ms", median <= 10
    figure = f"{held:.0f} MiB, {peak:.0f} at most"
    yield "sandbox: memory of all six with the example seed", figure, "<= 100 MB", peak * 1.048576 <= 100
