"""Download addresses: signed, short-lived, and good for one file of one connection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.connections import Connection
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.context import DownloadLink
from connector_gateway.kit.errors import InvalidCursor, LinkNotFound
from connector_gateway.kit.shapes import Position

PURPOSE = "download"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The connection and content that a download address stands for."""

    connection_id: str
    content: Mapping[str, Any]


class DownloadLinkSigner:
    """Issues download addresses, and reads those it issued while they last."""

    def __init__(self, secrets: SecretKeys, download_base: str, link_seconds: float, clock: Clock) -> None:
        self._tokens = CursorSigner(secrets)
        self._base = download_base
        self._seconds = link_seconds
        self._clock = clock

    def of(self, connection: Connection) -> "ConnectionLinks":
        """The links of one connection."""
        return ConnectionLinks(self, connection.connection_id)

    def issue(self, connection_id: str, content: Position) -> DownloadLink:
        """An address for *content* of a connection."""
        # It is within what is signed, so that nothing has to be stored of a link, or deleted.
        expires_at = self._clock.now() + self._seconds
        token = self._tokens.issue({"c": connection_id, "e": expires_at, "f": dict(content)}, PURPOSE)
        return DownloadLink(f"{self._base}/{token}", utc_datetime(expires_at))

    def read(self, token: str) -> LinkTarget:
        """What the address with *token* leads to; ``LinkNotFound`` if it is forged, altered or expired."""
        try:
            held = self._tokens.read(token, PURPOSE)
        except InvalidCursor as fault:
            raise LinkNotFound("The download link is not valid.") from fault
        if held["e"] <= self._clock.now():
            raise LinkNotFound("The download link has expired.")
        return LinkTarget(held["c"], held["f"])


class ConnectionLinks(Struct):
    """The links of one connection."""

    links: DownloadLinkSigner
    connection_id: str

    def issue(self, content: Position) -> DownloadLink:
        """An address under which the connector's ``download`` will be asked for *content*."""
        return self.links.issue(self.connection_id, content)
