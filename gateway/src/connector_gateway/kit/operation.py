"""Declarations of operations and connectors, from which every interface is derived."""

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel

from connector_gateway.kit.context import Download, OperationContext
from connector_gateway.kit.errors import (
    EVERY_CALL,
    EVERY_WRITE,
    KEY_ERRORS,
    UNREADABLE_BODY,
    GatewayError,
    InvalidCursor,
    all_errors,
)
from connector_gateway.kit.errors.vendor_error_table import NO_ERRORS, ErrorTable
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.models import Listing, Page, Params, Position, Result
from connector_gateway.kit.oauth import Account, OAuthConfig
from connector_gateway.kit.passthrough import PLAIN_HTTP, Passthrough
from connector_gateway.kit.upstream.budget import Budget, TypicalRequests
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, create_bearer_header, parse_throttle
from connector_gateway.kit.upstream.pool import UpstreamResponse

C = TypeVar("C")
P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result | Page[Any] | Listing[Any])

Scope = Literal["read", "write"]
Errors = Sequence[type[GatewayError]]


UNKNOWN_REQUESTS = TypicalRequests()

Examples = Mapping[str, Any]
"""The identifiers of an emulator's default objects, such as that of a page."""

ExampleArguments = Callable[[Examples], Mapping[str, Any]]
"""Returns valid arguments for a call to the emulator, from its examples."""

STATE_METHODS = {"PATCH", "PUT", "DELETE"}
"""Methods that set a state, and are therefore idempotent and overwrite unless declared otherwise."""


@dataclass(frozen=True)
class Operation(Generic[C, P, R]):
    """The complete declaration of one operation: names, route, parameters, result, errors and handler."""

    name: str
    method: str
    path: str
    scope: Scope
    errors: tuple[type[GatewayError], ...]
    params: type[P]
    result: type[R]
    handler: Callable[[OperationContext[C], P], Awaitable[R]]
    description: str
    requests: TypicalRequests = UNKNOWN_REQUESTS
    """The vendor requests of a typical call. Without them, a call is expected to need one until some were seen."""

    overwrites: bool = False
    """Whether it may change existing data instead of only adding to it."""

    idempotent: bool = True
    """Whether repeating it with the same parameters has no further effect, even without a key."""

    targets: frozenset[str] = frozenset()
    """Body parameters that name the object it acts on, in addition to those of the path."""

    keyed: bool = True
    """Whether it accepts an idempotency key, if it writes."""

    permission: Literal["passthrough"] | None = None
    """The permission that its keys need. Such an operation is open to keys with read scope as long as it only reads."""

    examples: tuple[ExampleArguments, ...] = ()
    """Valid calls to the emulator. For a write that overwrites, the second one gives the same object another state."""

    create_client: Callable[["Connector[Any]", UpstreamClient], C] | None = None
    """Returns the client of a call. None for the connector's own."""

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return self.description.partition("\n")[0]

    @property
    def guidance(self) -> str:
        """The first two paragraphs of the description: what it does, and when to use it. The others are details."""
        return "\n\n".join(self.description.split("\n\n")[:2])

    @cached_property
    def path_names(self) -> frozenset[str]:
        """The parameters in the path."""
        return frozenset(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def target_names(self) -> frozenset[str]:
        """The parameters that name the object it acts on. An idempotency key is valid for one object."""
        return self.path_names | self.targets

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The fields of ``params`` by their public names."""
        return {declared.alias or name: declared for name, declared in self.params.model_fields.items()}

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        """The public names of fields that have an alias."""
        return {name: declared.alias for name, declared in self.params.model_fields.items() if declared.alias}

    def sent_names(self, params: P) -> str:
        """Return the names of the parameters that were sent, separated by commas."""
        if not self._aliases:
            return ",".join(params.model_fields_set)
        return ",".join([self._aliases.get(name, name) for name in params.model_fields_set])

    @property
    def title(self) -> str:
        """The operation's name for people."""
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def all_errors(self) -> tuple[type[GatewayError], ...]:
        """Every error of the operation, in the order of the catalogue."""
        included = {*EVERY_CALL, *self.errors}
        # All methods but GET have a body, which can be unreadable as a whole.
        if self.method != "GET":
            included |= UNREADABLE_BODY
        if self.scope == "write":
            included |= EVERY_WRITE if self.keyed else EVERY_WRITE - KEY_ERRORS
        if self.is_paged:
            included |= {InvalidCursor}
        return tuple(error for error in all_errors() if error in included)

    @property
    def is_paged(self) -> bool:
        """Whether it returns one page of a list."""
        return issubclass(self.result, Page)

    @property
    def item(self) -> type[BaseModel]:
        """The shape of ``data``, or of its items if the operation returns a list."""
        if issubclass(self.result, Page | Listing):
            shape: type[BaseModel] = self.result.__pydantic_generic_metadata__["args"][0]
            return shape
        return self.result


AnyOperation = Operation[Any, Any, Any]


class OperationDecorator(Protocol):
    """Turns the function that performs an operation into its declaration."""

    def __call__(self, perform: Callable[[OperationContext[C], P], Awaitable[R]], /) -> Operation[C, P, R]:
        """Return the declaration of *perform*, read from its name, annotations and docstring."""


def reads(
    route: str,
    *,
    errors: Errors = (),
    requests: TypicalRequests = UNKNOWN_REQUESTS,
    examples: Sequence[ExampleArguments] = (),
) -> OperationDecorator:
    """Declare an operation that changes nothing, whatever its method.

    *route* is ``METHOD /path/{parameter}``. *requests* are those that a typical call sends to the vendor, and
    *examples* the arguments of calls that succeed on the emulator.
    """
    return _declare(route, "read", errors, requests, examples)


def writes(
    route: str,
    *,
    errors: Errors = (),
    requests: TypicalRequests = UNKNOWN_REQUESTS,
    overwrites: bool = False,
    idempotent: bool | None = None,
    targets: Iterable[str] = (),
    examples: Sequence[ExampleArguments] = (),
) -> OperationDecorator:
    """Declare an operation that writes, in steps (``OperationContext.step``).

    It overwrites if its method does, or if *overwrites* is set. It is idempotent if its method is, unless *idempotent*
    is set. *targets* are body parameters that name the object it acts on. *requests* and *examples* are as in
    ``reads``; if it overwrites, its second example gives the object of the first one another state.
    """
    sets_state = route.partition(" ")[0] in STATE_METHODS
    return _declare(
        route,
        "write",
        errors,
        requests,
        examples,
        overwrites=overwrites or sets_state,
        idempotent=sets_state if idempotent is None else idempotent,
        targets=targets,
    )


def _declare(
    route: str,
    scope: Scope,
    errors: Errors,
    requests: TypicalRequests,
    examples: Sequence[ExampleArguments],
    *,
    overwrites: bool = False,
    idempotent: bool = True,
    targets: Iterable[str] = (),
) -> OperationDecorator:
    method, _, path = route.partition(" ")

    def declare(perform: Callable[[OperationContext[C], P], Awaitable[R]], /) -> Operation[C, P, R]:
        # Evaluated, because a module may have postponed annotations.
        hints = get_type_hints(perform)
        if unknown := set(targets) - set(hints["params"].model_fields):
            raise TypeError(f"{perform.__name__} has no parameters {sorted(unknown)} that can name its target.")
        return Operation(
            name=perform.__name__,
            method=method,
            path=path,
            scope=scope,
            errors=tuple(errors),
            params=hints["params"],
            result=hints["return"],
            handler=perform,
            description=inspect.getdoc(perform) or "",
            requests=requests,
            overwrites=overwrites,
            idempotent=idempotent,
            targets=frozenset(targets),
            examples=tuple(examples),
        )

    return declare


@dataclass(frozen=True)
class SampleCall:
    """An example call to the connector's emulator."""

    title: str
    operation: AnyOperation
    arguments: ExampleArguments


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """The dated version of a vendor's API that a connector uses."""

    name: str
    ends_on: date
    """The day on which the vendor's support ends."""


@dataclass(frozen=True)
class Connector(Generic[C]):
    """The declaration of one connector: its vendor's URLs, conventions and budgets, and its operations."""

    name: str
    summary: str
    base_urls: Mapping[str, str]
    """The vendor's base URLs by host name, with ``base`` first."""

    budgets: Mapping[str, Budget]
    """The vendor's budgets, by the names that charges use. The operator may override the first."""

    client: Callable[[UpstreamClient], C]
    operations: tuple[Operation[C, Any, Any], ...]
    auth_headers: Callable[[Mapping[str, str]], Mapping[str, str]] = create_bearer_header
    """Returns the headers that authorise a request, from a connection's credentials. By default, a bearer token."""

    parse_throttle: Callable[[UpstreamResponse], float | ThrottleDelay | None] = parse_throttle
    """Returns the seconds to wait after a throttling response, or the budgets to block. None for other responses."""

    error_table: ErrorTable = NO_ERRORS
    """The meaning of the vendor's errors, and which of them prove that a write was not carried out."""

    api_version: ApiVersion | None = None
    """The version of the vendor's API, if its end is announced."""

    unread_fields: Collection[str] = ()
    """The names of documented fields that no shape declares. Others in their place are counted as new."""

    read_warnings: Callable[[UpstreamResponse], Iterable[str]] = lambda _: ()
    """Returns the codes of the vendor's warnings in a response."""

    prescribed_remedies: Mapping[type[GatewayError], str] = field(default_factory=dict)
    """Sentences that the contract prescribes before the remedies of errors over HTTP."""

    max_concurrent_requests: int | None = None
    """The maximum number of concurrent requests of one account over all processes, if the vendor limits them."""

    settle_seconds: float = 60.0
    """Seconds after sending during which a request may still be carried out upstream. The operator may override it."""

    credentials: tuple[str, ...] = ("token",)
    """The names of the credentials that a connection needs."""

    download: Callable[[C, Position], AbstractAsyncContextManager[Download]] | None = None
    """Opens the file of a download link that one of the operations issued."""

    settings: type[Params] = field(default=Params)
    """The settings of a connection."""

    event_source: EventSource[C] | None = None
    """The event source, if changes are observed."""

    oauth: OAuthConfig | None = None
    """The OAuth configuration, if accounts can be connected in a browser."""

    identify: Callable[[C], Awaitable[Account]] | None = None
    """Requests the account of the credentials from the vendor.

    It is optional. Without it, credentials are not checked when they are connected, connections have no account name,
    another account of a reconnection is not noticed, and budgets are counted for the credentials of a connection.
    """

    revoke: Callable[[C], Awaitable[bool]] | None = None
    """Revokes a token that the token page issued, if there is one. Returns whether the vendor accepted the revocation.
    """

    sample: SampleCall | None = None
    """The call that ``dev`` shows first."""

    kit_version: int | None = None
    """The ``kit.VERSION`` that a package was written for. None for the gateway's own connectors."""

    passthrough: Passthrough = PLAIN_HTTP
    """The rules for requests that callers write themselves."""

    examples: Callable[[Examples], Examples] = dict
    """Returns the emulator's examples by public names."""

    @property
    def vendor(self) -> str:
        """The vendor's name for people, such as ``Notion``."""
        return self.oauth.vendor if self.oauth else self.name


AnyConnector = Connector[Any]
