"""Files behind public links: fetched from public addresses only, within limits."""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from connector_gateway.kit.call import RemoteFile
from connector_gateway.kit.errors import FileTooLarge, UrlNotAllowed, UrlUnreachable

MAX_REDIRECTS = 5
MAX_URL = 4000
PIECE = 64 * 1024


def is_public(address: str) -> bool:
    """Whether an IP address is one that anyone on the internet can reach; wrapped ones count as what they wrap."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    wrapped = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None)
    if wrapped is not None:
        return is_public(str(wrapped))
    return ip.is_global and not ip.is_multicast


class PublicResolver(AbstractResolver):
    """Resolves names, and knows only public addresses: what is checked here is what is connected to."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of *host*; ``UrlNotAllowed`` if any of them is not public."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys((kind, str(address[0])) for kind, _, _, _, address in found))
        if not addresses or not all(is_public(address) for _, address in addresses):
            raise _not_allowed(host)
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": kind,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for kind, address in addresses
        ]

    async def close(self) -> None:
        """Nothing to close."""


class Files:
    """Fetches files."""

    def __init__(self, timeout_seconds: float, max_bytes: int, resolver: AbstractResolver | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._max_bytes = max_bytes
        self._resolver = resolver or PublicResolver()

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """The file at *url*, with its content if that is at most *keep_bytes*.

        ``UrlNotAllowed``, ``UrlUnreachable`` or ``FileTooLarge`` say why it cannot be had.
        """
        connector = aiohttp.TCPConnector(resolver=self._resolver, use_dns_cache=False, force_close=True)
        try:
            async with aiohttp.ClientSession(connector=connector, timeout=self._timeout, trust_env=False) as session:
                return await self._follow(session, url, keep_bytes)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as fault:
            refusal = _refusal_within(fault)
            if refusal is not None:
                raise refusal from fault
            raise UrlUnreachable("The link could not be fetched.", {"parameter": "url"}, private=repr(fault)) from fault

    async def _follow(self, session: aiohttp.ClientSession, url: str, keep_bytes: int) -> RemoteFile:
        for _ in range(MAX_REDIRECTS + 1):
            _require_allowed(url)
            async with session.get(url, allow_redirects=False) as response:
                target = response.headers.get("Location")
                if response.status in {301, 302, 303, 307, 308} and target:
                    url = urljoin(url, target)
                    continue
                if response.status != 200:
                    raise UrlUnreachable(f"The link answers with status {response.status}.", {"parameter": "url"})
                return await self._take(response, url, keep_bytes)
        raise UrlUnreachable(f"The link redirects more than {MAX_REDIRECTS} times.", {"parameter": "url"})

    async def _take(self, response: aiohttp.ClientResponse, url: str, keep_bytes: int) -> RemoteFile:
        declared = response.content_length
        if declared is not None and declared > self._max_bytes:
            raise _too_large(self._max_bytes)
        content: bytes | None = None
        size = declared
        if declared is None or declared <= keep_bytes:
            content = await _read(response, keep_bytes if declared is None else declared)
            size = len(content) if content is not None else None
        return RemoteFile(_name(response.headers, url), response.content_type, size, content)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body; None as soon as it is more than *most* bytes."""
    content = bytearray()
    async for piece in response.content.iter_chunked(PIECE):
        content += piece
        if len(content) > most:
            return None
    return bytes(content)


def _require_allowed(url: str) -> None:
    parts = urlsplit(url)
    if len(url) > MAX_URL or parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        raise _not_allowed(url)
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        return
    if not is_public(str(literal)):
        raise _not_allowed(url)


def _refusal_within(fault: BaseException | None) -> UrlNotAllowed | None:
    """The refusal that a library wrapped into an error of its own, if there is one."""
    while fault is not None:
        if isinstance(fault, UrlNotAllowed):
            return fault
        fault = fault.__cause__ or fault.__context__
    return None


def _name(headers: Mapping[str, Any], url: str) -> str:
    message = Message()
    message["Content-Disposition"] = headers.get("Content-Disposition", "")
    named = message.get_filename() or unquote(urlsplit(url).path.rpartition("/")[2])
    return named.rpartition("/")[2] or "file"


def _not_allowed(_: str) -> UrlNotAllowed:
    return UrlNotAllowed("The link does not lead to a public http or https address.", {"parameter": "url"})


def _too_large(max_bytes: int) -> FileTooLarge:
    return FileTooLarge(f"The file is larger than {max_bytes} bytes.", {"parameter": "url", "max_bytes": max_bytes})
