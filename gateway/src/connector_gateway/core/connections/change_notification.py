"""The interface for components that react to changes of connections."""

from typing import Protocol

from sqlalchemy import Connection as SqlConnection


class ConnectionListener(Protocol):
    """Notified of every change of a connection, in the transaction of the change: both are committed, or neither."""

    def created(self, db: SqlConnection, connection_id: str, connector: str) -> None:
        """A connection was created."""

    def changed(self, db: SqlConnection, connection_id: str, *, credentials: bool, settings: bool) -> None:
        """The connection was changed. *credentials* and *settings* are True if these were replaced."""

    def revoked(self, db: SqlConnection, connection_id: str) -> None:
        """The vendor no longer accepts the connection."""

    def reauthorised(self, db: SqlConnection, connection_id: str) -> None:
        """The vendor accepts the connection again."""

    def removed(self, db: SqlConnection, connection_id: str) -> None:
        """The connection was removed."""
