"""The account to check: requests and operations through the gateway, and the objects that checks create."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.kit.operation import AnyConnector

T = TypeVar("T")

TEXT = "connector-gateway verify"
"""The title or text of every object that checks create."""

AT_LIMIT = "The vendor's rate limit is reached; run verify again later."
FAILED = "The vendor failed."
RATE_LIMITED = "rate_limited"


class Send(Protocol):
    """Sends a request to the gateway and returns the body of its response."""

    async def __call__(self, method: str, path: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send *values* as the query of a GET, or as the JSON body."""


class CallFailed(Exception):
    """The gateway responded with an error."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body["error"]["message"])
        self.body = body
        self.code: str = body["error"]["code"]


class NotCheckable(Exception):
    """A fact cannot be checked with this account, for the reason in the message."""


class UnsuitablePlace(Exception):
    """The place does not exist, is of another kind, or contains something."""


@dataclass(frozen=True)
class VendorReply:
    """A response of the vendor, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Created:
    """An object that a check created, and its removal."""

    kind: str
    object_id: str
    remove: Callable[[], Awaitable[VendorReply]]


Remove = Callable[[str], Awaitable[VendorReply]]
"""Removes the object with an ID."""


class Account:
    """An account of a vendor, reached through a connection of a running gateway."""

    def __init__(self, connector: AnyConnector, connection_id: str, send: Send, place: str | None = None) -> None:
        self._connector = connector
        self._connection_id = connection_id
        self._send = send
        self.place = place or ""
        """The object in which checks may write. Empty if they may not."""

        self.created: list[Created] = []
        self._results: dict[Callable[..., Any], asyncio.Future[Any]] = {}

    async def request(
        self, method: str, path: str, body: Any = None, *, query: Any = None, headers: Any = None
    ) -> VendorReply:
        """Send a request to the vendor.

        Raises ``NotCheckable`` if the vendor is at its limit or fails, and ``CallFailed`` for an error of the gateway.
        """
        values = {"method": method, "path": path, "query": query, "headers": headers, "body": body}
        sent = {name: value for name, value in values.items() if value is not None}
        data = await self._sent("POST", REQUEST.path.format(connection_id=self._connection_id), sent)
        if data["status"] in {429, 529}:
            raise NotCheckable(AT_LIMIT)
        if data["status"] >= 500:
            raise NotCheckable(FAILED)
        return VendorReply(data["status"], data["headers"], data["body"])

    async def call(self, name: str, /, **params: Any) -> Any:
        """Call an operation and return its data. Raises ``CallFailed`` for an error."""
        (operation,) = (one for one in self._connector.operations if one.name == name)
        in_path = {key: quote(str(value), safe="") for key, value in params.items() if f"{{{key}}}" in operation.path}
        values = {key: value for key, value in params.items() if key not in in_path}
        path = f"/v1/connectors/{self._connector.name}{operation.path.format(**in_path)}"
        return await self._sent(operation.method, path, {"connection_id": self._connection_id, **values})

    async def create(self, kind: str, make: Awaitable[T], object_id: Callable[[T], str], remove: Remove) -> T:
        """Create an object that is removed after the checks, even if they are interrupted while it is created."""
        task = asyncio.ensure_future(make)
        try:
            await asyncio.wait([task])
        finally:
            # Also after an interrupt, since the request was sent and its object would remain.
            result = await task
            created_id = object_id(result)
            self.created.append(Created(kind, created_id, lambda: remove(created_id)))
        return result

    async def once(self, make: Callable[["Account"], Awaitable[T]]) -> T:
        """Return the result of *make*, which several checks share and only the first one awaits."""
        if make not in self._results:
            self._results[make] = asyncio.ensure_future(make(self))
        result: T = await self._results[make]
        return result

    async def clean_up(self) -> list[Created]:
        """Remove what was created, newest first, and return what could not be removed."""
        remaining = []
        for one in reversed(self.created):
            try:
                removed = (await one.remove()).status < 300
            except (CallFailed, NotCheckable):
                removed = False
            if not removed:
                remaining.append(one)
        self.created.clear()
        return remaining

    async def _sent(self, method: str, path: str, values: Mapping[str, Any]) -> Any:
        body = await self._send(method, path, values)
        while "error" in body and body["error"]["code"] == RATE_LIMITED:
            await asyncio.sleep(body["retry_after"])
            body = await self._send(method, path, values)
        if "error" in body:
            raise CallFailed(body)
        return body["data"]
