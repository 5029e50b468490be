"""The account to check: requests and operations through the gateway, and the objects that checks create."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar
from urllib.parse import quote
from uuid import uuid4

from multidict import CIMultiDict

from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.kit import errors
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.pool import UpstreamResponse

T = TypeVar("T")

TEXT = "connector-gateway verify"
"""The title or text of every object that checks create."""

AT_LIMIT = "The vendor's rate limit is reached; run verify again later."
LACKS_SCOPE = "The connection lacks a scope."
FAILED = "The vendor failed."
FORBIDDEN = "The connection lacks permission."
RATE_LIMITED, UPSTREAM_RATE_LIMITED, OUTCOME_UNKNOWN = "rate_limited", "upstream_rate_limited", "outcome_unknown"
LOSE_RESPONSE = {"Prefer": "lose-response"}

MAX_WAIT_SECONDS = 65.0
"""The maximum time to wait until the vendor's rate limit ends. Most are limits per minute."""

POLL_SECONDS = 1.0
"""Seconds between two requests that wait for an effect."""


class Send(Protocol):
    """Sends a request to the gateway and returns the body of its response."""

    async def __call__(
        self, method: str, path: str, values: Mapping[str, Any], headers: dict[str, str] | None = None
    ) -> Mapping[str, Any]:
        """Send *values* as the query of a GET, or as the JSON body."""


class CallFailed(Exception):
    """The gateway responded with an error."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body["error"]["message"])
        self.body = body
        self.code: str = body["error"]["code"]
        self.retry_after: float | None = body.get("retry_after")


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

    def __init__(
        self,
        connector: AnyConnector,
        connection_id: str,
        send: Send,
        place: str | None = None,
        patience_seconds: float = 60.0,
    ) -> None:
        self.connector = connector
        self._connection_id = connection_id
        self._send = send
        self._patience_seconds = patience_seconds
        self.place = place or ""
        """The object in which checks may write. Empty if they may not."""

        self.created: list[Created] = []
        self._results: dict[Callable[..., Any], asyncio.Future[Any]] = {}

    async def request(
        self, method: str, path: str, body: Any = None, *, query: Any = None, headers: Any = None, expects: int = 200
    ) -> VendorReply:
        """Send a request to the vendor.

        Raises ``NotCheckable`` if the vendor is at its limit, fails or denies a permission, unless the check *expects*
        that status, and ``CallFailed`` for an error of the gateway or a revoked connection.
        """
        values = {"method": method, "path": path, "query": query, "headers": headers, "body": body}
        sent = {name: value for name, value in values.items() if value is not None}
        data = await self._sent("POST", REQUEST.path.format(connection_id=self._connection_id), sent)
        reply = VendorReply(data["status"], data["headers"], data["body"])
        if reply.status != expects or reply.status == 200:
            _check_informative(self.connector, reply)
        return reply

    async def call(self, name: str, /, **params: Any) -> Any:
        """Call an operation and return its data. Raises ``CallFailed`` for an error."""
        return await self._call(name, params)

    async def call_losing_response(self, name: str, /, **params: Any) -> Any:
        """Call a write that loses the vendor's response, repeat it with its key until it succeeds, and return its data.

        The connection to the vendor is closed as soon as the first request that writes is sent.
        """
        key = {"Idempotency-Key": uuid4().hex}
        headers = key | LOSE_RESPONSE
        while True:
            try:
                return await self._call(name, params, headers)
            except CallFailed as error:
                if error.code != OUTCOME_UNKNOWN or error.retry_after is None:
                    raise
                await asyncio.sleep(error.retry_after)
            headers = key

    async def create(self, kind: str, make: Awaitable[T], object_id: Callable[[T], str], remove: Remove) -> T:
        """Create an object that is removed after the checks, even if they are interrupted while it is created.

        *object_id* returns an empty text if none was created.
        """
        task = asyncio.ensure_future(make)
        try:
            await asyncio.wait([task])
        finally:
            # Also after an interrupt, since the request was sent and its object would remain.
            result = await self._made(kind, task)
            self.adopt(kind, object_id(result), remove)
        return result

    async def _made(self, kind: str, task: asyncio.Future[T]) -> T:
        """Return what *task* created. If its outcome is unknown, the object is named as not removed."""
        try:
            return await task
        except CallFailed as error:
            if error.code == OUTCOME_UNKNOWN:
                self.created.append(Created(kind, "of unknown outcome", partial(_fail, error)))
            raise

    async def wait_until(self, is_met: Callable[[], Awaitable[bool]]) -> bool:
        """Return True as soon as *is_met* does, or False after a minute."""
        polls = int(self._patience_seconds / POLL_SECONDS)
        for _ in range(polls):
            if await is_met():
                return True
            await asyncio.sleep(POLL_SECONDS)
        return await is_met()

    def adopt(self, kind: str, object_id: str, remove: Remove) -> None:
        """Remove an object after the checks, once, however often it is adopted. An empty ID is none."""
        if object_id and (kind, object_id) not in {(one.kind, one.object_id) for one in self.created}:
            self.created.append(Created(kind, object_id, partial(remove, object_id)))

    def release(self, kind: str, object_id: str) -> None:
        """Do not remove an object that no longer exists."""
        self.created = [one for one in self.created if (one.kind, one.object_id) != (kind, object_id)]

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

    async def _call(self, name: str, params: Mapping[str, Any], headers: dict[str, str] | None = None) -> Any:
        (operation,) = (one for one in self.connector.operations if one.name == name)
        in_path = {key: quote(str(value), safe="") for key, value in params.items() if f"{{{key}}}" in operation.path}
        values = {key: value for key, value in params.items() if key not in in_path}
        path = f"/v1/connectors/{self.connector.name}{operation.path.format(**in_path)}"
        return await self._sent(operation.method, path, {"connection_id": self._connection_id, **values}, headers)

    async def _sent(
        self, method: str, path: str, values: Mapping[str, Any], headers: dict[str, str] | None = None
    ) -> Any:
        body = await self._send(method, path, values, headers)
        may_wait = True
        while code := _limited(body, may_wait=may_wait):
            await asyncio.sleep(body["retry_after"])
            body = await self._send(method, path, values, headers)
            may_wait = may_wait and code == RATE_LIMITED
        if "error" in body:
            raise CallFailed(body)
        return body["data"]


async def _fail(error: CallFailed) -> VendorReply:
    raise error


def _limited(body: Mapping[str, Any], *, may_wait: bool) -> str | None:
    """Return the code of an error after which nothing was sent and that ends soon, or None.

    The limit of the key always ends. That of the vendor ends once, if it *may_wait* for it.
    """
    code = body["error"]["code"] if "error" in body else None
    if code == UPSTREAM_RATE_LIMITED:
        return code if may_wait and body["retry_after"] <= MAX_WAIT_SECONDS else None
    return code if code == RATE_LIMITED else None


def _check_informative(connector: AnyConnector, reply: VendorReply) -> None:
    """Raise an error for a response that says nothing about a fact, by the connector's own rules."""
    body = reply.body.encode() if isinstance(reply.body, str) else encode_json(reply.body)
    response = UpstreamResponse(reply.status, CIMultiDict(reply.headers), body)
    error = connector.error_table.classify(response)
    if reply.status in {429, 529} or connector.parse_throttle(response) is not None:
        raise NotCheckable(AT_LIMIT)
    if reply.status >= 500:
        raise NotCheckable(FAILED)
    if error is errors.ConnectionRevoked:
        raise revoked(connector)
    if error is errors.ConnectionScopeMissing:
        raise NotCheckable(LACKS_SCOPE)
    if reply.status in {401, 403}:
        raise NotCheckable(FORBIDDEN)


def revoked(connector: AnyConnector) -> CallFailed:
    """Return the error of a connection whose credentials the vendor rejects."""
    error = errors.ConnectionRevoked(connector.error_table.message(errors.ConnectionRevoked))
    remedy = resolve_remedy(error, "cli", [connector])
    return CallFailed({"error": {"code": error.code, "message": error.message, "remedy": remedy}})
