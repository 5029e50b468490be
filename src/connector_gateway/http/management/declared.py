"""How management routes are declared, and what they work with."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel

from connector_gateway.core.acts import Actor, acting
from connector_gateway.core.audit import Audit
from connector_gateway.core.connections import Connecting, Connections
from connector_gateway.core.cursors import Cursors
from connector_gateway.core.events.hooks import Hooks
from connector_gateway.core.keys import Caller, Keys
from connector_gateway.core.operators import BUILT_IN, Operator, Operators
from connector_gateway.core.runs import Runs
from connector_gateway.core.webhooks.webhooks import Webhooks
from connector_gateway.core.workspaces import Workspaces, workspace_not_found
from connector_gateway.http.routes import Edge
from connector_gateway.kit.errors import (
    AdminRoleRequired,
    GatewayError,
    HeadersTooLarge,
    InternalError,
    InvalidApiKey,
    InvalidCursor,
    InvalidJson,
    InvalidParameters,
    MalformedRequest,
    MissingApiKey,
    OperatorTokenRequired,
    PayloadTooLarge,
    RateLimited,
    RequestIncomplete,
    SecretUnreadable,
    SharedStoreUnavailable,
    StorageUnavailable,
    UnsupportedMediaType,
    catalogue,
)
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.shapes import Listing, Page, Params, Position, Result

R = TypeVar("R", bound=Result | Page[Any] | Listing[Any])
Errors = Sequence[type[GatewayError]]

EVERY_ROUTE: Errors = (
    MissingApiKey,
    InvalidApiKey,
    MalformedRequest,
    HeadersTooLarge,
    InvalidParameters,
    RateLimited,
    InternalError,
    SecretUnreadable,
    StorageUnavailable,
    SharedStoreUnavailable,
)


@dataclass(frozen=True)
class Management:
    """What the management routes work on."""

    edge: Edge
    connectors: Mapping[str, AnyConnector]
    workspaces: Workspaces
    keys: Keys
    connections: Connections
    connecting: Connecting
    runs: Runs
    hooks: Hooks
    webhooks: Webhooks
    cursors: Cursors
    operators: Operators
    audit: Audit


@dataclass(frozen=True)
class Asked:
    """A management request that was let in: *caller* is None for an operator, who sees all."""

    management: Management
    caller: Caller | None
    position: Position | None = None
    """Where the page begins that was asked for, as the page before it said."""

    operator: Operator = BUILT_IN
    """Who asks, where that is no key."""

    address: str = ""
    """The network address of the request."""

    surface: str = "http"

    @property
    def actor(self) -> Actor:
        """Who asks, as the audit trail names them."""
        return Actor(self.caller.key_id if self.caller else self.operator.name, self.address, self.surface)

    @property
    def may_change(self) -> bool:
        """Whether who asks may see what changes are made with, such as secrets that were handed over."""
        return self.caller is not None or self.operator.may_change

    @property
    def before(self) -> str | None:
        """The identifier that the page is before, in a list whose newest come first; None for the first page."""
        return self.position["before"] if self.position else None

    @property
    def workspace_id(self) -> WorkspaceId | None:
        """The workspace that can be seen; all of them if None."""
        return self.caller.workspace_id if self.caller else None

    @property
    def connection_ids(self) -> Collection[ConnectionId] | None:
        """The connections that can be seen; all of the workspace if None."""
        return self.caller.connection_ids if self.caller else None

    def own(self, workspace_id: str) -> WorkspaceId:
        """*workspace_id*, unless it is another than that of the key: that is not told from one that does not exist."""
        if self.workspace_id not in {None, workspace_id}:
            raise workspace_not_found(workspace_id)
        return WorkspaceId(workspace_id)

    async def require_own(self, connection_id: str) -> None:
        """Refuse a connection that the key cannot see."""
        if self.caller is not None:
            await self.management.connections.show(connection_id, self.workspace_id, self.connection_ids)

    def within(self, workspace_id: str | None) -> WorkspaceId | None:
        """The workspace to look into; a key's own, whatever was asked for."""
        return self.workspace_id or (WorkspaceId(workspace_id) if workspace_id else None)


def position_before(identifier: str | None) -> Position | None:
    """Where the next page begins, if there is one."""
    return None if identifier is None else {"before": identifier}


@dataclass(frozen=True)
class ManagementRoute:
    """One management route, complete: where it is, what it takes, gives and refuses, and how it is done."""

    name: str
    method: str
    path: str
    params: type[Params]
    result: type[Result | Page[Any] | Listing[Any]]
    perform: Callable[[Asked, Any], Awaitable[Any]]
    open_to_keys: bool
    open_to_managers: bool
    """Whether keys that manage connections are let in."""

    errors: Errors
    description: str

    @property
    def is_for_operators(self) -> bool:
        """Whether no key is ever let in."""
        return not (self.open_to_keys or self.open_to_managers)

    @property
    def changes(self) -> bool:
        """Whether it is an administrative act, rather than a look."""
        return self.method != "GET"

    async def carry_out(self, asked: Asked, params: Params) -> Any:
        """What it answers who *asked*; where it changes something, the audit trail tells how that ended."""
        if not self.changes:
            return await self.perform(asked, params)
        try:
            if asked.caller is None:
                asked.operator.require_admin()
            with acting(asked.management.audit, asked.actor):
                return await self.perform(asked, params)
        except GatewayError as error:
            named = next((str(value) for name, value in params if name.endswith("_id") or name == "connector"), "")
            await asked.management.audit.refuse(asked.actor, self.name, error.code, named)
            raise

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ").capitalize()

    @property
    def has_body(self) -> bool:
        """Whether its parameters travel in a JSON body; where the path has them all, there is none."""
        elsewhere = all(f"{{{name}}}" in self.path for name in self.params.model_fields)
        return self.method in {"POST", "PATCH"} and not elsewhere

    @property
    def pages(self) -> bool:
        """Whether it answers one page of a list."""
        return issubclass(self.result, Page)

    @property
    def lists(self) -> bool:
        """Whether ``data`` is an array."""
        return issubclass(self.result, Page | Listing)

    @property
    def item(self) -> type[BaseModel]:
        """The shape of ``data``, or of its items where it is an array."""
        if self.lists:
            shape: type[BaseModel] = self.result.__pydantic_generic_metadata__["args"][0]
            return shape
        return self.result

    @cached_property
    def refusals(self) -> Errors:
        """Every error it can end with, in the order of the catalogue."""
        possible = {*EVERY_ROUTE, *self.errors}
        if not self.open_to_keys:
            possible |= {OperatorTokenRequired}
        if self.changes:
            possible |= {AdminRoleRequired}
        if self.has_body:
            possible |= {InvalidJson, UnsupportedMediaType, PayloadTooLarge, RequestIncomplete}
        if self.pages:
            possible |= {InvalidCursor}
        return [error for error in catalogue() if error in possible]


Perform = Callable[[Asked, Any], Awaitable[R]]


def manages(
    route: str,
    *,
    open_to_keys: bool = False,
    open_to_managers: bool = False,
    errors: Errors = (),
) -> Callable[[Perform[R]], ManagementRoute]:
    """Declare a management route: for the operator, and where *open_to_keys* for a workspace's own keys.

    Where it is *open_to_managers*, it is for those of the keys that manage connections. Each request with a key counts
    as a call of that key.
    """
    method, _, path = route.partition(" ")

    def declare(perform: Perform[R]) -> ManagementRoute:
        hints = get_type_hints(perform)
        return ManagementRoute(
            name=perform.__name__,
            method=method,
            path=path,
            params=hints["params"],
            result=hints["return"],
            perform=perform,
            open_to_keys=open_to_keys,
            open_to_managers=open_to_managers,
            errors=errors,
            description=inspect.getdoc(perform) or "",
        )

    return declare
