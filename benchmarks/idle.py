"""What it costs to watch many connections in which nothing happens, beside asking the applications."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import insert

from connector_gateway.app import App
from connector_gateway.kit.budget import Budget
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.observing import Delivery, Observing, Receipt, Watch
from connector_gateway.kit.operation import AnyConnector, Connector
from connector_gateway.settings import Settings
from connector_gateway.storage import tables

CONNECTIONS = 10_000
PERIOD_SECONDS = 60.0
MEASURED_SECONDS = 60.0
SETTLING_SECONDS = 5.0
BAR = 0.05


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """What is measured, the figure, the bar, and whether it is reached."""
    for pushed, kind in ((True, "pushed to"), (False, f"looked at every {PERIOD_SECONDS:.0f} s")):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.idle", str(int(pushed))], capture_output=True, check=True
        )
        measured = from_json(done.stdout)
        figure = f"{measured['part']:.1%} of a core; {measured['looks']} looks in {MEASURED_SECONDS:.0f} s"
        yield f"{CONNECTIONS:,} idle connections, {kind}", figure, f"<= {BAR:.0%}", measured["part"] <= BAR


class Quiet:
    """A third party that is never asked, and in which nothing happens."""

    def __init__(self) -> None:
        self.looks = 0

    async def look(self, watch: Watch[Any]) -> None:  # noqa: ARG002  # a look's signature
        """See nothing."""
        self.looks += 1

    def connector(self, *, pushed: bool) -> Connector[Any]:
        """The third party as a connector."""
        return Connector(
            name="quiet",
            summary="Nothing.",
            addresses={"base": "http://127.0.0.1:9"},
            budgets={"all": Budget(1000, 1)},
            authorise=lambda _: {},
            client=lambda upstream: upstream,
            operations=(),
            observing=Observing(self.look, PERIOD_SECONDS, "secret", _nothing, _no_observation if pushed else None),
        )


def _nothing(delivery: Delivery, secrets: Sequence[str]) -> Receipt:  # noqa: ARG001  # what a receiver is handed
    return Receipt()


def _no_observation(*_: Mapping[str, Any]) -> Sequence[Any]:
    return []


async def measure(*, pushed: bool) -> dict[str, float]:
    """The part of a core that watching takes, and how many looks there were."""
    quiet = Quiet()
    connectors = {"quiet": quiet.connector(pushed=pushed)}
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(Path(folder) / "idle.db", connectors)
        await _furnish(App(settings, connectors=connectors), pushed=pushed)
        served = App(settings, connectors=connectors).http()
        async with served.lifespan():
            await asyncio.sleep(SETTLING_SECONDS)
            looks, spent, began = quiet.looks, time.process_time(), time.monotonic()
            await asyncio.sleep(MEASURED_SECONDS)
            part = (time.process_time() - spent) / (time.monotonic() - began)
            return {"part": part, "looks": quiet.looks - looks}


def settings_of(file: Path, connectors: Mapping[str, AnyConnector]) -> Settings:
    """The settings of an installation that keeps its data in *file*."""
    environment = {
        "GATEWAY_DATABASE_URL": f"sqlite:///{file}",
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
        "GATEWAY_QUIET_HOOK_SECRET": "secret",
    }
    return Settings.read(environment, connectors)


async def _furnish(app: App, *, pushed: bool) -> None:
    """Connections whose next looks are spread over the period, as they are after a while."""
    names, now = [f"conn_{ulid()}" for _ in range(CONNECTIONS)], time.time()
    async with app.database:
        workspace = await app.workspaces.create("bench", "paid")
        made = [connection_row(app, name, workspace["workspace_id"], now) for name in names]
        due = [None if pushed else now + PERIOD_SECONDS * number / CONNECTIONS for number in range(CONNECTIONS)]
        watched = [watch_row(name, due_at) for name, due_at in zip(names, due, strict=True)]
        await app.database.write(lambda writing: writing.execute(insert(tables.connections), made))
        await app.database.write(lambda writing: writing.execute(insert(tables.watches), watched))


def connection_row(app: App, connection_id: str, workspace_id: str, now: float) -> dict[str, Any]:
    """The row of an active connection."""
    return {
        "connection_id": connection_id,
        "workspace_id": workspace_id,
        "connector": "quiet",
        "name": "",
        "status": "active",
        "sealed": app.connections._vault.seal({"token": "t"}, connection_id),  # noqa: SLF001
        "settings": {},
        "created_at": now,
        "updated_at": now,
        "deleted": False,
    }


def watch_row(connection_id: str, due_at: float | None) -> dict[str, Any]:
    """The row of a connection that is polled at *due_at*."""
    return {
        "connection_id": connection_id,
        "connector": "quiet",
        "account": connection_id,
        "state": {"user": "u"},
        "due_at": due_at,
        "whole_at": due_at,
        "behind_since": None,
        "failures": 0,
        "sequence": 0,
        "observed_at": 0.0,
    }


if __name__ == "__main__":
    sys.stdout.buffer.write(to_json(asyncio.run(measure(pushed=sys.argv[1:] == ["1"]))))
    sys.stdout.flush()
    os._exit(0)
