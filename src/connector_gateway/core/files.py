"""Files behind public links: fetched from public addresses only, within limits."""

import asyncio
import mimetypes
import re
from collections.abc import Callable
from email.message import Message
from urllib.parse import unquote, urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from connector_gateway.core.public_addresses import guarded, is_public
from connector_gateway.kit.call import RemoteFile
from connector_gateway.kit.errors import FileTooLarge, UrlNotAllowed, UrlUnreachable

MAX_REDIRECTS = 5
MAX_URL = 4000
MAX_NAME = 255
PIECE = 64 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})

MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
UNKNOWN_TYPE = "application/octet-stream"
UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ufffd]")


class Files:
    """Fetches files.

    *resolver* and *reachable* are seams for tests, which have no public addresses to fetch from.
    """

    def __init__(
        self,
        timeout_seconds: float,
        max_bytes: int,
        *,
        resolver: AbstractResolver | None = None,
        reachable: Callable[[str], bool] = is_public,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._resolver = resolver
        self._reachable = reachable

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """The file at *url*, with its content if that is at most *keep_bytes*.

        ``UrlNotAllowed``, ``UrlUnreachable`` or ``FileTooLarge`` say why it cannot be had.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds), self._session() as session:
                return await self._follow(session, url, keep_bytes)
        except aiohttp.InvalidURL as fault:
            raise _not_allowed() from fault
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as fault:
            raise UrlUnreachable("The link could not be fetched.", {"parameter": "url"}, private=repr(fault)) from fault

    def _session(self) -> aiohttp.ClientSession:
        """A new HTTP session for each file, without proxy and cookies, so that links share nothing."""
        connector = guarded(self._resolver, self._reachable, refuse=_not_allowed, force_close=True)
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Without compression: a small body could unpack to more than memory holds.
            headers={"Accept-Encoding": "identity", "User-Agent": "connector-gateway"},
            trust_env=False,
        )

    async def _follow(self, session: aiohttp.ClientSession, url: str, keep_bytes: int) -> RemoteFile:
        place = url
        for _ in range(MAX_REDIRECTS + 1):
            _require_public_form(place)
            # Redirects are followed here, so that each target passes the same checks.
            async with session.get(place, allow_redirects=False) as response:
                target = response.headers.get("Location")
                if response.status in REDIRECTS and target:
                    place = urljoin(place, target)
                    continue
                if response.status != 200:
                    raise UrlUnreachable(f"The link answers with status {response.status}.", {"parameter": "url"})
                return await self._take(response, url, keep_bytes)
        raise UrlUnreachable(f"The link redirects more than {MAX_REDIRECTS} times.", {"parameter": "url"})

    async def _take(self, response: aiohttp.ClientResponse, url: str, keep_bytes: int) -> RemoteFile:
        """The file of *response*; read only where it is wanted, or its size is not said."""
        mime_type = response.content_type if MEDIA_TYPE.fullmatch(response.content_type) else UNKNOWN_TYPE
        name = filename(url, response.headers.get("Content-Disposition", ""), mime_type)
        # The declared length is that of the packed bytes, which says nothing of the file.
        size = None if "Content-Encoding" in response.headers else response.content_length
        if size is not None and size > self._max_bytes:
            raise self._too_large()
        if size is not None and size > keep_bytes:
            return RemoteFile(name, mime_type, size, content=None)
        counted, content = await self._read(response, keep_bytes)
        return RemoteFile(name, mime_type, counted, content)

    async def _read(self, response: aiohttp.ClientResponse, keep_bytes: int) -> tuple[int, bytes | None]:
        """How many bytes the body has, and the body itself if that is at most *keep_bytes*."""
        content = bytearray()
        counted = 0
        async for piece in response.content.iter_chunked(PIECE):
            counted += len(piece)
            if counted > self._max_bytes:
                raise self._too_large()
            if counted <= keep_bytes:
                content += piece
        return counted, bytes(content) if counted <= keep_bytes else None

    def _too_large(self) -> FileTooLarge:
        return FileTooLarge(
            f"The file is larger than {self._max_bytes} bytes.", {"parameter": "url", "max_bytes": self._max_bytes}
        )


def filename(url: str, disposition: str, mime_type: str) -> str:
    """The last path segment of *url*; where that is empty, what the server says, else ``file``."""
    message = Message()
    message["Content-Disposition"] = UNPRINTABLE.sub("", disposition)
    candidates = (unquote(urlsplit(url).path.rpartition("/")[2]), message.get_filename() or "")
    for candidate in candidates:
        name = UNPRINTABLE.sub("", candidate).replace("\\", "/").rpartition("/")[2].strip()
        if name.strip("."):
            return name[-MAX_NAME:]
    return f"file{mimetypes.guess_extension(mime_type) or ''}"


def _require_public_form(url: str) -> None:
    """Refuse what is no plain http or https address; where its name leads is checked when it is connected to."""
    try:
        parts = urlsplit(url)
        has_form = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        has_form = False
    if not has_form or len(url) > MAX_URL:
        raise _not_allowed()


def _not_allowed() -> UrlNotAllowed:
    return UrlNotAllowed("The link does not lead to a public http or https address.", {"parameter": "url"})
