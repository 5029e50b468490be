"""Declarations of management routes: one for HTTP, OpenAPI, the command line and the console.

::

    RESOURCE = Resource("keys", columns=("key_id", "name", "scope"))

    @RESOURCE.route("DELETE /v1/keys/{key_id}", "revoke KEY_ID", errors=[KeyNotFound], confirmation="…")
    async def revoke_key(request: ManagementRequest, params: RevokeKey) -> KeyRecord: ...

The docstrings of the function and of its parameters are published by all surfaces.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel

from connector_gateway.core.audited_actions import act_as
from connector_gateway.kit.errors import (
    EVERY_REQUEST,
    UNREADABLE_BODY,
    AdminRoleRequired,
    GatewayError,
    InvalidCursor,
    OperatorTokenRequired,
    all_errors,
)
from connector_gateway.kit.models import Listing, Page, Params, Result
from connector_gateway.management.field_descriptions import Field, describe_fields
from connector_gateway.management.list_parameters import ListParams
from connector_gateway.management.request import ManagementRequest

R = TypeVar("R", bound=Result | Page[Any] | Listing[Any])
Errors = Sequence[type[GatewayError]]

Handler = Callable[[ManagementRequest, Any], Awaitable[R]]


@dataclass(frozen=True)
class Flag:
    """A command-line flag that sets a parameter to a fixed value."""

    option: str
    parameter: str
    value: Any
    description: str


@dataclass(frozen=True)
class CommandDeclaration:
    """One command of the command line that performs a route."""

    usage: str
    """The name of the command in the group of the resource, and its positional parameters: ``create WORKSPACE_ID``."""

    description: str = ""
    """The help text. By default that of the route."""

    options: Sequence[str] | None = None
    """The parameters that are options. By default all that are not positional."""

    required: Sequence[str] = ()
    """Parameters that this command requires although the route does not."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that this command sets to a fixed value."""

    has_settings: bool = False
    """Whether the settings of the connectors are options of this command. Those left out return to their defaults."""

    flags: Sequence[Flag] = ()

    @property
    def name(self) -> str:
        """The name in the group of the resource."""
        return self.usage.partition(" ")[0]

    @property
    def arguments(self) -> Sequence[str]:
        """The positional parameters."""
        return self.usage.lower().split()[1:]


@dataclass(frozen=True)
class ManagementRoute:
    """One management route: its path, parameters, result and errors, and how each surface presents it."""

    name: str
    method: str
    path: str
    params: type[Params]
    result: type[Result | Page[Any] | Listing[Any]]
    handler: Callable[[ManagementRequest, Any], Awaitable[Any]]
    resource: "Resource"
    open_to_keys: bool
    open_to_managers: bool
    """Whether keys that manage connections are accepted."""

    errors: Errors
    description: str
    commands: Sequence[CommandDeclaration]
    suggested: Mapping[str, Any]
    """Values that the command line and forms suggest for parameters without a default."""

    example: Mapping[str, Any]
    """Parameters of the example in the OpenAPI document, without identifiers."""

    confirmation: str
    """The statement that a person has to confirm before a destructive route."""

    done: str
    """The sentence that reports success to a person."""

    @property
    def is_for_operators(self) -> bool:
        """Whether no API key is accepted."""
        return not (self.open_to_keys or self.open_to_managers)

    @property
    def changes(self) -> bool:
        """Whether the route makes changes, which the audit trail records."""
        return self.method != "GET"

    async def carry_out(self, request: ManagementRequest, params: Params) -> Any:
        """Perform *request* and return its result. The audit trail records a change and its outcome."""
        if not self.changes:
            return await self.handler(request, params)
        try:
            if request.caller is None:
                request.operator.require_admin()
            with act_as(request.management.audit, request.actor):
                return await self.handler(request, params)
        except GatewayError as error:
            subject = next((str(value) for name, value in params if name.endswith("_id") or name == "connector"), "")
            await request.management.audit.record_rejection(request.actor, self.name, error.code, subject)
            raise

    @property
    def title(self) -> str:
        """The name for people, which is also the title of the form."""
        return self.name.replace("_", " ").capitalize()

    @property
    def summary(self) -> str:
        """The first paragraph of the description."""
        return self.description.partition("\n\n")[0]

    @property
    def has_body(self) -> bool:
        """Whether parameters are sent in a JSON body, and not only in the path or the query."""
        all_in_path = all(f"{{{name}}}" in self.path for name in self.params.model_fields)
        return self.method in {"POST", "PATCH"} and not all_in_path

    @property
    def pages(self) -> bool:
        """Whether the route returns one page of a list."""
        return issubclass(self.result, Page)

    @property
    def lists(self) -> bool:
        """Whether ``data`` is an array."""
        return issubclass(self.result, Page | Listing)

    @property
    def item(self) -> type[BaseModel]:
        """The model of ``data``, or of its items if it is an array."""
        if self.lists:
            shape: type[BaseModel] = self.result.__pydantic_generic_metadata__["args"][0]
            return shape
        return self.result

    @cached_property
    def fields(self) -> Sequence[Field]:
        """All parameters, including those in the path. The page parameters are last."""
        return sorted(describe_fields(self.params), key=lambda field: field.name in ListParams.model_fields)

    @cached_property
    def columns(self) -> Sequence[Field]:
        """The columns of the list for people, the most important first."""
        shape = {field.name: field for field in describe_fields(self.item)}
        return [shape[name] for name in self.resource.columns if name in shape]

    @cached_property
    def secrets(self) -> Sequence[str]:
        """Fields of the result that are displayed only once, such as a new key."""
        return [field.name for field in describe_fields(self.item) if field.is_secret]

    @cached_property
    def possible_errors(self) -> Errors:
        """All possible errors, in the order of the catalogue."""
        possible = {*EVERY_REQUEST, *self.errors}
        if not self.open_to_keys:
            possible |= {OperatorTokenRequired}
        if self.changes:
            possible |= {AdminRoleRequired}
        if self.has_body:
            possible |= UNREADABLE_BODY
        if self.pages:
            possible |= {InvalidCursor}
        return [error for error in all_errors() if error in possible]


class Resource:
    """A kind of managed object, and its routes."""

    def __init__(self, name: str, *, columns: Sequence[str]) -> None:
        self.name = name
        """The plural name, as in paths: the name of the command group and of the console page."""

        self.columns = columns
        """The fields of its lists, the most important first. Narrow terminals and pages omit the last ones."""

        self.routes: list[ManagementRoute] = []

    def route(
        self,
        route: str,
        *commands: str | CommandDeclaration,
        open_to_keys: bool = False,
        open_to_managers: bool = False,
        errors: Errors = (),
        suggested: Mapping[str, Any] | None = None,
        example: Mapping[str, Any] | None = None,
        confirmation: str = "",
        done: str = "",
    ) -> Callable[[Handler[R]], ManagementRoute]:
        """Declare a route of this resource, such as ``DELETE /v1/keys/{key_id}``, and the *commands* that perform it.

        It accepts operators, API keys if *open_to_keys*, and keys that manage connections if *open_to_managers*. Each
        request with a key counts as a call of that key.
        """
        method, _, path = route.partition(" ")

        def declare(handler: Handler[R]) -> ManagementRoute:
            hints = get_type_hints(handler)
            declared = ManagementRoute(
                name=handler.__name__,
                method=method,
                path=path,
                params=hints["params"],
                result=hints["return"],
                handler=handler,
                resource=self,
                open_to_keys=open_to_keys,
                open_to_managers=open_to_managers,
                errors=errors,
                description=inspect.getdoc(handler) or "",
                commands=[CommandDeclaration(one) if isinstance(one, str) else one for one in commands],
                suggested=suggested or {},
                example=example or {},
                confirmation=confirmation,
                done=done,
            )
            self.routes.append(declared)
            return declared

        return declare
