"""The service under test: its URL, two keys, connections, and its replies."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from pydantic_core import from_json, to_json
from yarl import URL

TIMEOUT_SECONDS = 150.0
"""The timeout of a request, longer than the service allows for a call."""

MAX_ATTEMPTS = 3
"""The maximum number of attempts while the key is rate limited."""


class CheckFailed(Exception):
    """A clause is violated. The message contains the expected and the actual value."""


class CheckSkipped(Exception):
    """A clause cannot be checked. The message contains the reason."""


def assert_equal(expected: object, actual: object, what: str) -> None:
    """Raise ``CheckFailed`` unless *actual*, which *what* describes, equals *expected*."""
    if expected != actual:
        raise CheckFailed(f"{what} should be {expected!r}, but is {actual!r}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the service."""

    status: int
    headers: Mapping[str, str]
    """The headers by lower-case name."""

    text: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The body as a JSON object. Raises ``CheckFailed`` if it is none."""
        try:
            body = from_json(self.text)
        except ValueError as error:
            raise CheckFailed(f"the body of a response with status {self.status} is not JSON") from error
        if not isinstance(body, dict):
            raise CheckFailed("the body of a response is not a JSON object")
        return body

    @property
    def reported_parameters(self) -> set[str]:
        """The parameters in the error details."""
        return {str(detail.get("parameter")) for detail in self.body["error"]["details"]}


@dataclass(eq=False, repr=False)
class TargetService:
    """Sends requests to the service under test, and waits if the key is rate limited."""

    base_url: str
    key: str
    read_key: str
    connections: Mapping[str, str]
    """Connections by connector, if it has any."""

    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of operations by connector and operation, such as ``notes_create_page``."""

    writes: bool = field(kw_only=True, default=False)
    """Whether checks may write to the vendors."""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def find_connections(self) -> None:
        """Use the newest active connection of each connector without a configured one."""
        connections = (await self.request("GET", "/v1/connections?limit=200")).body.get("data", [])
        active = {one["connector"]: one["connection_id"] for one in reversed(connections) if one["status"] == "active"}
        self.connections = {**active, **self.connections}

    def connection(self, connector: str) -> str:
        """Return the connection of a connector. Raises ``CheckSkipped`` if there is none."""
        if connector not in self.connections:
            raise CheckSkipped(f"there is no connection of {connector}")
        return self.connections[connector]

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = "",
        text: bytes | None = None,
        **headers: str,
    ) -> Reply:
        """Send one request and return the reply. Uses the write key unless *key* is given or None."""
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            all_headers["Authorization"] = f"Bearer {key or self.key}"
        if body is not None or text is not None:
            all_headers = {"Content-Type": "application/json"} | all_headers
        content = to_json(body) if body is not None else text
        for _ in range(MAX_ATTEMPTS):
            reply = await self._send(method, path, content, all_headers)
            if reply.status != 429 or reply.body["error"]["code"] != "rate_limited":
                break
            await asyncio.sleep(float(reply.headers.get("retry-after", "1")))
        return reply

    async def _send(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        url = URL(self.base_url.rstrip("/") + path, encoded=True)
        async with self._session.request(method, url, data=content, headers=headers, allow_redirects=False) as response:
            lowered = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, lowered, await response.read())
