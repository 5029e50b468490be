"""The place that is checked: its address, two keys, connections, and what it answers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from pydantic_core import from_json, to_json
from yarl import URL

ANSWER_SECONDS = 150.0
"""Longer than the service lets a call take."""

MOST_WAITS = 3
"""How often a request waits for the key's minute."""


class CheckFailed(Exception):
    """A clause does not hold; the message says what was expected, and what came."""


class CheckSkipped(Exception):
    """A clause cannot be checked here; the message says why."""


def assert_equal(expected: object, actual: object, what: str) -> None:
    """Break off where *what* is not as it should be."""
    if expected != actual:
        raise CheckFailed(f"{what} should be {expected!r}, and is {actual!r}")


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""

    text: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        try:
            body = from_json(self.text)
        except ValueError as fault:
            raise CheckFailed(f"the body of an answer with status {self.status} is no JSON") from fault
        if not isinstance(body, dict):
            raise CheckFailed("the body of an answer is no object")
        return body

    @property
    def faults(self) -> set[str]:
        """The parameters that a refusal names."""
        return {str(detail.get("parameter")) for detail in self.body["error"]["details"]}


@dataclass(eq=False, repr=False)
class TargetService:
    """Asks the service; where the key's minute is used up, as often as that has passed."""

    base_url: str
    key: str
    read_key: str
    connections: Mapping[str, str]
    """One for each connector, as far as there are any."""

    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What operations are called with, by their names with those of their connectors: ``notes_create_page``."""

    writes: bool = field(kw_only=True, default=False)
    """Whether something may be changed in the applications."""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def find_connections(self) -> None:
        """Take the newest active connection of each connector for which none is named."""
        listed = (await self.ask("GET", "/v1/connections?limit=200")).body.get("data", [])
        active = {one["connector"]: one["connection_id"] for one in reversed(listed) if one["status"] == "active"}
        self.connections = {**active, **self.connections}

    def connection(self, connector: str) -> str:
        """The connection of a connector."""
        if connector not in self.connections:
            raise CheckSkipped(f"there is no connection of {connector}")
        return self.connections[connector]

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = "",
        text: bytes | None = None,
        **headers: str,
    ) -> Reply:
        """The answer to one request, with the key that writes unless another one, or none, is given."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            sent["Authorization"] = f"Bearer {key or self.key}"
        if body is not None or text is not None:
            sent = {"Content-Type": "application/json"} | sent
        content = to_json(body) if body is not None else text
        for _ in range(MOST_WAITS):
            reply = await self._ask(method, path, content, sent)
            if reply.status != 429 or reply.body["error"]["code"] != "rate_limited":
                break
            await asyncio.sleep(float(reply.headers.get("retry-after", "1")))
        return reply

    async def _ask(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        address = URL(self.base_url.rstrip("/") + path, encoded=True)
        async with self._session.request(
            method, address, data=content, headers=headers, allow_redirects=False
        ) as response:
            named = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, named, await response.read())
