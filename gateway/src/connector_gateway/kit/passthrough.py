"""The rules of a vendor's API for requests that callers write themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.kit.upstream.budget import Charge

SAFE_METHODS = frozenset({"GET", "HEAD"})
"""Methods that change nothing (RFC 9110, section 9.2.1)."""


@dataclass(frozen=True, slots=True)
class CustomRequest:
    """A request that a caller has written, to the vendor's base URL."""

    method: str
    path: str
    """The path, decoded."""

    query: Sequence[tuple[str, str]]
    body_fields: Mapping[str, Any]
    """The fields of a JSON object or a form."""

    def parameter(self, name: str) -> Any:
        """Return the value of *name* in the query or the body, or None."""
        return dict(self.query).get(name) or self.body_fields.get(name)


def has_safe_method(request: CustomRequest) -> bool:
    """Return True if the method of *request* changes nothing."""
    return request.method in SAFE_METHODS


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The vendor's rules for charges, credentials and changes. The defaults suit an API that follows HTTP."""

    charges: Callable[[CustomRequest], Sequence[Charge]] | None = None
    """Returns the charges of a request. By default, it is charged to every budget of the connector."""

    is_read: Callable[[CustomRequest], bool] = has_safe_method
    """Returns True if a request changes nothing. Keys with read scope may send only such requests."""

    credential_parameters: frozenset[str] = frozenset()
    """Names in the query or the body by which the vendor accepts other credentials than those in the headers."""


PLAIN_HTTP = Passthrough()
"""The rules of an API that follows HTTP."""
