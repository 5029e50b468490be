"""The address of a client whose request a trusted proxy has passed on.

Every proxy appends the address that it was called from. What it appended is true if the proxy is trusted; whatever
stands left of an address that is not trusted may be the client's own invention. So hops are read from the right.
"""

import re
from collections.abc import Awaitable, Collection, Iterator
from contextlib import AbstractAsyncContextManager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import islice
from typing import Any

from starlette.types import Receive, Scope, Send

from connector_gateway.http.application import AsgiApp

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MAX_HOPS = 32
"""Hops read at most; a client inside a trusted network could send thousands."""

_NODE = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?")
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR = re.compile(rf'[ \t]*({_NAME})=(?:"((?:[^"\\]|\\.)*+)"|([^ \t";]*))[ \t]*(?:;|$)')
_REVERSED_ELEMENT = re.compile(r'((?:[^",]|"(?:[^"]|"\\)*+"(?!\\))*+)(?:,|$)')
"""An element of a list read from its end: a quote of the client's own that is never closed lies beyond it."""


class ForwardedClient:
    """Serves an application, with ``scope["client"]`` being the client instead of the proxy it came through."""

    def __init__(self, application: AsgiApp, proxies: Collection[Network], header: str) -> None:
        self.stopping = application.stopping
        self.clients = application.clients
        self.words = application.words
        self._application = application
        self._proxies = proxies
        self._header = header.encode()
        self._hops = _forwarded if header == "forwarded" else _x_forwarded_for

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """The application's."""
        return self._application.lifespan()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on with the address of its client."""
        peer = scope.get("client")
        if peer is not None and scope["type"] == "http":
            client = self._client(peer[0], scope)
            # The proxy's port says nothing about the client.
            scope["client"] = peer if client == peer[0] else (client, 0)
        return self._application(scope, receive, send)

    def _client(self, peer: str, scope: Scope) -> str:
        """The rightmost address that is not trusted; where that is hidden or unreadable, the proxy that reports it."""
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
    """The address in *node*, with or without brackets and port; None if it has none that can be read."""
    match = _NODE.fullmatch(node)
    try:
        address = ip_address((match["six"] or match["four"]) if match else node.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def _x_forwarded_for(value: str) -> Iterator[str]:
    """The nodes of ``X-Forwarded-For``, from the right."""
    while value:
        value, _, hop = value.rpartition(",")
        yield hop.strip(" \t").strip('"')


def _forwarded(value: str) -> Iterator[str]:
    """The ``for`` nodes of ``Forwarded`` (RFC 7239), from the right; empty where an element has none."""
    backwards, position = value[::-1], 0
    while position < len(backwards):
        match = _REVERSED_ELEMENT.match(backwards, position)
        if match is None:
            yield ""
            return
        position = match.end()
        yield _for(match[1][::-1])


def _for(element: str) -> str:
    """The node after ``for=`` in *element*; empty unless there is exactly one."""
    nodes, position = [], 0
    while position < len(element):
        match = _PAIR.match(element, position)
        if match is None:
            return ""
        position = match.end()
        if match[1].lower() == "for":
            nodes.append(match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2]))
    return nodes[0] if len(nodes) == 1 else ""
