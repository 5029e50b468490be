"""Requests for management routes, and the services that handle them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector_gateway.core.audited_actions import Actor
from connector_gateway.core.error_serialization import workspace_not_found
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.kit.models import Position

if TYPE_CHECKING:
    # The command line imports the declarations for its help, without the cost of importing all services.
    from connector_gateway.core.access.audit_trail import Audit
    from connector_gateway.core.access.keys import ApiKeys, Caller
    from connector_gateway.core.access.operators import Operator, Operators
    from connector_gateway.core.access.workspaces import Workspaces
    from connector_gateway.core.calls.cursors import CursorSigner
    from connector_gateway.core.connections import ConnectionLifecycle, ConnectionStore
    from connector_gateway.core.events.inbound_hooks import InboundHooks
    from connector_gateway.core.history.runs import RunStore
    from connector_gateway.core.outbound_webhooks.subscriptions import Webhooks
    from connector_gateway.kit.operation import AnyConnector


@dataclass(frozen=True)
class Management:
    """The services that management routes use."""

    connectors: "Mapping[str, AnyConnector]"
    workspaces: "Workspaces"
    keys: "ApiKeys"
    connections: "ConnectionStore"
    connecting: "ConnectionLifecycle"
    runs: "RunStore"
    hooks: "InboundHooks"
    webhooks: "Webhooks"
    cursors: "CursorSigner"
    operators: "Operators"
    audit: "Audit"
    agent_oauth: bool = False
    """Whether clients of agents can be authorised with OAuth."""


@dataclass(frozen=True)
class ManagementRequest:
    """An authenticated management request.

    The sender is a *caller* with an API key, or if *caller* is None, an *operator*, who can see all workspaces.
    """

    management: Management
    caller: "Caller | None"
    operator: "Operator"
    position: Position | None = None
    """The start of the requested page, as returned with the previous page."""

    address: str = ""
    """The IP address of the client."""

    surface: str = "http"

    @property
    def actor(self) -> Actor:
        """The caller or operator, as named in the audit trail."""
        return Actor(self.caller.key_id if self.caller else self.operator.name, self.address, self.surface)

    @property
    def may_change(self) -> bool:
        """Whether the request may also read the secrets that changes need."""
        return self.caller is not None or self.operator.may_change

    @property
    def before(self) -> str | None:
        """The identifier before which the requested page starts. None for the first page."""
        return self.position["before"] if self.position else None

    @property
    def workspace_id(self) -> WorkspaceId | None:
        """The only visible workspace. None if all are visible."""
        return self.caller.workspace_id if self.caller else None

    @property
    def connection_ids(self) -> Collection[ConnectionId] | None:
        """The only visible connections. None if all of the workspace are visible."""
        return self.caller.connection_ids if self.caller else None

    def own_workspace(self, workspace_id: str) -> WorkspaceId:
        """Return *workspace_id*. Raises ``WorkspaceNotFound`` if the key belongs to another workspace."""
        if self.workspace_id not in {None, workspace_id}:
            raise workspace_not_found(workspace_id)
        return WorkspaceId(workspace_id)

    async def require_own_connection(self, connection_id: str) -> None:
        """Raise ``ConnectionNotFound`` for a connection that the key cannot see."""
        if self.caller is not None:
            await self.management.connections.show(connection_id, self.workspace_id, self.connection_ids)

    def workspace_filter(self, workspace_id: str | None) -> WorkspaceId | None:
        """Return the workspace to search: the key's own, otherwise the requested one."""
        return self.workspace_id or (WorkspaceId(workspace_id) if workspace_id else None)


def position_before(identifier: str | None) -> Position | None:
    """Return the start of the next page, or None after the last page."""
    return None if identifier is None else {"before": identifier}
