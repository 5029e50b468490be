"""One call as it is sent, what its answer means, and whether it is worth another attempt; nothing is sent here."""

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
from connector_gateway_client.answers import Response
from connector_gateway_client.refusals import (
    CallerError,
    ConnectionFailed,
    GatewayError,
    InvalidResponse,
    ServiceFailure,
    UpstreamFailure,
)

BY_CODE: Mapping[str, type[GatewayError]] = {
    error.code: error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, GatewayError) and error.code
}
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
LASTING = frozenset({"outcome_unknown", "secret_unreadable", "upstream_unexpected"})
"""Codes of failures that another attempt does not end, unless the service says when."""

UNFIT = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
"""What an idempotency key cannot hold: control characters and halves of surrogate pairs."""

WARNING = re.compile(r'199 - "([^"]*)"')


@dataclass(frozen=True)
class RequestSpec:
    """One call of an operation."""

    method: str
    path: str
    values: Mapping[str, Any]
    writes: bool = False
    key: str | None = None
    """The idempotency key; one is made for a write that has none, so that it can be sent again."""

    dry_run: bool = False
    made_key: str = field(default_factory=lambda: str(uuid4()))

    @staticmethod
    def segment(value: str) -> str:
        """*value* as one segment of a path; dots are escaped too, since ``..`` would lead to another address."""
        return quote(value, safe="").replace(".", "%2E")

    def at(self, cursor: str | None, **values: Any) -> "RequestSpec":
        """The same for another page, with other *values*."""
        return replace(self, values={**self.values, "cursor": cursor, **values})

    @property
    def sent_key(self) -> str | None:
        """The idempotency key of every attempt; None for a read."""
        return (self.made_key if self.key is None else self.key) if self.writes else None

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers of every attempt, which are the same."""
        headers = {} if self.sent_key is None else {b"Idempotency-Key": _key_header(self.sent_key)}
        return headers | ({b"Prefer": b"dry-run"} if self.dry_run else {})

    @property
    def query(self) -> dict[str, str]:
        """The parameters that travel in the query."""
        return {name: _text(value) for name, value in self._given.items()} if self.method == "GET" else {}

    @property
    def body(self) -> bytes | None:
        """The parameters that travel in the body."""
        return None if self.method == "GET" else json.dumps(self._given, default=_plain).encode()

    @property
    def _given(self) -> dict[str, Any]:
        return {name: value for name, value in self.values.items() if value is not None}


def parse_response(status: int, headers: Mapping[str, str], body: bytes, *, dry_run: bool) -> Response[Any]:
    """What an answer tells; raises the exception of its code."""
    try:
        told = json.loads(body)
        run_id, error = told["run_id"], told.get("error")
        if error is not None:
            raise _refusal(status, run_id, error, told.get("retry_after"))
        data = told["data"]
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise InvalidResponse(f"What came with status {status} is no answer of the service.", status=status) from fault
    if dry_run and headers.get("preference-applied") != "dry-run":
        raise InvalidResponse("The service did not take this for a dry run; it may have written.", status=status)
    warnings = WARNING.findall(headers.get("warning", ""))
    replayed = headers.get("idempotent-replayed") == "true"
    partial = told.get("status") == "partial"
    return Response(data, run_id, partial, replayed, warnings, told.get("next_cursor"), is_dry_run=dry_run)


def _refusal(status: int, run_id: str | None, error: Mapping[str, Any], retry_after: float | None) -> GatewayError:
    code = error["code"]
    return BY_CODE.get(code, _family(status))(
        error["message"],
        status=status,
        told_code=code,
        remedy=error.get("remedy", ""),
        details=error.get("details", ()),
        run_id=run_id,
        retry_after=None if retry_after is None else _seconds(retry_after),
    )


def _seconds(told: Any) -> float:
    """A time to wait; ``ValueError`` where it is none."""
    seconds = float(told)
    if not 0 <= seconds < math.inf:
        raise ValueError(told)
    return seconds


def _family(status: int) -> type[GatewayError]:
    """The family of a code that a later release of the service has."""
    if status < 500:
        return CallerError
    return UpstreamFailure if status in {502, 504} else ServiceFailure


def retry_delay(attempt: int, error: GatewayError) -> float | None:
    """Seconds to wait before attempt number *attempt* + 1; None where it would end in the same way.

    Every attempt of a write bears the same key, so none can be done twice. That holds for ``outcome_unknown`` too: the
    service looks first for what the earlier attempt has done.
    """
    if error.retry_after is not None:
        return max(error.retry_after, FIRST_PAUSE_SECONDS)
    if not _may_pass(error):
        return None
    pause: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
    return pause * (0.5 + random())  # noqa: S311  # jitter, so that callers do not come back together


def _may_pass(error: GatewayError) -> bool:
    """Return True if another attempt can succeed, although the service does not say when."""
    if isinstance(error, InvalidResponse):
        return error.status is not None and error.status >= 500
    return isinstance(error, ConnectionFailed) or (error.status in {502, 503, 504} and error.told_code not in LASTING)


def _key_header(key: str) -> bytes:
    """Return the header that carries *key*; ``ValueError`` where no header can."""
    unfit = UNFIT.search(key)
    if unfit is not None:
        raise ValueError(
            f"An idempotency key travels in a header, which cannot carry {unfit[0]!r} (at {unfit.start()}): "
            "use a key without control characters and halves of surrogate pairs."
        )
    key = key.strip(" \t")
    # What begins like a Display String (RFC 9651) is sent as one, so that it is not taken for another key.
    return f'%"{quote(key)}"'.encode() if key.startswith('%"') else key.encode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(_text, value)) if isinstance(value, list | tuple) else str(_plain(value))


def _plain(value: Any) -> Any:
    """What JSON has for a value that it does not know: numbers stay exact as text, instants are ISO 8601."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
