"""Calls of every operation of every connector, with existing and missing objects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import httpx

from harness.gateway_server import Gateway, Reply
from simulation.writes import KINDS, World
from workspace_sandbox.sandbox import Sandbox

Examples = Mapping[str, Any]


@dataclass(frozen=True)
class ReadCall:
    """A call that changes nothing: method, path below the connector, and parameters."""

    method: str
    path: str
    values: Mapping[str, Any]


def calls_of(connector: str) -> ModuleType:
    """Return ``calls.py`` of a connector's tests."""
    return import_module(f"gateway.tests.connectors.{connector}.calls")


def writes_of(connector: str) -> Sequence[str]:
    """Return the writes of a connector whose repeats can be detected by their content."""
    return [name for name in KINDS if name.startswith(f"{connector}.") and "vague" not in name]


@dataclass(frozen=True)
class VendorView:
    """Access to the vendors that bypasses gateway and proxy."""

    sandbox: Sandbox

    @property
    def emulators(self) -> Mapping[str, Any]:
        """The emulators."""
        return self.sandbox.emulators

    async def request(self, connector: str, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """Return the response to a client other than the gateway."""
        address = self.sandbox.emulators[connector].context.addresses["base"]
        async with httpx.AsyncClient() as client:
            return (await client.request(method, address + path, json=body, headers=dict(headers))).json()


def read(gateway: Gateway, connector: str, reading: ReadCall) -> Reply:
    """Make a call that changes nothing, and return the response."""
    values = {"connection_id": gateway.connections[connector], **reading.values}
    sent = {"params": values} if reading.method == "GET" else {"json": values}
    return gateway.request(reading.method, f"/v1/connectors/{connector}{reading.path}", **sent)


def write(gateway: Gateway, world: World, name: str, content: str, key: str | None) -> Reply:
    """Make a write, with or without a key, and return the response."""
    kind = KINDS[name]
    method, path, body = kind.request(world, content)
    sent = {"connection_id": gateway.connections[kind.connector], **body}
    return gateway.request(
        method, f"/v1/connectors/{kind.connector}{path}", json=sent, headers={"Idempotency-Key": key} if key else {}
    )


def defects(world: World, name: str, content: str, reply: Reply) -> Iterator[str]:
    """Yield defects of the vendor's objects after *reply* to a write."""
    kind, objects = KINDS[name], list(KINDS[name].created(world, content))
    if reply.status != 200:
        yield f"in the end {reply.status} {reply.body['error']}"
        return
    for part, returned in enumerate(kind.returned_ids(reply.data)):
        parts = [one for one in objects if one.part == part]
        if len(parts) != kind.expected(reply.data, part) or returned not in {None, *[one.id for one in parts]}:
            yield f"{returned} is returned, {parts} are there"
        yield from (f"{one.id}: {one.flaws}" for one in parts if one.flaws)
