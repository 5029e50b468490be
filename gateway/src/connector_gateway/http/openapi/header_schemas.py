"""Response headers: one component for each, and the names that each kind of response carries."""

from collections.abc import Iterable

from connector_gateway.http.openapi.schemas import Schema

EVERY_RESPONSE = (
    "X-Run-Id",
    "X-Request-Id",
    "X-Service-RateLimit-Remaining",
    "X-Service-Counting",
    "RateLimit",
    "RateLimit-Policy",
    "Server-Timing",
    "Cache-Control",
)
RETRIED_STATUSES = frozenset({409, 429, 502, 503, 504})
"""Statuses of errors that may include ``retry_after``."""


def success_headers(*, operation: bool, writes: bool, keyed: bool = True) -> Schema:
    """Return references to the headers of a successful response."""
    names = [*EVERY_RESPONSE]
    names += ["Warning"] if operation else []
    names += ["Idempotent-Replayed"] if writes and keyed else []
    names += ["Preference-Applied"] if writes else []
    return _references(names)


def error_headers(status: int) -> Schema:
    """Return references to the headers of an error response."""
    names = [*EVERY_RESPONSE, "Preference-Applied"]
    names += ["WWW-Authenticate"] if status == 401 else []
    names += ["Retry-After"] if status in RETRIED_STATUSES else []
    return _references(names)


def header_components() -> Schema:
    """Return every header by its name."""
    return {
        "X-Run-Id": _header("The run identifier, as in the body.", required=True),
        "X-Request-Id": _header("The request's own `X-Request-Id`, if it has at most 200 characters."),
        "X-Service-RateLimit-Remaining": _header(
            "The calls that the key has left in the rolling minute; 0 without a valid key.",
            {"type": "integer", "minimum": 0},
            required=True,
        ),
        "X-Service-Counting": _header(
            "`local-share` while the shared store is unavailable and each process counts its share.",
            {"type": "string", "const": "local-share"},
        ),
        "RateLimit": _header("The key's remaining calls, as the IETF draft defines the field."),
        "RateLimit-Policy": _header("The key's limit, as the IETF draft defines the field."),
        "Server-Timing": _header("Milliseconds spent queueing, upstream, and in the gateway itself.", required=True),
        "Cache-Control": _header("Always `no-store`.", {"type": "string", "const": "no-store"}, required=True),
        "Warning": _header("A sentence that callers should read although the call succeeded."),
        "Idempotent-Replayed": _header(
            "`true` if this is the result of an earlier call with the same key.", {"type": "string", "const": "true"}
        ),
        "Preference-Applied": _header(
            "`dry-run` if the request preferred a dry run: nothing was written. "
            "`mentions=neutralise` if it preferred that: no mentioned person was notified."
        ),
        "WWW-Authenticate": _header("`Bearer`.", required=True),
        "Retry-After": _header(
            "Seconds to wait before a retry, as `retry_after` in the body.", {"type": "integer", "minimum": 1}
        ),
    }


def _references(names: Iterable[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(description: str, schema: Schema | None = None, *, required: bool = False) -> Schema:
    return {"description": description, "required": required, "schema": schema or {"type": "string"}}
