"""Download addresses: signed, short-lived, and good for one file of one connection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from connector_gateway.core.calls.cursors import Cursors
from connector_gateway.core.connections import Connection
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.clock import Clock, instant
from connector_gateway.kit.context import Link
from connector_gateway.kit.errors import InvalidCursor, LinkNotFound
from connector_gateway.kit.shapes import Position

PURPOSE = "download"


@dataclass(frozen=True, slots=True)
class Linked:
    """The connection and content that a download address stands for."""

    connection_id: str
    content: Mapping[str, Any]


class Links:
    """Issues download addresses, and reads those it issued while they last."""

    def __init__(self, secrets: SecretKeys, download_base: str, link_seconds: float, clock: Clock) -> None:
        self._tokens = Cursors(secrets)
        self._base = download_base
        self._seconds = link_seconds
        self._clock = clock

    def of(self, connection: Connection) -> "ConnectionLinks":
        """The links of one connection."""
        return ConnectionLinks(self, connection.connection_id)

    def issue(self, connection_id: str, content: Position) -> Link:
        """An address for *content* of a connection."""
        # It is within what is signed, so that nothing has to be stored of a link, or deleted.
        expires_at = self._clock.now() + self._seconds
        token = self._tokens.issue({"c": connection_id, "e": expires_at, "f": dict(content)}, PURPOSE)
        return Link(f"{self._base}/{token}", instant(expires_at))

    def read(self, token: str) -> Linked:
        """What the address with *token* leads to; ``LinkNotFound`` if it is forged, altered or expired."""
        try:
            held = self._tokens.read(token, PURPOSE)
        except InvalidCursor as fault:
            raise LinkNotFound("The download link is not valid.") from fault
        if held["e"] <= self._clock.now():
            raise LinkNotFound("The download link has expired.")
        return Linked(held["c"], held["f"])


class ConnectionLinks(Struct):
    """The links of one connection."""

    links: Links
    connection_id: str

    def issue(self, content: Position) -> Link:
        """An address under which the connector's ``download`` will be asked for *content*."""
        return self.links.issue(self.connection_id, content)
