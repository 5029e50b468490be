"""What others are told of a change of a connection."""

from typing import Protocol

from sqlalchemy import Connection as Writing


class ConnectionListener(Protocol):
    """Told of every change of a connection, in the transaction that makes it: both are committed, or neither."""

    def made(self, writing: Writing, connection_id: str, connector: str) -> None:
        """A new connection was made."""

    def changed(self, writing: Writing, connection_id: str, *, credentials: bool, settings: bool) -> None:
        """Something was set; *credentials* were replaced, and *settings*, where they say so."""

    def revoked(self, writing: Writing, connection_id: str) -> None:
        """The third party does not accept it any more."""

    def accepted(self, writing: Writing, connection_id: str) -> None:
        """The third party accepts it again."""

    def removed(self, writing: Writing, connection_id: str) -> None:
        """It is gone."""
