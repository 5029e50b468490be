"""HTTP requests to third parties: one pool of connections, a limit to every wait, and failures told apart."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from types import MappingProxyType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct
from pydantic_core import from_json
from yarl import URL

from connector_gateway.kit.errors import (
    InDoubtReason,
    OutcomeUnknown,
    UpstreamError,
    UpstreamFailure,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.deadlines import Deadlines
from connector_gateway.kit.upstream.http_origin import BodyTooLarge, HttpOrigin, SendWindowMissed, never, read_body
from connector_gateway.kit.upstream.memory_budget import ResponseMeter, unmetered
from connector_gateway.kit.wire import UnexpectedShape, decode_json

PIECEMEAL_FROM_BYTES = 1024 * 1024
"""Larger requests are sent piece by piece, so that nobody else waits for one of them."""

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 15.0
"""Idle connections are closed before the third party closes them, so that a write is rarely sent on a closing one."""


FAULTS = (aiohttp.ClientError, HttpProcessingError, TimeoutError, ConnectionError, BodyTooLarge)
"""The exceptions that the pool raises; the second is that of its parser, the last our own."""


NO_SECRETS: Mapping[str, str] = MappingProxyType({})


class NotSent(Exception):
    """The request never left: the address did not resolve, or nothing accepted the connection."""


class TimedOut(Exception):
    """No whole answer came in time; the request may have arrived, and may still be worked on."""


class ConnectionLost(Exception):
    """The connection broke before the whole answer came; the request may have arrived."""


class TooLarge(ConnectionLost):
    """The connection was broken here, since the answer is larger than answers are read."""


W = TypeVar("W")

_UNREAD = object()
"""Stands for a body that nobody has read yet."""


class UpstreamResponse(Struct):
    """What a third party answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    doubt: InDoubtReason | None = None
    """Why the outcome is unknown if the body of a success cannot be read; set after a write."""

    _raw: Any = _UNREAD

    @property
    def is_success(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def date(self) -> datetime | None:
        """The time of the answer by the third party's clock, to the second; None without a ``Date`` header."""
        return date_of(self.headers.get("Date", ""))

    @property
    def text(self) -> str:
        """The body as text, for the log."""
        return self.body[:2000].decode("utf-8", "replace")

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON, and not just null; nothing is made of it yet."""
        try:
            decode_json(self.body, msgspec.Raw)
            return self.body.strip() != b"null" and (self.body.isascii() or bool(self.body.decode()))
        except ValueError:
            return False

    @property
    def raw(self) -> Any:
        """The body as JSON, or None where it is none."""
        if self._raw is _UNREAD:
            try:
                self._raw = from_json(self.body)
            except ValueError:
                self._raw = None
        return self._raw

    def decode(self, shape: type[W]) -> W:
        """The body as *shape*, for which see ``kit.wire``.

        Where it differs: ``OutcomeUnknown`` after a write, else ``UpstreamError`` or ``UpstreamUnexpected``.
        """
        try:
            return decode_json(self.body, shape)
        except UnexpectedShape as fault:
            raise self._unreadable(fault) from fault

    def _unreadable(self, fault: UnexpectedShape) -> UpstreamFailure:
        place = [{"place": fault.json_path}] if fault.json_path else []
        private = f"{fault}: {self.text}"
        if self.doubt is not None:
            message = "The application answered something that cannot be read; whether it did the work is not known."
            return OutcomeUnknown(message, *place, private=private, doubt=self.doubt)
        if fault.is_json:
            return UpstreamUnexpected("The application answered in an unknown shape.", *place, private=private)
        return UpstreamError("The application answered something that is not JSON.", private=private)

    def try_decode(self, shape: type[W]) -> W | None:
        """The body as *shape*, or None if it has another one; for refusals, whose status counts in any case."""
        try:
            return decode_json(self.body, shape)
        except UnexpectedShape:
            return None

    def json(self) -> Any:
        """The body as JSON; ``UpstreamError`` where it is none."""
        raw = self.raw
        if raw is None:
            raise UpstreamError(
                "The application answered something that is not JSON.", private=self.text, doubt=self.doubt
            )
        return raw


class Transport:
    """The pool of connections to all third parties."""

    def __init__(self, timeout_seconds: float, connections: int = 1000) -> None:
        self._timeout_seconds = timeout_seconds
        self._deadlines = Deadlines(timeout_seconds)
        self._connections = connections
        self._origins: dict[str, HttpOrigin] = {}
        self.most = connections
        """So many requests can be under way at once; more wait for a connection."""

        self.in_flight = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            # Connections of different accounts share this pool: a cookie of one must never go out with another.
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "connector-gateway"},
        )
        # By itself it would send a PUT or DELETE again when the connection breaks; only ``Upstream`` decides that.
        self._session._retry_connection = False  # noqa: SLF001  # there is no public way
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        holding: ResponseMeter | None = None,
        *,
        stale: Callable[[], bool] = never,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> UpstreamResponse:
        """Send one request and read its whole answer; redirects are answers.

        A name in braces in *url* stands for the secret of that name. Only the request itself has the secret: whatever
        is recorded of the request has the template.
        Raises ``Stale``, and has sent nothing, where *stale* says so once there is a connection.
        """
        url = _filled(url, secrets)
        send = self._send_at_once if body is None or len(body) < PIECEMEAL_FROM_BYTES else self._send_piecemeal
        self.in_flight += 1
        try:
            # One shared timer instead of ``asyncio.timeout``, which costs as much as the pool's own (decision 15).
            with self._deadlines:
                return UpstreamResponse(*await send(method, url, headers, body, holding or unmetered(), stale=stale))
        except FAULTS as fault:
            raise _classify(fault) from fault
        finally:
            self.in_flight -= 1

    def _send_at_once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        holding: ResponseMeter,
        *,
        stale: Callable[[], bool],
    ) -> Awaitable[tuple[int, Mapping[str, str], bytes]]:
        start = url.find("/", url.find("://") + 3)
        address = url[:start]
        origin = self._origins.get(address)
        if origin is None:
            # As many as the settings have addresses.
            origin = self._origins[address] = HttpOrigin(self._session, address)
        return origin.exchange(method, url[start:], headers, body, holding, stale=stale)

    async def _send_piecemeal(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        holding: ResponseMeter,
        *,
        stale: Callable[[], bool],
    ) -> tuple[int, Mapping[str, str], bytes]:
        # The session sends by itself once it is connected, so this is the last look there is.
        if stale():
            raise SendWindowMissed
        # Redirects are not followed: the request bears a token, and would take it to wherever it is sent.
        async with self._session.request(
            method, URL(url, encoded=True), headers=headers, data=BytesIO(body or b""), allow_redirects=False
        ) as response:
            return response.status, response.headers, await read_body(response.content, response.headers, holding)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Send one request and yield status, headers and the body in pieces; only silence is limited, not the whole.

        Names in braces in *url* stand for *secrets*, as in ``exchange``.
        """
        url = _filled(url, secrets)
        # A large file may take long. That nothing comes for a while is what shows a line that is dead.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._timeout_seconds)
        self.in_flight += 1
        try:
            async with self._session.request(
                method, URL(url, encoded=True), headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                yield response.status, response.headers, response.content.iter_chunked(64 * 1024)
        except FAULTS as fault:
            raise _classify(fault) from fault
        finally:
            self.in_flight -= 1


def _filled(url: str, secrets: Mapping[str, str]) -> str:
    """Return *url* with each name in braces replaced by the secret of that name, percent-encoded."""
    # A brace in a value would be percent-encoded, so that none can be taken for a name.
    if "{" not in url:
        return url
    for name, secret in secrets.items():
        url = url.replace(f"{{{name}}}", quote(secret, safe=""))
    return url


def date_of(header: str) -> datetime | None:
    """The instant in a ``Date`` header; None where there is none to read."""
    try:
        told = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def _classify(fault: Exception) -> NotSent | TimedOut | ConnectionLost:
    """The exception of ours that stands for *fault* of the pool."""
    if isinstance(fault, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.InvalidURL):
        # Only these are certain not to have left. Everything else counts as a doubt once the request was a write.
        return NotSent(str(fault))
    if isinstance(fault, TimeoutError):
        return TimedOut(str(fault))
    if isinstance(fault, BodyTooLarge):
        return TooLarge("the answer is too large")
    return ConnectionLost(f"{type(fault).__name__}: {fault}")
