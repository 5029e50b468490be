"""Stored connections: their workspace, connector, settings and encrypted secrets."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Row, Select, and_, bindparam, func, insert, select, update

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.access.last_used import LastUsed
from connector_gateway.core.access.quotas import DEFAULT_QUOTAS, check_quota
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.connections.account_identity import AccountIdentity, may_be_same_account
from connector_gateway.core.connections.change_notification import ConnectionListener
from connector_gateway.core.connections.connection import (
    EMPTY_COLUMNS,
    PENDING,
    Connection,
    account_columns,
    check_connected,
    to_public,
)
from connector_gateway.core.connections.credential_check import validate_connection
from connector_gateway.core.connections.token_refresh import NO_REFRESH, WITHDRAWN, TokenRefresher
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.secrets.secret_keys import pseudonym
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.core.single_flight_cache import CACHE_SECONDS, MAX_ROWS, SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionMismatch, ConnectionNotFound, OtherAccount, SecretUnreadable
from connector_gateway.kit.events import PROGRESS, REJECTED, SINCE, WATCHING
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId, ulid
from connector_gateway.kit.oauth import Account
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.redaction import Redaction
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

_PUBLIC_SNAPSHOTS = {"watching_since": SINCE, "watching_progress": PROGRESS, "deliveries_rejected": REJECTED}
"""The snapshots that are returned with a connection, by field."""


FIND = select(tables.connections).where(
    tables.connections.c.connection_id == bindparam("_connection_id"), tables.connections.c.deleted.is_(False)
)


def _select_public() -> Select[Any]:
    """Select connections, with the state of their event observation."""
    query = select(tables.connections).where(tables.connections.c.deleted.is_(False))
    for column, name in _PUBLIC_SNAPSHOTS.items():
        snapshot = tables.snapshots.alias(column)
        own = snapshot.c.connection_id == tables.connections.c.connection_id
        query = query.add_columns(snapshot.c.value.label(column)).outerjoin(
            snapshot, and_(own, snapshot.c.scope == WATCHING, snapshot.c.name == name)
        )
    return query


PUBLIC = _select_public()

_IDENTIFIER = re.compile("conn_[0-9A-HJKMNP-TV-Z]{26}")


@dataclass(frozen=True, slots=True)
class ConnectionsPage:
    """A page of public connections, and the identifier before which the next page starts. None on the last page."""

    rows: Sequence[dict[str, Any]]
    before: str | None


@dataclass(eq=False, repr=False)
class ConnectionStore:
    """Creates, finds, changes and removes connections. Lookups are cached for a short time, measured by *steady*."""

    database: Database
    vault: Vault
    connectors: Mapping[str, AnyConnector]
    clock: Clock
    listener: ConnectionListener
    token_refresher: TokenRefresher = field(kw_only=True)
    steady: Clock | None = field(kw_only=True, default=None)
    quota: int = field(kw_only=True, default=DEFAULT_QUOTAS.connections)

    def __post_init__(self) -> None:
        self.last_used = LastUsed(self.database, tables.connections, self.clock)
        self._cache: SingleFlight[str, Connection | None] = SingleFlight(
            self.steady or self.clock, MAX_ROWS, from_start=True
        )

    async def open(self, caller: Caller, connector: str, connection_id: str) -> Connection:
        """Return the connection for a call of *caller* to *connector*."""
        connection = self._cache.peek(connection_id) or await self.find(connection_id)
        if (
            connection is None
            or connection.workspace_id != caller.workspace_id
            or not caller.may_use(connection.connection_id)
        ):
            raise _not_found(connection_id)
        if connection.connector != connector:
            if connection.connector not in self.connectors:
                raise ConnectionNotFound(
                    f"The connector {connection.connector} of connection {connection_id} is not installed.",
                    {"parameter": "connection_id", "connector": connection.connector},
                )
            raise ConnectionMismatch(
                f"Connection {connection_id} is a connection of {connection.connector}, not of {connector}.",
                {"parameter": "connection_id", "connector": connection.connector},
            )
        check_connected(connection)
        self.last_used.record(connection.connection_id)
        return connection

    async def find(self, connection_id: str) -> Connection | None:
        """Return the connection of any workspace, or None if there is none or the text is not an identifier."""
        if not _IDENTIFIER.fullmatch(connection_id):
            return None
        return await self._cache.get(connection_id, partial(self._look_up, connection_id), CACHE_SECONDS)

    async def get(self, connection_id: str) -> Connection:
        """Return the connection of any workspace. Raises ``ConnectionNotFound`` if there is none."""
        connection = await self.find(connection_id)
        if connection is None:
            raise _not_found(connection_id)
        return connection

    async def get_many(self, connection_ids: Collection[str]) -> Mapping[str, Connection]:
        """Return the existing connections among *connection_ids*, uncached, except those that cannot be decrypted."""
        query = select(tables.connections).where(
            tables.connections.c.connection_id.in_(connection_ids), tables.connections.c.deleted.is_(False)
        )
        rows = await self.database.read(lambda db: db.execute(query).all()) if connection_ids else []
        connections = {}
        for row in rows:
            with suppress(SecretUnreadable):
                connections[row.connection_id] = self._connection(row)
        return connections

    async def create(
        self,
        workspace_id: WorkspaceId,
        connector: str,
        credentials: Mapping[str, str] | None,
        *,
        name: str = "",
        settings: Mapping[str, Any] | None = None,
        account: Account | None = None,
    ) -> dict[str, Any]:
        """Create a connection and encrypt its *credentials*. Without credentials it is pending and not watched."""
        self.validate(connector, credentials, settings or {})
        connection_id = ConnectionId(f"conn_{ulid()}")
        now = self.clock.now()
        row = {
            "connection_id": connection_id,
            "workspace_id": workspace_id,
            "connector": connector,
            "name": name,
            "status": PENDING if credentials is None else "active",
            "sealed": self.vault.encrypt(credentials or {}, connection_id),
            "settings": dict(settings or {}),
            "created_at": now,
            "updated_at": now,
            "deleted": False,
            **EMPTY_COLUMNS,
            **account_columns(account),
        }

        def create(connection: Any) -> Mapping[str, Any]:
            check_quota(connection, workspace_id, "connections", self.quota, _count(workspace_id))
            connection.execute(insert(tables.connections), row)
            if credentials is not None:
                self.listener.created(connection, connection_id, connector)
            return row

        authorised = credentials is not None
        work = with_audit_entry(create, "create_connection", connection_id, connector=connector, authorised=authorised)
        await self.database.write(work)
        return to_public(row)

    async def page(
        self,
        workspace_id: WorkspaceId | None = None,
        connection_ids: Collection[str] | None = None,
        *,
        connector: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> ConnectionsPage:
        """Return connections, newest first. *before* continues after another page.

        An index supports every combination of filters.
        """
        connections = tables.connections.c
        query = PUBLIC.order_by(connections.connection_id.desc()).limit(limit + 1)
        for column, value in ((connections.workspace_id, workspace_id), (connections.connector, connector)):
            query = query if value is None else query.where(column == value)
        if before is not None:
            query = query.where(connections.connection_id < before)
        if connection_ids is not None:
            query = query.where(connections.connection_id.in_(connection_ids))
        rows = await self.database.read(lambda db: db.execute(query).mappings().all())
        items = [to_public(self.last_used.apply(row)) for row in rows[:limit]]
        return ConnectionsPage(items, items[-1]["connection_id"] if len(rows) > limit else None)

    async def names(self, connection_ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of the connections among *connection_ids*, including deleted ones."""
        connections = tables.connections.c
        query = select(connections.connection_id, connections.name).where(connections.connection_id.in_(connection_ids))
        rows = await self.database.read(lambda db: db.execute(query).all()) if connection_ids else []
        return {row.connection_id: row.name for row in rows}

    async def count_by_status(self) -> Mapping[str, int]:
        """Return the number of connections per status."""
        status = tables.connections.c.status
        query = (
            select(status, func.count().label("number")).where(tables.connections.c.deleted.is_(False)).group_by(status)
        )
        rows = await self.database.read(lambda db: db.execute(query).all())
        return {row.status: row.number for row in rows}

    async def show(
        self,
        connection_id: str,
        workspace_id: WorkspaceId | None = None,
        connection_ids: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """Return the public fields of one connection, restricted to *workspace_id* and *connection_ids* if given."""
        query = PUBLIC.where(tables.connections.c.connection_id == connection_id)
        row = await self.database.read(lambda db: db.execute(query).mappings().first())
        hidden = connection_ids is not None and connection_id not in connection_ids
        if row is None or hidden or workspace_id not in {None, row["workspace_id"]}:
            raise _not_found(connection_id)
        return to_public(self.last_used.apply(row))

    async def change(self, connection_id: str, account: Account | None = None, **changes: Any) -> dict[str, Any]:
        """Apply *changes* to a connection and return it. *account* is the verified account of new credentials."""
        connection = await self.get(connection_id)
        changed = sorted(changes)
        credentials = changes.pop("credentials", None)
        self.validate(connection.connector, credentials, changes.get("settings", {}))
        if credentials is not None:
            changes |= self._credential_columns(connection, credentials, account, None)

        def notify(db: SqlConnection) -> None:
            if credentials is not None:
                self.listener.created(db, connection_id, connection.connector)
            self.listener.changed(
                db, connection_id, credentials=credentials is not None, settings="settings" in changes
            )

        await self._update(connection_id, changes, notify, act="change_connection", changed=changed)
        return await self.show(connection_id)

    async def authorise(
        self,
        connection: Connection,
        secrets: Mapping[str, str],
        account: Account | None,
        expires_at: float | None,
        admit: Callable[[Any], None],
    ) -> dict[str, Any]:
        """Store the tokens that the user has granted, unless *admit* raises an error in the transaction."""

        def notify(db: SqlConnection) -> None:
            # This starts to watch a pending connection. Any other is watched already.
            self.listener.created(db, connection.connection_id, connection.connector)
            self.listener.changed(db, connection.connection_id, credentials=True, settings=False)

        changes = self._credential_columns(connection, secrets, account, expires_at)
        await self._update(connection.connection_id, changes, notify, admit, act="connect_account")
        return await self.show(connection.connection_id)

    def _credential_columns(
        self, connection: Connection, secrets: Mapping[str, str], account: Account | None, expires_at: float | None
    ) -> dict[str, Any]:
        """Return the columns for new credentials, and end a refresh of the former ones."""
        self.token_refresher.forget(connection.connection_id)
        return {
            "sealed": self.vault.encrypt(secrets, connection.connection_id),
            "status": "active",
            "reason": None,
            "expires_at": expires_at,
            "era": tables.connections.c.era + 1,
            "refresh_due_at": self.token_refresher.due_at(connection.connector, secrets),
            **NO_REFRESH,
            **account_columns(account),
        }

    async def remove(self, connection_id: str) -> dict[str, Any]:
        """Delete a connection and its secrets. Its history is retained."""
        removed = {"deleted": True, "sealed": b"", "status": "removed", "refresh_due_at": None, **NO_REFRESH}
        notify = partial(self.listener.removed, connection_id=connection_id)
        return to_public(await self._update(connection_id, removed, notify, act="remove_connection"))

    async def record_status(self, connection: Connection, status: str, *, polled: bool = False) -> None:
        """Record the status that the last call has observed, ``active`` or ``revoked``.

        A connection that is active again is polled immediately, unless the caller has just *polled* it completely.
        """
        if connection.status == status:
            return
        now, connection_id = self.clock.now(), connection.connection_id
        change = (
            update(tables.connections)
            .where(tables.connections.c.connection_id == connection_id, tables.connections.c.deleted.is_(False))
            .where(tables.connections.c.status != status)
            .values(status=status, updated_at=now, reason=WITHDRAWN if status == "revoked" else None)
        )

        def note(db: SqlConnection) -> None:
            if not db.execute(change).rowcount:
                return
            if status == "revoked":
                self.listener.revoked(db, connection_id)
            elif not polled:
                self.listener.reauthorised(db, connection_id)

        await self.database.write(note)
        self._cache.forget(connection_id)

    async def record_account(self, connection: Connection, account: Account | None) -> None:
        """Record the account that the vendor reports. Raises ``OtherAccount`` if another one is recorded."""
        if account is None:
            return
        columns = {name: value for name, value in account_columns(account).items() if value is not None}
        admit = partial(_check_same_account, connection.connection_id, account)
        await self._update(connection.connection_id, columns, lambda _: None, admit)

    async def _update(
        self,
        connection_id: str,
        changes: Mapping[str, Any],
        also: Callable[[Any], None],
        admit: Callable[[Any], None] = lambda _: None,
        *,
        act: str | None = None,
        **details: Any,
    ) -> Mapping[Any, Any]:
        """Apply *changes* and execute *also* in one transaction, unless *admit* raises an error first.

        If *act* names an administrative action, the action is recorded in the audit trail with *details*.
        """
        change = (
            update(tables.connections)
            .where(tables.connections.c.connection_id == connection_id, tables.connections.c.deleted.is_(False))
            .values(updated_at=self.clock.now(), **changes)
            .returning(*tables.connections.c)
        )

        def work(db: SqlConnection) -> Mapping[Any, Any] | None:
            admit(db)
            row: Mapping[Any, Any] | None = db.execute(change).mappings().first()
            also(db)
            return row

        row = await self.database.write(with_audit_entry(work, act, connection_id, **details) if act else work)
        self._cache.forget(connection_id)
        if row is None:
            raise _not_found(connection_id)
        return row

    def validate(self, name: str, credentials: Mapping[str, str] | None, settings: Mapping[str, Any]) -> None:
        """Raise ``InvalidParameters`` if credentials or settings are invalid for the connector *name*."""
        validate_connection(self.connectors, name, credentials, settings)

    async def _look_up(self, connection_id: str) -> Connection | None:
        parameters = {"_connection_id": connection_id}
        row = await self.database.read(lambda db: db.execute(FIND, parameters).first())
        return self._connection(row) if row else None

    def _connection(self, row: Row[Any]) -> Connection:
        connector = self.connectors.get(row.connector)
        secrets = self.vault.decrypt(row.sealed, row.connection_id)
        # Prefer the account: a refreshed token would give the account another budget each time.
        account = row.account_id or secrets.get(connector.credentials[-1] if connector else "token", row.connection_id)
        return Connection(
            connection_id=row.connection_id,
            workspace_id=row.workspace_id,
            connector=row.connector,
            status=row.status,
            settings=row.settings,
            account=pseudonym(account),
            app_id=row.app_id,
            identity=AccountIdentity(row.account_id, row.era),
            redaction=Redaction(secrets.values),
            _current=self.token_refresher.with_refresh_time(
                row.connector, secrets, row.expires_at, AccountIdentity(row.account_id, row.era)
            ),
            _refresher=self.token_refresher,
        )


def _count(workspace_id: str) -> Select[Any]:
    connections = tables.connections.c
    query = select(func.count()).select_from(tables.connections)
    return query.where(connections.workspace_id == workspace_id, connections.deleted.is_(False))


def _check_same_account(connection_id: str, account: Account, db: SqlConnection) -> None:
    own = tables.connections.c.connection_id == connection_id
    account_id = db.execute(select(tables.connections.c.account_id).where(own).with_for_update()).scalar()
    if not may_be_same_account(account_id, account):
        raise OtherAccount("The credentials belong to another account than the connection.")


def _not_found(connection_id: str) -> ConnectionNotFound:
    return ConnectionNotFound(
        f"There is no connection {truncate(connection_id)} in this workspace.",
        {"parameter": "connection_id", "value": connection_id},
    )
