"""Encoding of requests, decoding of responses, and retry delays, without I/O."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import random
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from connector_gateway_client import errors
from connector_gateway_client.base_errors import (
    CallerError,
    ConnectionFailed,
    GatewayError,
    InvalidResponse,
    ServiceFailure,
    UpstreamFailure,
)
from connector_gateway_client.responses import Response

BY_CODE: Mapping[str, type[GatewayError]] = {
    error.code: error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, GatewayError) and error.code
}
MIN_DELAY_SECONDS = 0.5
MAX_DELAY_SECONDS = 30.0
PERMANENT_CODES = frozenset({"outcome_unknown", "secret_unreadable", "upstream_unexpected"})
"""Codes of errors that are not retried, unless the service sends ``retry_after``."""

INVALID_KEY_CHARACTERS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that are invalid in an idempotency key: control characters and lone surrogates."""

WARNING = re.compile(r'199 - "([^"]*)"')


@dataclass(frozen=True)
class RequestSpec:
    """A call of an operation, ready to be sent."""

    method: str
    path: str
    values: Mapping[str, Any]
    writes: bool = False
    key: str | None = None
    """The idempotency key. A write without one gets a generated key, so that it can be retried."""

    once: bool = False
    """Whether it is sent again only if it was certainly not performed, because no key makes a retry safe."""

    dry_run: bool = False
    generated_key: str = field(default_factory=lambda: str(uuid4()))

    @staticmethod
    def segment(value: str) -> str:
        """Return *value* as one path segment. Dots are escaped too, since ``..`` would change the path."""
        return quote(value, safe="").replace(".", "%2E")

    def with_cursor(self, cursor: str | None, **values: Any) -> "RequestSpec":
        """Return this request for another page, with *values* replaced."""
        return replace(self, values={**self.values, "cursor": cursor, **values})

    def may_retry(self, error: GatewayError) -> bool:
        """Return True if the call can be sent again after *error*. Rate limits reject a call before it is performed."""
        return not self.once or error.status == 429

    @property
    def effective_key(self) -> str | None:
        """The idempotency key of every attempt. None for a read."""
        return (self.generated_key if self.key is None else self.key) if self.writes else None

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers of every attempt."""
        headers = {} if self.effective_key is None else {b"Idempotency-Key": _key_header(self.effective_key)}
        return headers | ({b"Prefer": b"dry-run"} if self.dry_run else {})

    @property
    def query(self) -> dict[str, str]:
        """The query parameters."""
        return {name: _text(value) for name, value in self._present_values.items()} if self.method == "GET" else {}

    @property
    def body(self) -> bytes | None:
        """The JSON body. None for GET requests."""
        return None if self.method == "GET" else json.dumps(self._present_values, default=_plain).encode()

    @property
    def _present_values(self) -> dict[str, Any]:
        return {name: value for name, value in self.values.items() if value is not None}


def parse_response(status: int, headers: Mapping[str, str], body: bytes, *, dry_run: bool) -> Response[Any]:
    """Return the decoded response. Raises the exception for its error code."""
    try:
        envelope = json.loads(body)
        run_id, error = envelope["run_id"], envelope.get("error")
        if error is not None:
            raise _parse_error(status, run_id, error, envelope.get("retry_after"))
        data = envelope["data"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidResponse(f"The response with status {status} is not a gateway response.", status=status) from error
    if dry_run and headers.get("preference-applied") != "dry-run":
        raise InvalidResponse("The service did not take this for a dry run; it may have written.", status=status)
    warnings = WARNING.findall(headers.get("warning", ""))
    replayed = headers.get("idempotent-replayed") == "true"
    partial = envelope.get("status") == "partial"
    return Response(data, run_id, partial, replayed, warnings, envelope.get("next_cursor"), is_dry_run=dry_run)


def _parse_error(status: int, run_id: str | None, error: Mapping[str, Any], retry_after: float | None) -> GatewayError:
    code = error["code"]
    return BY_CODE.get(code, _family(status))(
        error["message"],
        status=status,
        service_code=code,
        remedy=error.get("remedy", ""),
        details=error.get("details", ()),
        run_id=run_id,
        retry_after=None if retry_after is None else _seconds(retry_after),
    )


def _seconds(value: Any) -> float:
    """Return *value* as seconds. Raises ``ValueError`` if it is not a valid duration."""
    seconds = float(value)
    if not 0 <= seconds < math.inf:
        raise ValueError(value)
    return seconds


def _family(status: int) -> type[GatewayError]:
    """Return the base class for a code that this release does not know."""
    if status < 500:
        return CallerError
    return UpstreamFailure if status in {502, 504} else ServiceFailure


def retry_delay(attempt: int, error: GatewayError) -> float | None:
    """Return the seconds to wait after *attempt*, or None if a retry cannot succeed.

    Every attempt of a write has the same idempotency key, so it is performed at most once. This includes
    ``outcome_unknown``, after which the service first searches for the result of the earlier attempt.
    """
    if error.retry_after is not None:
        return max(error.retry_after, MIN_DELAY_SECONDS)
    if not _is_transient(error):
        return None
    delay: float = min(MAX_DELAY_SECONDS, MIN_DELAY_SECONDS * 2 ** (attempt - 1))
    return delay * (0.5 + random())  # noqa: S311  # jitter, so that clients do not retry simultaneously


def _is_transient(error: GatewayError) -> bool:
    """Return True if a retry can succeed, although the service sent no ``retry_after``."""
    if isinstance(error, InvalidResponse):
        return error.status is not None and error.status >= 500
    return isinstance(error, ConnectionFailed) or (
        error.status in {502, 503, 504} and error.service_code not in PERMANENT_CODES
    )


def _key_header(key: str) -> bytes:
    """Return *key* as a header value. Raises ``ValueError`` if it contains invalid characters."""
    invalid = INVALID_KEY_CHARACTERS.search(key)
    if invalid is not None:
        raise ValueError(
            f"An idempotency key travels in a header, which cannot carry {invalid[0]!r} (at {invalid.start()}): "
            "use a key without control characters and halves of surrogate pairs."
        )
    key = key.strip(" \t")
    # A key that looks like a Display String (RFC 9651) is encoded as one, so that it is not decoded to another key.
    return f'%"{quote(key)}"'.encode() if key.startswith('%"') else key.encode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(_text, value)) if isinstance(value, list | tuple) else str(_plain(value))


def _plain(value: Any) -> Any:
    """Return a value without a JSON type as text: decimal numbers stay exact, and times are ISO 8601."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
