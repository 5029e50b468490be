"""The pool of HTTP connections to all vendors, with time limits and classified failures."""

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
from connector_gateway.kit.upstream.http_origin import (
    BodyTooLarge,
    HttpOrigin,
    SendWindowMissed,
    begin_at_any_time,
    read_body,
)
from connector_gateway.kit.upstream.memory_budget import ResponseMeter, unmetered
from connector_gateway.kit.vendor_model import UnexpectedShape, decode_json

CHUNKED_FROM_BYTES = 1024 * 1024
"""Larger requests are sent in pieces, so that they do not delay others."""

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 15.0
"""Idle connections are closed before the vendor closes them, so that a write is rarely sent on a closing one."""


TRANSPORT_ERRORS = (aiohttp.ClientError, HttpProcessingError, TimeoutError, ConnectionError, BodyTooLarge)
"""The exceptions that aiohttp's client, its parser and ``read_body`` raise."""


NO_SECRETS: Mapping[str, str] = MappingProxyType({})


class NotSent(Exception):
    """The request was not sent: the host did not resolve, or nothing accepted the connection."""


class TimedOut(Exception):
    """No complete response arrived in time. The request may have arrived and may still be in progress."""


class ConnectionLost(Exception):
    """The connection broke before the complete response arrived. The request may have arrived."""


class TooLarge(ConnectionLost):
    """The gateway closed the connection because the response is too large."""


W = TypeVar("W")

_UNREAD = object()
"""Marks a body that has not been decoded yet."""


class UpstreamResponse(Struct):
    """A response from a vendor."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    doubt: InDoubtReason | None = None
    """The reason why the outcome of a write is unknown if the body of its successful response cannot be decoded."""

    on_decode: Callable[[bytes, Any], None] | None = None
    """Called with the body and its shape when the body is decoded."""

    _raw: Any = _UNREAD

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def date(self) -> datetime | None:
        """The time of the response by the vendor's clock, to the second, or None without a ``Date`` header."""
        return parse_date(self.headers.get("Date", ""))

    @property
    def text(self) -> str:
        """The beginning of the body as text, for the log."""
        return self.body[:2000].decode("utf-8", "replace")

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON other than null. It is checked without building the value."""
        try:
            decode_json(self.body, msgspec.Raw)
            return self.body.strip() != b"null" and (self.body.isascii() or bool(self.body.decode()))
        except ValueError:
            return False

    @property
    def raw(self) -> Any:
        """The body as JSON, or None if it is not JSON."""
        if self._raw is _UNREAD:
            try:
                self._raw = from_json(self.body)
            except ValueError:
                self._raw = None
        return self._raw

    def decode(self, shape: type[W]) -> W:
        """Decode the body as *shape* (see ``kit.vendor_model``).

        Raises ``OutcomeUnknown`` after a write if the body has another shape, otherwise ``UpstreamError`` or
        ``UpstreamUnexpected``.
        """
        try:
            decoded = decode_json(self.body, shape)
        except UnexpectedShape as error:
            raise self._decode_error(error) from error
        if self.on_decode is not None:
            self.on_decode(self.body, shape)
        return decoded

    def _decode_error(self, error: UnexpectedShape) -> UpstreamFailure:
        details = [{"place": error.json_path}] if error.json_path else []
        private = f"{error}: {self.text}"
        if self.doubt is not None:
            message = "The vendor returned an unreadable response. It is unknown whether the write took effect."
            return OutcomeUnknown(message, *details, private=private, doubt=self.doubt)
        if error.is_json:
            return UpstreamUnexpected(
                "The vendor returned a response with an unexpected structure.", *details, private=private
            )
        return UpstreamError("The vendor returned a response that is not JSON.", private=private)

    def try_decode(self, shape: type[W]) -> W | None:
        """Decode the body as *shape*, or return None if it has another shape.

        For errors, whose status counts in any case.
        """
        try:
            return decode_json(self.body, shape)
        except UnexpectedShape:
            return None

    def json(self) -> Any:
        """Return the body as JSON. Raises ``UpstreamError`` if it is not JSON."""
        raw = self.raw
        if raw is None:
            raise UpstreamError("The vendor returned a response that is not JSON.", private=self.text, doubt=self.doubt)
        return raw


class Transport:
    """The pool of connections to all vendors."""

    def __init__(self, timeout_seconds: float, connections: int = 1000) -> None:
        self._timeout_seconds = timeout_seconds
        self._deadlines = Deadlines(timeout_seconds)
        self._connections = connections
        self._origins: dict[str, HttpOrigin] = {}
        self.max_in_flight = connections
        """The maximum number of concurrent requests. Further requests wait for a connection."""

        self.in_flight = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            # Connections of different accounts share this pool, so cookies of one must never be sent for another.
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "connector-gateway"},
        )
        # By default aiohttp resends a PUT or DELETE if the connection breaks, but only ``UpstreamClient`` may decide
        # that.
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
        meter: ResponseMeter | None = None,
        *,
        begin: Callable[[], bool] = begin_at_any_time,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> UpstreamResponse:
        """Send one request and read its complete response, which may be a redirect.

        A name in braces in *url* stands for the secret of that name. Only the request itself contains the secret.
        Records of the request have the template.

        Raises ``SendWindowMissed``, without sending anything, if *begin* returns False once there is a connection.
        """
        url = _fill_secrets(url, secrets)
        send = self._send_whole if body is None or len(body) < CHUNKED_FROM_BYTES else self._send_in_pieces
        self.in_flight += 1
        try:
            # One shared timer, because ``asyncio.timeout`` costs as much as the rest of the pool.
            with self._deadlines:
                return UpstreamResponse(*await send(method, url, headers, body, meter or unmetered(), begin=begin))
        except TRANSPORT_ERRORS as error:
            raise _classify(error) from error
        finally:
            self.in_flight -= 1

    def _send_whole(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        meter: ResponseMeter,
        *,
        begin: Callable[[], bool],
    ) -> Awaitable[tuple[int, Mapping[str, str], bytes]]:
        start = url.find("/", url.find("://") + 3)
        origin_url = url[:start]
        origin = self._origins.get(origin_url)
        if origin is None:
            # The number of origins is limited by the settings.
            origin = self._origins[origin_url] = HttpOrigin(self._session, origin_url)
        return origin.send(method, url[start:], headers, body, meter, begin=begin)

    async def _send_in_pieces(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        meter: ResponseMeter,
        *,
        begin: Callable[[], bool],
    ) -> tuple[int, Mapping[str, str], bytes]:
        # The session sends as soon as it is connected, so this is the last possible check.
        if not begin():
            raise SendWindowMissed
        # Redirects are not followed, because the request carries a token that another host must not receive.
        async with self._session.request(
            method, URL(url, encoded=True), headers=headers, data=BytesIO(body or b""), allow_redirects=False
        ) as response:
            return response.status, response.headers, await read_body(response.content, response.headers, meter)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Send one request and yield the status, headers and body in pieces.

        Only silence is limited, not the total time.

        Names in braces in *url* stand for *secrets*, as in ``send``.
        """
        url = _fill_secrets(url, secrets)
        # A large file may take long. A dead connection shows by its silence.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._timeout_seconds)
        self.in_flight += 1
        try:
            async with self._session.request(
                method, URL(url, encoded=True), headers=headers, allow_redirects=False, timeout=timeout
            ) as response:
                yield response.status, response.headers, response.content.iter_chunked(64 * 1024)
        except TRANSPORT_ERRORS as error:
            raise _classify(error) from error
        finally:
            self.in_flight -= 1


def _fill_secrets(url: str, secrets: Mapping[str, str]) -> str:
    """Return *url* with each name in braces replaced by the secret of that name, percent-encoded."""
    # Braces in values are percent-encoded, so they cannot be taken for names.
    if "{" not in url:
        return url
    for name, secret in secrets.items():
        url = url.replace(f"{{{name}}}", quote(secret, safe=""))
    return url


def parse_date(header: str) -> datetime | None:
    """Parse a ``Date`` header. Returns None if it is missing or unreadable."""
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _classify(error: Exception) -> NotSent | TimedOut | ConnectionLost:
    """Return the exception of this module for *error*, which the pool raised."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.InvalidURL):
        # Only these requests have certainly not been sent. After any other error, a write is in doubt.
        return NotSent(str(error))
    if isinstance(error, TimeoutError):
        return TimedOut(str(error))
    if isinstance(error, BodyTooLarge):
        return TooLarge("the response is too large")
    return ConnectionLost(f"{type(error).__name__}: {error}")
