"""Who is connected: how many at once, how much is held for them, and who has kept this service waiting too long."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Protocol, Self

import structlog

SWEEP_SECONDS = 1.0
"""How often is looked who is late; one timer for all costs less than one for each request."""

LARGE_BYTES = 64 * 1024
"""Bodies and answers up to this size are bounded by the number of connections; what is larger is counted by itself."""

MOST_TOLD = 10
"""Lines of the log about refusals between two looks; further ones are counted, so that nobody fills the log."""

MEBIBYTE = 1024 * 1024

log = structlog.get_logger()


@dataclass(frozen=True)
class ConnectionLimits:
    """How much of this service all who are connected may take, and how much of it one address."""

    connections: int = 10_000
    connections_per_address: int = 1_000
    held_bytes: int = 256 * MEBIBYTE
    held_bytes_per_address: int = 64 * MEBIBYTE


class ClientConnection(Protocol):
    """One connection, as what an answer is sent through may use it."""

    @property
    def body_overdue(self) -> bool:
        """Whether the body of the request takes longer than it may."""

    def reserve_buffer(self, size_bytes: int) -> None:
        """Count what is held in memory for this connection; where it is too much, others are cut."""

    def release(self) -> None:
        """Nothing large is held any more."""

    async def drain(self) -> None:
        """Wait until the client has taken what it was sent, and until it is its turn to be sent a part of more."""


class Uncounted:
    """A client that another server than ours speaks with, which has bounds of its own or none."""

    body_overdue = False

    def reserve_buffer(self, size_bytes: int) -> None:
        """Count nothing."""

    def release(self) -> None:
        """Count nothing."""

    async def drain(self) -> None:
        """Let others go on."""
        await asyncio.sleep(0)


UNTRACKED = Uncounted()


class TrackedConnection(Protocol):
    """One connection, as it is counted and watched."""

    address: str
    moved_at: float
    """When something was last received from it, or taken by it, in the time of the event loop."""

    def check_timeouts(self, now: float) -> None:
        """End what has lasted too long."""

    def abort(self, reason: str) -> None:
        """Break the connection at once."""


class ClientConnections:
    """All connections; while it is entered, it looks once a second for those that are late."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._peers: set[TrackedConnection] = set()
        self._by_address: Counter[str] = Counter()
        self._held: dict[TrackedConnection, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()
        self.refused: Counter[str] = Counter()
        """Requests that the protocol refused, and connections that it cut, by the reason."""

        self._told = self._untold = 0

    async def __aenter__(self) -> Self:
        self._look_again()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    @property
    def connected(self) -> int:
        """How many connections there are."""
        return len(self._peers)

    def join(self, peer: TrackedConnection) -> bool:
        """Count *peer*; False where there are as many already as there may be."""
        limits = self._limits
        if len(self._peers) >= limits.connections or self._by_address[peer.address] >= limits.connections_per_address:
            return False
        self._peers.add(peer)
        self._by_address[peer.address] += 1
        return True

    def leave(self, peer: TrackedConnection) -> None:
        """Forget *peer*, if it was counted."""
        self.release(peer)
        if peer not in self._peers:
            return
        self._peers.remove(peer)
        self._by_address[peer.address] -= 1
        # Otherwise every address that ever called would be remembered.
        if not self._by_address[peer.address]:
            del self._by_address[peer.address]

    def hold(self, peer: TrackedConnection, size_bytes: int) -> None:
        """Count what is held for *peer*; where all is too much, those others are cut that have stood still longest."""
        self._held[peer] = size_bytes
        own = [held for held in self._held if held.address == peer.address]
        self._make_room(peer, own, self._limits.held_bytes_per_address)
        self._make_room(peer, list(self._held), self._limits.held_bytes)

    def release(self, peer: TrackedConnection) -> None:
        """Nothing is held for *peer* any more."""
        self._held.pop(peer, None)

    def refuse(self, peer: TrackedConnection, reason: str, run_id: str | None = None) -> None:
        """Count and log that *peer* was refused or cut; nothing is told of what it sent."""
        self.refused[reason] += 1
        if self._told >= MOST_TOLD:
            self._untold += 1
            return
        self._told += 1
        log.warning("refused by protocol", run_id=run_id, code=reason, client=peer.address)

    async def wait_for_send_slice(self) -> None:
        """Wait for a turn to send a part of something large.

        There is one in each round of the event loop. Otherwise hundreds who send large answers would all send a part
        in the same round, and nobody else be served meanwhile.
        """
        async with self._turn:
            await asyncio.sleep(0)

    def sweep(self, now: float) -> None:
        """End what has lasted too long by *now*."""
        # A copy, since a peer that is cut leaves the set.
        for peer in list(self._peers):
            peer.check_timeouts(now)
        if self._untold:
            log.warning("refused by protocol", and_more=self._untold)
        self._told = self._untold = 0

    def _make_room(self, newest: TrackedConnection, peers: Iterable[TrackedConnection], most_bytes: int) -> None:
        others = sorted((peer for peer in peers if peer is not newest), key=lambda peer: peer.moved_at)
        held = self._held[newest] + sum(self._held[peer] for peer in others)
        for peer in others:
            if held <= most_bytes:
                return
            held -= self._held.pop(peer)
            peer.abort("held_too_much")

    def _look_again(self) -> None:
        loop = asyncio.get_running_loop()
        self.sweep(loop.time())
        self._timer = loop.call_later(SWEEP_SECONDS, self._look_again)


def network(address: str) -> str:
    """What counts as one address: of IPv6 the network that one customer is given, with addresses without end."""
    address = unmapped(address)
    if ":" not in address:
        return address
    return str(IPv6Address(int(IPv6Address(address.partition("%")[0])) >> 64 << 64))


def unmapped(address: str) -> str:
    """*address*, as IPv4 where it is the form in which IPv6 has that."""
    mapped = IPv6Address(address.partition("%")[0]).ipv4_mapped if ":" in address else None
    return address if mapped is None else str(mapped)
