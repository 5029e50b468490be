"""The IP of a client whose request a trusted proxy has forwarded.

Every proxy appends the address of its own client. An address is reliable if a trusted proxy appended it. Everything to
the left of an untrusted address may be forged by the client, so hops are read from the right.
"""

import re
from collections.abc import Awaitable, Collection, Iterator
from contextlib import AbstractAsyncContextManager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import islice
from typing import Any

from starlette.types import Receive, Scope, Send

from connector_gateway.http.asgi import AsgiApp

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MAX_HOPS = 32
"""The maximum number of hops that are read. A client inside a trusted network could send thousands."""

_NODE = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?")
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = re.compile(rf'[ \t]*({_NAME})=(?:"((?:[^"\\]|\\.)*+)"|([^ \t";]*))[ \t]*(?:;|$)')
_REVERSED_ELEMENT = re.compile(r'((?:[^",]|"(?:[^"]|"\\)*+"(?!\\))*+)(?:,|$)')
"""An element of a list that is read from its end, so that an unclosed quote sent by the client cannot swallow it."""


class ForwardedClient:
    """ASGI middleware that sets ``scope["client"]`` to the client instead of the proxy."""

    def __init__(self, application: AsgiApp, proxies: Collection[Network], header: str) -> None:
        self.shutdown = application.shutdown
        self.clients = application.clients
        self.fixed_segments = application.fixed_segments
        self._application = application
        self._proxies = proxies
        self._header = header.encode()
        self._hops = _forwarded if header == "forwarded" else _x_forwarded_for

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Return the lifespan of the wrapped application."""
        return self._application.lifespan()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Forward the request with the address of its client."""
        peer = scope.get("client")
        if peer is not None and scope["type"] == "http":
            client = self._client(peer[0], scope)
            # The port is that of the proxy's connection, not the client's.
            scope["client"] = peer if client == peer[0] else (client, 0)
        return self._application(scope, receive, send)

    def _client(self, peer: str, scope: Scope) -> str:
        """Return the rightmost untrusted address.

        If that address is obfuscated or unparsable, return the address of the proxy that reported it.
        """
        address = parse_node(peer)
        if address is None or not self._trusts(address):
            return peer
        value = b",".join(value for name, value in scope["headers"] if name == self._header).decode("latin-1")
        for hop in islice(self._hops(value), MAX_HOPS):
            node = parse_node(hop)
            if node is None:
                break
            address = node
            if not self._trusts(address):
                break
        return str(address)

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._proxies)


def parse_node(node: str) -> Address | None:
    """Return the address in *node*, with or without brackets and port, or None if it contains no valid address."""
    match = _NODE.fullmatch(node)
    try:
        address = ip_address((match["six"] or match["four"]) if match else node.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _x_forwarded_for(value: str) -> Iterator[str]:
    """Yield the nodes of ``X-Forwarded-For``, from the right."""
    while value:
        value, _, hop = value.rpartition(",")
        yield hop.strip(" \t").strip('"')


def _forwarded(value: str) -> Iterator[str]:
    """Yield the ``for`` nodes of ``Forwarded`` (RFC 7239), from the right. An element without one yields ``""``."""
    backwards, position = value[::-1], 0
    while position < len(backwards):
        match = _REVERSED_ELEMENT.match(backwards, position)
        if match is None:
            yield ""
            return
        position = match.end()
        yield _for_node(match[1][::-1])


def _for_node(element: str) -> str:
    """Return the node after ``for=`` in *element*, or an empty string unless there is exactly one."""
    nodes, position = [], 0
    while position < len(element):
        match = _PAIR.match(element, position)
        if match is None:
            return ""
        position = match.end()
        if match[1].lower() == "for":
            nodes.append(match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2]))
    return nodes[0] if len(nodes) == 1 else ""
