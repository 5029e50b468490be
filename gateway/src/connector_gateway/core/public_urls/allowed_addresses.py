"""Public IP addresses, and connections restricted to them."""

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver

GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
WRAPPING = tuple(
    ipaddress.IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""IPv6 networks whose addresses embed an IPv4 address: compatible, mapped, translated, NAT64."""

NOT_PUBLIC = tuple(ipaddress.IPv4Network(network) for network in ("192.0.0.0/24", "168.63.129.16/32"))
"""Networks that not all Python versions list as private: protocol assignments, and a cloud host's internal endpoint."""


def is_public(address: str) -> bool:
    """Return True if *address* is reachable from the internet. An embedded IPv4 address is checked instead."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return ip.is_global and not ip.is_multicast and not any(ip in network for network in NOT_PUBLIC)
    embedded = _embedded_ipv4(ip)
    return is_public(str(embedded)) if embedded else ip.is_global and ip in GLOBAL_UNICAST


def _embedded_ipv4(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if any(ip in network for network in WRAPPING):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.sixtofour


def restricted_connector(
    resolver: AbstractResolver | None,
    reachable: Callable[[str], bool],
    *,
    create_error: Callable[[], Exception],
    force_close: bool = False,
) -> aiohttp.TCPConnector:
    """Return an HTTP connector that connects only to *reachable* addresses, and otherwise raises ``refuse()``."""

    def create_socket(address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, target = address
        # The check is at the socket, because an earlier resolution may have returned another address.
        if not reachable(target[0]):
            raise create_error()
        return socket.socket(family, kind, protocol)

    return aiohttp.TCPConnector(
        resolver=resolver,
        socket_factory=create_socket,
        # A host could change its address after a check, so each connection resolves and checks it.
        use_dns_cache=False,
        force_close=force_close,
        happy_eyeballs_delay=None,
    )
