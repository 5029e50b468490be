"""Setup of connections: with credentials, which the vendor verifies first, or with a link for the user."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Select, not_, select

from connector_gateway.core.access.return_urls import check_return_url
from connector_gateway.core.access.workspaces import check_workspace
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.connections.account_identity import may_be_same_account
from connector_gateway.core.connections.account_lookup import AccountLookup
from connector_gateway.core.connections.connect_links import ConnectLinks
from connector_gateway.core.connections.connection import Connection, check_connected
from connector_gateway.core.connections.store import ConnectionStore
from connector_gateway.core.connections.token_client import TokenEndpointClient, not_configured_error
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError, InvalidParameters, OtherAccount
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database


def select_same_account(connector: str, connection_id: str) -> Select[Any]:
    """Select the other connections to the account of a connection. An index supports this query."""
    table = tables.connections.c
    own = table.connection_id == connection_id
    account = select(table.account_id).where(own).scalar_subquery()
    return select(table.connection_id).where(
        table.connector == connector, table.account_id == account, not_(own), table.deleted.is_(False)
    )


@dataclass(eq=False, repr=False, kw_only=True)
class ConnectionLifecycle:
    """Creates and changes connections, after verification by the vendor."""

    database: Database
    connections: ConnectionStore
    links: ConnectLinks
    tokens: TokenEndpointClient
    accounts: AccountLookup

    async def create(
        self,
        workspace_id: WorkspaceId,
        connector: str,
        credentials: Mapping[str, str] | None,
        *,
        name: str = "",
        settings: Mapping[str, Any] | None = None,
        verify: bool = True,
        return_url: str | None = None,
    ) -> dict[str, Any]:
        """Create a connection. Without *credentials* it is pending, and is returned with a link for its user."""
        if credentials is None:
            return await self._invite(workspace_id, connector, return_url, name=name, settings=settings)
        self.connections.validate(connector, credentials, settings or {})
        await self._return_urls(workspace_id)
        account = await self.accounts.identify(connector, credentials) if verify else None
        created = await self.connections.create(
            workspace_id, connector, credentials, name=name, settings=settings, account=account
        )
        return created | {"connect_url": None}

    async def _invite(
        self, workspace_id: WorkspaceId, connector: str, return_url: str | None, **more: Any
    ) -> dict[str, Any]:
        self.connections.validate(connector, None, more["settings"] or {})
        self._check_configured(connector)
        await self._check_return_url(workspace_id, return_url)
        created = await self.connections.create(workspace_id, connector, None, **more)
        return created | await self.links.issue(created["connection_id"], return_url=return_url)

    async def reconnect(
        self, connection_id: str, *, return_url: str | None = None, allow_other_account: bool = False
    ) -> dict[str, Any]:
        """Issue a link with which the user connects the account of a connection again."""
        current = await self.connections.show(connection_id)
        self._check_configured(current["connector"])
        await self._check_return_url(current["workspace_id"], return_url)
        issued = await self.links.issue(
            connection_id,
            return_url=return_url,
            allow_other_account=allow_other_account,
            for_workspace=current["workspace_id"],
        )
        return {"connection_id": connection_id, "status": current["status"], **issued}

    def has_links(self, connector: str) -> bool:
        """Return whether users can connect accounts of a connector in a browser."""
        return self.tokens.oauth(connector) is not None

    async def reconnect_url(self, connection: Connection) -> str | None:
        """Return a link to reconnect a revoked *connection*, or None if no browser can connect its account."""
        if self.tokens.oauth(connection.connector) is None:
            return None
        return await self.links.get_or_issue(connection.connection_id)

    async def change(
        self, connection_id: str, *, verify: bool = True, allow_other_account: bool = False, **changes: Any
    ) -> dict[str, Any]:
        """Apply *changes* to a connection and return it. New credentials are verified first if *verify* is true."""
        account = None
        credentials = changes.get("credentials")
        if credentials is not None:
            current = await self.connections.show(connection_id)
            self.connections.validate(current["connector"], credentials, changes.get("settings", {}))
            if allow_other_account and not verify and current["account_id"] is not None:
                raise InvalidParameters(
                    "The account of the credentials can only be determined with verify.",
                    {"parameter": "verify", "message": "Should be true with allow_other_account", "value": verify},
                )
            account = await self.accounts.identify(current["connector"], credentials) if verify else None
            if not allow_other_account and not may_be_same_account(current["account_id"], account):
                raise OtherAccount("The credentials belong to another account than the connection.")
        return await self.connections.change(connection_id, account, **changes)

    async def test(self, connection_id: str) -> dict[str, Any]:
        """Request the account and permissions of a connection from the vendor, and record its status."""
        connection = await self.connections.get(connection_id)
        check_connected(connection)
        try:
            account = await self.accounts.identify_connection(connection)
        except ConnectionRevoked:
            await self.connections.record_status(connection, "revoked")
        else:
            await self.connections.record_status(connection, "active")
            await self.connections.record_account(connection, account)
        current = await self.connections.show(connection_id)
        tested = with_audit_entry(lambda _: current, "test_connection", connection_id, status=current["status"])
        await self.database.write(tested)
        oauth = self.tokens.oauth(connection.connector)
        missing = oauth.missing_scopes(current["scopes"]) if oauth else {}
        return current | {
            "missing_scopes": [{"scope": scope, "operations": needed} for scope, needed in missing.items()]
        }

    async def remove(self, connection_id: str) -> dict[str, Any]:
        """Delete a connection, and revoke its tokens if the vendor supports that."""
        with suppress(GatewayError):
            connection = await self.connections.get(connection_id)
            if not await self._shares_tokens(connection):
                await self.tokens.revoke(connection.connector, connection.stored)
                await self.accounts.revoke_token(connection)
        return await self.connections.remove(connection_id)

    async def _shares_tokens(self, connection: Connection) -> bool:
        """Return True if revoking the tokens of this connection would break another one."""
        oauth = self.tokens.oauth(connection.connector)
        account_ends = oauth is not None and oauth.revokes_account
        if not account_ends and not self.accounts.issued_by_token_page(connection):
            return False
        query = select_same_account(connection.connector, connection.connection_id)
        connection_ids = await self.database.read(lambda db: db.execute(query).scalars().all())
        if account_ends:
            return bool(connection_ids)
        others = await self.connections.get_many(connection_ids)
        return any(other.stored.get("token") == connection.stored.get("token") for other in others.values())

    def _check_configured(self, connector: str) -> None:
        if self.tokens.oauth(connector) is None:
            raise not_configured_error(connector)

    async def _check_return_url(self, workspace_id: str, return_url: str | None) -> None:
        check_return_url(return_url, await self._return_urls(workspace_id))

    async def _return_urls(self, workspace_id: str) -> Sequence[str]:
        """Return the allowed return URLs of a workspace. Raises ``WorkspaceNotFound`` if there is none."""
        table = tables.workspaces.c

        def read(db: SqlConnection) -> Sequence[str]:
            check_workspace(db, WorkspaceId(workspace_id))
            query = select(table.return_urls).where(table.workspace_id == workspace_id)
            return tuple(db.execute(query).scalar_one())

        return await self.database.read(read)
