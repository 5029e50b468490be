"""How operations and connectors are declared: once, for every surface."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel

from connector_gateway.kit.context import Download, OperationContext
from connector_gateway.kit.errors import (
    EVERY_CALL,
    EVERY_WRITE,
    UNREADABLE_BODY,
    GatewayError,
    InvalidCursor,
    all_errors,
)
from connector_gateway.kit.errors.table import NO_ERRORS, ErrorTable
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.oauth import Account, OAuthConfig
from connector_gateway.kit.shapes import Listing, Page, Params, Position, Result
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, bearer_header, parse_throttle
from connector_gateway.kit.upstream.pool import UpstreamResponse

C = TypeVar("C")
P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result | Page[Any] | Listing[Any])

Scope = Literal["read", "write"]
Errors = Sequence[type[GatewayError]]


REPLACING = {"PATCH", "PUT", "DELETE"}
"""Methods that make of what is there what is said, however often they are called."""


@dataclass(frozen=True)
class Operation(Generic[C, P, R]):
    """One operation, complete: what it is called, where it is, what it takes, gives and refuses, and how it is done."""

    name: str
    method: str
    path: str
    scope: Scope
    errors: tuple[type[GatewayError], ...]
    params: type[P]
    result: type[R]
    handler: Callable[[OperationContext[C], P], Awaitable[R]]
    description: str
    overwrites: bool = False
    """Whether it may change what is there already, rather than only add to it."""

    targets: frozenset[str] = frozenset()
    """Parameters of the body that name the object it acts on, as those of the path do."""

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition("\n")[0]

    @cached_property
    def path_names(self) -> frozenset[str]:
        """The parameters that travel in the path."""
        return frozenset(re.findall(r"{(\w+)}", self.path))

    @cached_property
    def target_names(self) -> frozenset[str]:
        """The parameters that name the object it acts on: one idempotency key is for one object."""
        return self.path_names | self.targets

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The fields of ``params`` by the names that callers use."""
        return {declared.alias or name: declared for name, declared in self.params.model_fields.items()}

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        """The names that callers use of the fields that are called differently here."""
        return {name: declared.alias for name, declared in self.params.model_fields.items() if declared.alias}

    def sent(self, params: P) -> str:
        """The names of the parameters that were sent, with commas between them."""
        if not self._aliases:
            return ",".join(params.model_fields_set)
        return ",".join([self._aliases.get(name, name) for name in params.model_fields_set])

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def all_errors(self) -> tuple[type[GatewayError], ...]:
        """Every error it can end with, in the order of the catalogue."""
        possible = {*EVERY_CALL, *self.errors}
        # A body is sent with all others, and can be wrong as a whole.
        if self.method != "GET":
            possible |= UNREADABLE_BODY
        if self.scope == "write":
            possible |= EVERY_WRITE
        if self.is_paged:
            possible |= {InvalidCursor}
        return tuple(error for error in all_errors() if error in possible)

    @property
    def idempotent(self) -> bool:
        """Whether repeating it changes nothing more, also without a key."""
        return self.scope == "read" or self.method in REPLACING

    @property
    def is_paged(self) -> bool:
        """Whether it returns one page of a list."""
        return issubclass(self.result, Page)

    @property
    def item(self) -> type[BaseModel]:
        """The shape of ``data``, or of its items where it returns a list."""
        if issubclass(self.result, Page | Listing):
            shape: type[BaseModel] = self.result.__pydantic_generic_metadata__["args"][0]
            return shape
        return self.result


AnyOperation = Operation[Any, Any, Any]


class OperationDecorator(Protocol):
    """Turns the function that performs an operation into its declaration."""

    def __call__(self, perform: Callable[[OperationContext[C], P], Awaitable[R]], /) -> Operation[C, P, R]:
        """The declaration of *perform*, read from its name, annotations and docstring."""


def reads(route: str, *, errors: Errors = ()) -> OperationDecorator:
    """Declare an operation that changes nothing, whatever its method; *route* is ``METHOD /path/{parameter}``."""
    return _declare(route, "read", errors)


def writes(
    route: str, *, errors: Errors = (), overwrites: bool = False, targets: Iterable[str] = ()
) -> OperationDecorator:
    """Declare an operation that changes something, in steps (``Call.step``).

    One whose method replaces overwrites; another one may say that it does.
    *targets* are parameters of the body that name the object it acts on.
    """
    return _declare(route, "write", errors, overwrites=overwrites, targets=targets)


def _declare(
    route: str, scope: Scope, errors: Errors, *, overwrites: bool = False, targets: Iterable[str] = ()
) -> OperationDecorator:
    method, _, path = route.partition(" ")

    def declare(perform: Callable[[OperationContext[C], P], Awaitable[R]], /) -> Operation[C, P, R]:
        # Evaluated, since a module may have its annotations as text.
        hints = get_type_hints(perform)
        if unknown := set(targets) - set(hints["params"].model_fields):
            raise TypeError(f"{perform.__name__} has no parameters {sorted(unknown)} that could name its target.")
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
            overwrites=overwrites or method in REPLACING,
            targets=frozenset(targets),
        )

    return declare


Examples = Mapping[str, Any]
"""What a stand-in says of the objects that it was filled with, such as the identifier of a page."""


@dataclass(frozen=True)
class SampleCall:
    """A call that shows what a connector is good for, to be made against its stand-in."""

    title: str
    operation: AnyOperation
    arguments: Callable[[Examples], Mapping[str, Any]]
    """The parameters of the call, from the stand-in's examples."""


@dataclass(frozen=True)
class Connector(Generic[C]):
    """One room: where its third party is, how it is spoken to and paced, and what can be done through it."""

    name: str
    summary: str
    addresses: Mapping[str, str]
    """The third party's addresses; ``base`` first, others by the host's name."""

    budgets: Mapping[str, Budget]
    """What the third party allows, by the name that charges use; the first may be set by the operator."""

    client: Callable[[UpstreamClient], C]
    operations: tuple[Operation[C, Any, Any], ...]
    auth_headers: Callable[[Mapping[str, str]], Mapping[str, str]] = bearer_header
    """The headers that prove the authorisation, from a connection's credentials."""

    parse_throttle: Callable[[UpstreamResponse], float | ThrottleDelay | None] = parse_throttle
    """Seconds to wait if an answer means "too many requests", or which budgets are to rest; otherwise None."""

    error_table: ErrorTable = NO_ERRORS
    """The meaning of the vendor's errors, and which of them prove that a write was not carried out."""

    max_concurrent_requests: int | None = None
    """How many requests of one account all processes may have under way, where the third party refuses more."""

    settle_seconds: float = 60.0
    """How long after its sending a request may still be carried out upstream; the operator may set it."""

    credentials: tuple[str, ...] = ("token",)
    """The names of what a connection must hold to be let in."""

    download: Callable[[C, Position], AbstractAsyncContextManager[Download]] | None = None
    """Opens the file behind a download address that one of its operations issued."""

    settings: type[Params] = field(default=Params)
    """What can be set on a connection."""

    observing: EventSource[C] | None = None
    """How changes are observed, where they are."""

    oauth: OAuthConfig | None = None
    """How accounts are connected in a browser, where they can be."""

    identify: Callable[[C], Awaitable[Account]] | None = None
    """Asks the third party whose the credentials are."""

    revoke: Callable[[C], Awaitable[bool]] | None = None
    """Gives a token back that the token page handed out, where there is one; whether the third party took it."""

    sample: SampleCall | None = None
    """The call that ``dev`` shows first."""

    examples: Callable[[Examples], Examples] = dict
    """The stand-in's examples by the names that callers of the gateway use."""

    @property
    def vendor(self) -> str:
        """The name of the third-party application, such as ``Notion``."""
        return self.oauth.application if self.oauth else self.name


AnyConnector = Connector[Any]


def operation_names(connectors: Iterable[AnyConnector]) -> Sequence[str]:
    """The names of all operations, each with its connector's before it, such as ``notes_create_page``."""
    return [f"{connector.name}_{operation.name}" for connector in connectors for operation in connector.operations]
