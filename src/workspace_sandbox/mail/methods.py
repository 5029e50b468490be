"""What a method of the API is, and a request for one that was let in, read and typed."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from workspace_sandbox.kit.routes import Route
from workspace_sandbox.mail import schema
from workspace_sandbox.mail.access import AUTH, FULL
from workspace_sandbox.mail.attachments import Attachments
from workspace_sandbox.mail.office import MailTransport
from workspace_sandbox.mail.refusals import invalid_value, unknown_parameter
from workspace_sandbox.mail.resources import Resources
from workspace_sandbox.mail.schema import BOOL, STRING, UINT32, UINT64, Kind, Mask, Shape
from workspace_sandbox.mail.state import Mailbox
from workspace_sandbox.mail.throttle import QuotaCounter

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
"""Parameters that every method takes."""

Answer = dict[str, Any] | None
Operation: TypeAlias = "Callable[[MailServices, Ask], Answer]"
Query = dict[str, Any]
"""Parameters by name, in their own types; a repeated one is a list."""


@dataclass(frozen=True)
class MailServices:
    """Where the methods are served: the mail itself and everything that counts or shows it."""

    office: MailTransport
    resources: Resources
    attachments: Attachments
    ledger: QuotaCounter


@dataclass(frozen=True, kw_only=True)
class Method(Route[Operation]):
    """One method of the API."""

    id: str
    rpc: str
    """What the vendor calls it on its own side."""
    units: int
    scopes: frozenset[str]
    answer: Shape
    body: Shape | None = None
    params: Mapping[str, Kind] = field(default_factory=dict)
    uploads: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the path of a request looks like."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))

    def read(self, given: Iterable[tuple[str, str]]) -> Query:
        """The parameters of a request in their own types; an unknown one is refused."""
        query: Query = {}
        for name, value in given:
            kind = self.params.get(name)
            # Google refuses unknown parameters instead of passing them over, so a misspelt one cannot go unnoticed.
            if kind is None and name not in STANDARD:
                raise unknown_parameter(name)
            if isinstance(kind, list):
                query.setdefault(name, []).append(_typed(name, value, kind[0]))
            else:
                query[name] = _typed(name, value, kind or STRING)
        return query


PREFIX = "/gmail/v1/users/{userId}"


def method(facts: str, handler: Operation, scopes: frozenset[str], answer: Shape, **more: Any) -> Method:
    """Return the method of these *facts*: its id, verb, path below the user, name on the vendor's side and price."""
    name, verb, path, rpc, units = facts.split()
    about = {"scopes": scopes, "answer": answer, **more}
    return Method(method=verb, path=PREFIX + path, handler=handler, id=name, rpc=rpc, units=int(units), **about)


def scopes_of(*names: str) -> frozenset[str]:
    """The scope that opens everything, and those of these *names*."""
    return frozenset({FULL, *(f"{AUTH}gmail.{name}" for name in names)})


def _typed(name: str, value: str, kind: Kind) -> str | int | bool:
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
    # The reference writes formats in capitals in one place, and in small letters in another.
    return value.lower() if kind is schema.FORMATS else value


BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": True}


@dataclass(frozen=True)
class Ask:
    """A request that was let in, read and typed."""

    method: Method
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
        """Whether nothing but the metadata scope lets it in."""
        # The metadata scope opens the same methods with fewer forms, so the scope alone does not decide.
        return METADATA in self.method.scopes and not self.scopes & (self.method.scopes - {METADATA})
