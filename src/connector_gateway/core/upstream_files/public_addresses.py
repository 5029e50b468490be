"""Public addresses: what anyone on the internet can reach, and connections to nothing else."""

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
"""Networks whose addresses end in the IPv4 address that is meant: compatible, mapped, translated, NAT64."""

NOT_PUBLIC = tuple(ipaddress.IPv4Network(network) for network in ("192.0.0.0/24", "168.63.129.16/32"))
"""Not private by every Python's list: protocol assignments, and what the host of a rented machine answers at."""


def is_public(address: str) -> bool:
    """Whether an IP address is one that anyone on the internet can reach; wrapped ones count as what they wrap."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return ip.is_global and not ip.is_multicast and not any(ip in network for network in NOT_PUBLIC)
    wrapped = _wrapped(ip)
    return is_public(str(wrapped)) if wrapped else ip.is_global and ip in GLOBAL_UNICAST


def _wrapped(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if any(ip in network for network in WRAPPING):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.sixtofour


def guarded(
    resolver: AbstractResolver | None,
    reachable: Callable[[str], bool],
    *,
    refuse: Callable[[], Exception],
    force_close: bool = False,
) -> aiohttp.TCPConnector:
    """What connects only to *reachable* addresses; to others it raises what *refuse* makes."""

    def checked(address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, target = address
        # At the socket and not at the name: whatever was resolved, this is where the bytes would go.
        if not reachable(target[0]):
            raise refuse()
        return socket.socket(family, kind, protocol)

    return aiohttp.TCPConnector(
        resolver=resolver,
        socket_factory=checked,
        # A name could change its address between a check and the connection, so each connection is checked.
        use_dns_cache=False,
        force_close=force_close,
        happy_eyeballs_delay=None,
    )
