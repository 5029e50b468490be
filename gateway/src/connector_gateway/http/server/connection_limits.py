"""Limits on client connections: their number, their buffered bytes, and the time that they may stall."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Protocol, Self

import structlog

SWEEP_SECONDS = 1.0
"""Seconds between two checks for timeouts. One timer for all connections costs less than one per request."""

LARGE_BYTES = 64 * 1024
"""The size from which bodies and responses are counted individually. The connection limit bounds smaller ones."""

MAX_LOG_LINES = 10
"""Log lines about rejections between two checks. Further ones are only counted, so that clients cannot fill the log."""

MEBIBYTE = 1024 * 1024

log = structlog.get_logger()


@dataclass(frozen=True)
class ConnectionLimits:
    """The maximum number of connections and buffered bytes, in total and per client address."""

    connections: int = 10_000
    connections_per_address: int = 1_000
    held_bytes: int = 256 * MEBIBYTE
    held_bytes_per_address: int = 64 * MEBIBYTE


class ClientConnection(Protocol):
    """A client connection, as the sender of a response uses it."""

    @property
    def body_overdue(self) -> bool:
        """Whether the request body has exceeded its time limit."""

    def reserve_buffer(self, size_bytes: int) -> None:
        """Set the bytes buffered for this connection. Other connections are aborted if the total is too large."""

    def release(self) -> None:
        """Release the buffer of this connection."""

    async def drain(self) -> None:
        """Wait until the client has read the data sent so far and this connection may send its next part."""


class UntrackedConnection:
    """The connection of a client behind another ASGI server, which enforces its own limits or none."""

    body_overdue = False

    def reserve_buffer(self, size_bytes: int) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    async def drain(self) -> None:
        """Yield to the event loop."""
        await asyncio.sleep(0)


UNTRACKED_CONNECTION = UntrackedConnection()


class TrackedConnection(Protocol):
    """A client connection, as ``ClientConnections`` tracks it."""

    address: str
    last_active_at: float
    """The event-loop time at which data was last received from the client or read by it."""

    def check_timeouts(self, now: float) -> None:
        """Handle timeouts that have expired by *now*."""

    def abort(self, reason: str) -> None:
        """Abort the connection immediately."""


class ClientConnections:
    """All client connections. Inside its context, it checks for timeouts once per second."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._peers: set[TrackedConnection] = set()
        self._by_address: Counter[str] = Counter()
        self._buffered_bytes: dict[TrackedConnection, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._send_lock = asyncio.Lock()
        self.rejections: Counter[str] = Counter()
        """The number of rejected requests and aborted connections, by reason."""

        self._logged = self._unlogged = 0

    async def __aenter__(self) -> Self:
        self._check_periodically()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def connected(self) -> int:
        """The number of open connections."""
        return len(self._peers)

    def try_add(self, peer: TrackedConnection) -> bool:
        """Add *peer*. Returns False if the limit of connections is reached."""
        limits = self._limits
        if len(self._peers) >= limits.connections or self._by_address[peer.address] >= limits.connections_per_address:
            return False
        self._peers.add(peer)
        self._by_address[peer.address] += 1
        return True

    def remove(self, peer: TrackedConnection) -> None:
        """Remove *peer*, if it was added."""
        self.release(peer)
        if peer not in self._peers:
            return
        self._peers.remove(peer)
        self._by_address[peer.address] -= 1
        # Otherwise the counter would grow with every address that ever connected.
        if not self._by_address[peer.address]:
            del self._by_address[peer.address]

    def reserve_buffer(self, peer: TrackedConnection, size_bytes: int) -> None:
        """Set the bytes buffered for *peer*.

        If the total exceeds a limit, abort the other connections that have been stalled longest.
        """
        self._buffered_bytes[peer] = size_bytes
        own = [buffered for buffered in self._buffered_bytes if buffered.address == peer.address]
        self._abort_excess(peer, own, self._limits.held_bytes_per_address)
        self._abort_excess(peer, list(self._buffered_bytes), self._limits.held_bytes)

    def release(self, peer: TrackedConnection) -> None:
        """Release the buffer of *peer*."""
        self._buffered_bytes.pop(peer, None)

    def record_rejection(self, peer: TrackedConnection, reason: str, run_id: str | None = None) -> None:
        """Count and log a rejected request or aborted connection of *peer*, without logging request data."""
        self.rejections[reason] += 1
        if self._logged >= MAX_LOG_LINES:
            self._unlogged += 1
            return
        self._logged += 1
        log.warning("rejected by protocol", run_id=run_id, code=reason, client=peer.address)

    async def wait_for_send_slice(self) -> None:
        """Wait until a part of a large response may be sent.

        Each iteration of the event loop sends one part. Otherwise hundreds of large responses would each send a part
        in one iteration and delay all other requests.
        """
        async with self._send_lock:
            await asyncio.sleep(0)

    def check_timeouts(self, now: float) -> None:
        """Handle the timeouts of all connections that have expired by *now*."""
        # A copy, since an aborted connection is removed from the set.
        for peer in list(self._peers):
            peer.check_timeouts(now)
        if self._unlogged:
            log.warning("rejected by protocol", and_more=self._unlogged)
        self._logged = self._unlogged = 0

    def _abort_excess(self, newest: TrackedConnection, peers: Iterable[TrackedConnection], max_bytes: int) -> None:
        others = sorted((peer for peer in peers if peer is not newest), key=lambda peer: peer.last_active_at)
        buffered = self._buffered_bytes[newest] + sum(self._buffered_bytes[peer] for peer in others)
        for peer in others:
            if buffered <= max_bytes:
                return
            buffered -= self._buffered_bytes.pop(peer)
            peer.abort("held_too_much")

    def _check_periodically(self) -> None:
        loop = asyncio.get_running_loop()
        self.check_timeouts(loop.time())
        self._timer = loop.call_later(SWEEP_SECONDS, self._check_periodically)


def client_network(address: str) -> str:
    """Return the key under which *address* is counted. For IPv6 this is the /64 network of one customer."""
    address = unmap_ipv4(address)
    if ":" not in address:
        return address
    return str(IPv6Address(int(IPv6Address(address.partition("%")[0])) >> 64 << 64))


def unmap_ipv4(address: str) -> str:
    """Return *address*, converted to IPv4 if it is an IPv4-mapped IPv6 address."""
    mapped = IPv6Address(address.partition("%")[0]).ipv4_mapped if ":" in address else None
    return address if mapped is None else str(mapped)
