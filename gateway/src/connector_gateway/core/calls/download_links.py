"""Download URLs: signed, short-lived, and valid for one file of one connection."""

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
from connector_gateway.kit.models import Position

PURPOSE = "download"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The connection and content that a download URL identifies."""

    connection_id: str
    content: Mapping[str, Any]


class DownloadLinkSigner:
    """Issues download URLs, and reads the URLs it issued until they expire."""

    def __init__(self, secrets: SecretKeys, download_base: str, link_seconds: float, clock: Clock) -> None:
        self._tokens = CursorSigner(secrets)
        self._base = download_base
        self._seconds = link_seconds
        self._clock = clock

    def for_connection(self, connection: Connection) -> "ConnectionLinks":
        """Return a signer for the links of one connection."""
        return ConnectionLinks(self, connection.connection_id)

    def issue(self, connection_id: str, content: Position) -> DownloadLink:
        """Return a download URL for *content* of a connection."""
        # The expiry is part of the signed payload, so that links need no storage.
        expires_at = self._clock.now() + self._seconds
        token = self._tokens.issue({"c": connection_id, "e": expires_at, "f": dict(content)}, PURPOSE)
        return DownloadLink(f"{self._base}/{token}", utc_datetime(expires_at))

    def read(self, token: str) -> LinkTarget:
        """Return the target of a link. Raises ``LinkNotFound`` if *token* is invalid or expired."""
        try:
            payload = self._tokens.read(token, PURPOSE)
        except InvalidCursor as error:
            raise LinkNotFound("The download link is not valid.") from error
        if payload["e"] <= self._clock.now():
            raise LinkNotFound("The download link has expired.")
        return LinkTarget(payload["c"], payload["f"])


class ConnectionLinks(Struct):
    """A signer for the download links of one connection."""

    links: DownloadLinkSigner
    connection_id: str

    def issue(self, content: Position) -> DownloadLink:
        """Return a URL at which the connector's ``download`` serves *content*."""
        return self.links.issue(self.connection_id, content)
