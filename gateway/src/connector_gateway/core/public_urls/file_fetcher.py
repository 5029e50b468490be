"""Files from public URLs, fetched from public IP addresses only, within limits."""

import asyncio
import mimetypes
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from email.message import Message
from functools import partial
from urllib.parse import unquote, urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.public_urls.allowed_addresses import is_public, restricted_connector
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.errors import FileEmpty, FileTooLarge, UrlNotAllowed, UrlUnreachable

MAX_REDIRECTS = 5
MAX_URL = 4000
MAX_NAME = 255
PIECE = 64 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})

MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
UNKNOWN_TYPE = "application/octet-stream"
CONNECTION_FAILURES: Sequence[tuple[type[Exception], str, str]] = (
    (TimeoutError, "timeout", "The server of the link did not send the file in time."),
    (aiohttp.ClientConnectorDNSError, "host_not_found", "The host of the link was not found."),
    (aiohttp.ClientSSLError, "tls_failed", "The TLS connection to the server of the link failed."),
    (aiohttp.ClientConnectorError, "connection_refused", "The server of the link rejected the connection."),
    (aiohttp.ServerDisconnectedError, "connection_lost", "The server of the link closed the connection."),
    (aiohttp.ClientPayloadError, "connection_lost", "The server of the link closed the connection."),
)
"""Exceptions with their reasons and messages, the more specific first."""

UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ufffd]")


@dataclass(eq=False, repr=False)
class PublicFileFetcher:
    """Fetches files from public URLs.

    *trusted* origins, such as ``http://127.0.0.1:8089``, need not be public. They are those of emulators.
    *resolver* and *is_reachable* are for tests, which cannot fetch from public addresses.
    """

    timeout_seconds: float
    max_bytes: int
    resolver: AbstractResolver | None = field(kw_only=True, default=None)
    is_reachable: Callable[[str], bool] = field(kw_only=True, default=is_public)
    trusted: Collection[str] = field(kw_only=True, default=())
    max_redirects: int = field(kw_only=True, default=MAX_REDIRECTS)

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Fetch the file at *url*. Its content is included only if it has at most *keep_bytes*.

        Raises ``UrlNotAllowed``, ``UrlUnreachable``, ``FileTooLarge`` or ``FileEmpty``.
        """
        try:
            async with asyncio.timeout(self.timeout_seconds), self._session(url) as session:
                return await self._follow(session, url, keep_bytes)
        except aiohttp.InvalidURL as error:
            raise _not_allowed(url, "url_invalid", "The link is not a valid URL.") from error
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            reason, message = _connection_failure(error)
            raise _unreachable(url, reason, message, private=repr(error)) from error

    def _session(self, url: str) -> aiohttp.ClientSession:
        """Create an HTTP session for one file, without proxy and cookies, so that links share nothing."""
        create_error = partial(_not_allowed, url, "address_not_public", "The address of the link is not public.")
        is_trusted = any(url.startswith(f"{origin}/") for origin in self.trusted)
        reachable = (lambda _: True) if is_trusted else self.is_reachable
        connector = restricted_connector(self.resolver, reachable, create_error=create_error, force_close=True)
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Without compression, because a small body could decompress to more than the memory.
            headers={"Accept-Encoding": "identity", "User-Agent": "connector-gateway"},
            trust_env=False,
        )

    async def _follow(self, session: aiohttp.ClientSession, url: str, keep_bytes: int) -> RemoteFile:
        current = url
        for _ in range(self.max_redirects + 1):
            _check_form(url, current)
            # Redirects are followed here, so that each target passes the same checks.
            async with session.get(current, allow_redirects=False) as response:
                target = response.headers.get("Location")
                if response.status in REDIRECTS and target:
                    current = urljoin(current, target)
                    continue
                if response.status != 200:
                    message = f"The server of the link returned status {response.status}."
                    raise _unreachable(url, f"status_{response.status}", message)
                return await self._to_file(response, url, keep_bytes)
        raise _unreachable(url, "too_many_redirects", f"The link redirects more than {self.max_redirects} times.")

    async def _to_file(self, response: aiohttp.ClientResponse, url: str, keep_bytes: int) -> RemoteFile:
        """Return the file of *response*. The body is read only if it is small enough, or if its size is unknown."""
        mime_type = response.content_type if MEDIA_TYPE.fullmatch(response.content_type) else UNKNOWN_TYPE
        name = filename(url, response.headers.get("Content-Disposition", ""), mime_type)
        # With an encoding, the content length is that of the compressed bytes.
        size = None if "Content-Encoding" in response.headers else response.content_length
        if size is not None and size > self.max_bytes:
            raise self._too_large(url)
        if size is not None and size > keep_bytes:
            return RemoteFile(name, mime_type, size, content=None)
        size_read, content = await self._read_body(response, url, keep_bytes)
        if size_read == 0:
            raise FileEmpty("The file behind the link is empty.", {"parameter": "url", "value": truncate(url)})
        return RemoteFile(name, mime_type, size_read, content)

    async def _read_body(self, response: aiohttp.ClientResponse, url: str, keep_bytes: int) -> tuple[int, bytes | None]:
        """Return the size of the body in bytes, and the body itself if that is at most *keep_bytes*."""
        content = bytearray()
        size = 0
        async for piece in response.content.iter_chunked(PIECE):
            size += len(piece)
            if size > self.max_bytes:
                raise self._too_large(url)
            if size <= keep_bytes:
                content += piece
        return size, bytes(content) if size <= keep_bytes else None

    def _too_large(self, url: str) -> FileTooLarge:
        return FileTooLarge(
            f"The file is larger than {self.max_bytes} bytes.",
            {"parameter": "url", "value": truncate(url), "max_bytes": self.max_bytes},
        )


def filename(url: str, disposition: str, mime_type: str) -> str:
    """Return the last path segment of *url*, or the name that the server sends, or ``file``."""
    message = Message()
    message["Content-Disposition"] = UNPRINTABLE.sub("", disposition)
    candidates = (unquote(urlsplit(url).path.rpartition("/")[2]), message.get_filename() or "")
    for candidate in candidates:
        name = UNPRINTABLE.sub("", candidate).replace("\\", "/").rpartition("/")[2].strip()
        if name.strip("."):
            return name[-MAX_NAME:]
    return f"file{mimetypes.guess_extension(mime_type) or ''}"


def _check_form(url: str, current: str) -> None:
    """Reject *current*, which *url* is or redirects to, unless it is a plain http or https URL.

    The address that its host resolves to is checked when a connection is made.
    """
    try:
        parts = urlsplit(current)
        host = parts.hostname
    except ValueError as error:
        raise _not_allowed(url, "url_invalid", "The link is not a valid URL.") from error
    if parts.scheme not in {"http", "https"}:
        raise _not_allowed(url, "scheme_not_allowed", "The link is not an http or https URL.")
    if not host:
        raise _not_allowed(url, "url_invalid", "The link has no host.")
    if "@" in parts.netloc:
        raise _not_allowed(url, "credentials_in_url", "The link contains a user name or a password.")
    if len(current) > MAX_URL:
        raise _not_allowed(url, "url_too_long", f"The link is longer than {MAX_URL} characters.")


def _connection_failure(error: Exception) -> tuple[str, str]:
    """Return the reason for a failed request, for programs and for people."""
    return next(
        ((reason, message) for kind, reason, message in CONNECTION_FAILURES if isinstance(error, kind)),
        ("connection_failed", "The connection to the server of the link failed."),
    )


def _not_allowed(url: str, reason: str, message: str) -> UrlNotAllowed:
    return UrlNotAllowed(message, {"parameter": "url", "value": truncate(url), "reason": reason})


def _unreachable(url: str, reason: str, message: str, private: str = "") -> UrlUnreachable:
    return UrlUnreachable(message, {"parameter": "url", "value": truncate(url), "reason": reason}, private=private)
