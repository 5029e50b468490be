"""A method of the API, and an authorised request with typed parameters."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from workspace_sandbox.kit.routes import Route
from workspace_sandbox.mail import body_schemas
from workspace_sandbox.mail.access import AUTH, FULL
from workspace_sandbox.mail.api.attachment_ids import Attachments
from workspace_sandbox.mail.api.message_json import Resources
from workspace_sandbox.mail.body_schemas import BOOL, STRING, UINT32, UINT64, Kind, Mask, Shape
from workspace_sandbox.mail.data.mail_delivery import MailTransport
from workspace_sandbox.mail.data.state import Mailbox
from workspace_sandbox.mail.error_responses import invalid_value, unknown_parameter
from workspace_sandbox.mail.rate_limits import RateLimiter

METADATA = f"{AUTH}gmail.metadata"
STANDARD = frozenset(
    {
        "$.xgafv",
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "uploadType",
        "upload_id",
        "upload_protocol",
    }
)
"""Parameters that every method accepts."""

ResponseBody = dict[str, Any] | None
Operation: TypeAlias = "Callable[[MailServices, ApiRequest], ResponseBody]"
Query = dict[str, Any]
"""Typed parameters by name. A repeated one is a list."""


@dataclass(frozen=True)
class MailServices:
    """The services that the methods work with."""

    transport: MailTransport
    resources: Resources
    attachments: Attachments
    quotas: RateLimiter


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Operation]):
    """One method of the API."""

    id: str
    rpc: str
    """The vendor's internal name of the method."""
    units: int
    scopes: frozenset[str]
    response_shape: Shape
    body: Shape | None = None
    params: Mapping[str, Kind] = field(default_factory=dict)
    uploads: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the path of a request."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))

    def parse_query(self, pairs: Iterable[tuple[str, str]]) -> Query:
        """Return the typed parameters of a request. Unknown parameters are rejected."""
        query: Query = {}
        for name, value in pairs:
            kind = self.params.get(name)
            # Google rejects unknown parameters instead of ignoring them, so a misspelt one cannot go unnoticed.
            if kind is None and name not in STANDARD:
                raise unknown_parameter(name)
            if isinstance(kind, list):
                query.setdefault(name, []).append(_parse_value(name, value, kind[0]))
            else:
                query[name] = _parse_value(name, value, kind or STRING)
        return query


PREFIX = "/gmail/v1/users/{userId}"


def define_method(
    facts: str, handler: Operation, scopes: frozenset[str], response_shape: Shape, **more: Any
) -> ApiRoute:
    """Return the method described by *facts*: its id, verb, path below the user, internal name and price in units."""
    name, verb, path, rpc, units = facts.split()
    options = {"scopes": scopes, "response_shape": response_shape, **more}
    return ApiRoute(method=verb, path=PREFIX + path, handler=handler, id=name, rpc=rpc, units=int(units), **options)


def gmail_scopes(*names: str) -> frozenset[str]:
    """Return the full scope and the named ones."""
    return frozenset({FULL, *(f"{AUTH}gmail.{name}" for name in names)})


def _parse_value(name: str, value: str, kind: Kind) -> str | int | bool:
    snake = re.sub(r"([A-Z])", lambda capital: f"_{capital[1].lower()}", name)
    if kind == BOOL:
        if value.lower() not in BOOLEANS:
            raise invalid_value(snake, BOOL, f'"{value}"')
        return BOOLEANS[value.lower()]
    if kind in {UINT32, UINT64}:
        limit = 1 << (32 if kind == UINT32 else 64)
        if not (value.isascii() and value.isdigit() and int(value[:21]) < limit):
            raise invalid_value(snake, str(kind), f'"{value}"')
        return int(value)
    if isinstance(kind, tuple) and value.lower() not in {choice.lower() for choice in kind}:
        raise invalid_value(snake, "enum", f'"{value}"')
    # The reference spells formats in capitals in one place and in lower case in another.
    return value.lower() if kind is body_schemas.FORMATS else value


BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": True}


@dataclass(frozen=True)
class ApiRequest:
    """An authorised request with typed parameters."""

    method: ApiRoute
    mailbox: Mailbox
    scopes: frozenset[str]
    ids: Mapping[str, str]
    query: Query
    knobs: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    media: bytes | None = None
    mask: Mask | None = None

    @property
    def metadata_only(self) -> bool:
        """Whether only the metadata scope authorises the request."""
        # The metadata scope covers the same methods with fewer formats, so having it is not enough to decide.
        return METADATA in self.method.scopes and not self.scopes & (self.method.scopes - {METADATA})
