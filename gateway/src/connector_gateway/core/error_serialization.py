"""Details of errors: the violations of a request, truncated for responses and logs."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from connector_gateway.kit.errors import Detail, GatewayError, WorkspaceNotFound
from connector_gateway.kit.errors.suggestions import SUGGESTION_KEY, get_suggestion
from connector_gateway.kit.models import NO_INSTANT, format_timestamp

MAX_VIOLATIONS = 20
"""Maximum violations that one response lists. It only counts the others."""

MAX_TEXT = 200
"""Maximum characters of a text or a path in details."""

MAX_DETAIL = 2_000
"""Bytes of JSON after which a value is truncated. Twenty details, each with its last text, fit into 64 KiB."""

MAX_NESTING = 20

STORABLE_FIELDS = {"parameter", "property", "field", "index", "place", "vendor_code", "done"}
"""Fields of details that contain names, positions or codes, and are stored in the run history."""

INTEGER_BITS = 1024
"""Maximum bits of an integer that is returned as a number, as in a double. Longer integers become text."""

NUMBER_BYTES = 20
"""Bytes of JSON that most numbers do not exceed."""

DONE = "done"
"""The field that marks a detail as a completed step instead of a violation."""

UNKNOWN = "Unknown parameter"
"""The message for a parameter that does not exist."""

_WORDS = {
    "extra_forbidden": UNKNOWN,
    "dict_type": "Input should be a valid object",
    "datetime_type": NO_INSTANT,
}
"""Messages that replace those of pydantic if these mention Python types."""

_LIMITS = {"too_short": ("min", "at least"), "too_long": ("max", "at most")}
"""Violation types for too few or too many items: the limit, and its words."""

_UNSENT = {"missing", "extra_forbidden"}
"""Violation types for missing and for unknown parameters, which have no value to repeat."""

_NO_UNICODE = "string_unicode"
"""The violation type for a lone surrogate, which an earlier check of all texts reports."""

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


# Violations


def validation_details(error: ValidationError, *prefix: str) -> list[Detail]:
    """Return the violations of a pydantic error: paths, messages, raw values, and allowed values."""
    errors = error.errors(include_url=False)
    return [_violation(error, prefix) for error in errors if error["type"] != _NO_UNICODE]


def with_allowed_names(details: Iterable[Detail], names: Sequence[str], *prefix: str) -> list[Detail]:
    """Return *details*. Violations for unknown parameters directly below *prefix* list the allowed *names*."""
    depth = len(prefix)
    return [
        {**detail, "allowed": names}
        if detail["message"] == UNKNOWN and str(detail["parameter"]).count(".") == depth
        else detail
        for detail in details
    ]


def _violation(error: Any, prefix: Sequence[str]) -> Detail:
    detail: dict[str, Any] = {"parameter": _path(prefix, error), "message": _message(error)}
    if error["type"] == "literal_error":
        detail["allowed"] = _QUOTED.findall(error["ctx"]["expected"])
    # The value of a violation at the root would be the complete request.
    return detail if error["type"] in _UNSENT or not error["loc"] else detail | {"value": error["input"]}


def _path(prefix: Sequence[str], error: Any) -> str:
    """Return the path of a violation. A violation at the root names the parameter in its context."""
    parts = (truncate(step) if isinstance(step, str) else str(step) for step in error["loc"])
    return ".".join([*prefix, *parts]) or error.get("ctx", {}).get("parameter", "body")


def _message(error: Any) -> str:
    limit = _LIMITS.get(error["type"])
    if limit is not None:
        bound, count = error["ctx"][f"{limit[0]}_length"], error["ctx"]["actual_length"]
        return f"Should have {limit[1]} {bound} {'item' if bound == 1 else 'items'}, not {count}"
    return _WORDS.get(error["type"]) or str(error["msg"])


def without_values(details: Iterable[Detail], parameters: Iterable[str]) -> list[Detail]:
    """Return *details* without the values of *parameters*, which are secret."""
    secret = set(parameters)
    return [
        {name: value for name, value in detail.items() if name != "value"}
        if str(detail["parameter"]).partition(".")[0] in secret
        else detail
        for detail in details
    ]


# Truncation


def truncate_details(details: Sequence[Detail]) -> list[Detail]:
    """Return the first violations, truncated, all completed steps, and the number of omitted violations."""
    # All completed steps are included, because the caller needs them before a retry.
    violations = [detail for detail in details if DONE not in detail]
    steps = [detail for detail in details if DONE in detail]
    public = [
        _with_suggestion(_Truncation(MAX_DETAIL).detail(detail), detail)
        for detail in chain(violations[:MAX_VIOLATIONS], steps)
    ]
    omitted = len(violations) - MAX_VIOLATIONS
    return public if omitted <= 0 else [*public, {"message": f"There are {omitted} more errors.", "more": omitted}]


LOCATION_FIELDS = {"parameter", "property", "field", "header", "place"}
"""The fields of a detail that locate its violation in the request."""


def public_details(error: GatewayError) -> list[Detail]:
    """Return the public details of *error*. In a 4xx, every violation has its code and its location."""
    details = truncate_details(error.details)
    if error.status >= 500:
        return details
    located = [detail if DONE in detail else _with_location(detail, error) for detail in details]
    # Completed steps are not violations, so they have neither.
    return located if any(DONE not in detail for detail in details) else [*located, _with_location({}, error)]


def _with_location(detail: Detail, error: GatewayError) -> Detail:
    location = {} if detail.keys() & LOCATION_FIELDS else error.default_location()
    return {"code": error.code, **location, **detail}


def _with_suggestion(public: Detail, detail: Detail) -> Detail:
    """Return *public* with the name that *detail* probably meant, if there is one."""
    name = get_suggestion(detail)
    without_suggestion = {key: value for key, value in public.items() if key != SUGGESTION_KEY}
    return without_suggestion if name is None else {**without_suggestion, SUGGESTION_KEY: truncate(name)}


def loggable_details(details: Sequence[Detail]) -> list[Detail]:
    """Return the storable part of *details*: names, positions and codes, without values and texts."""
    storable = [
        {
            name: truncate(value) if isinstance(value, str) else value
            for name, value in detail.items()
            if name in STORABLE_FIELDS and isinstance(value, str | int)
        }
        for detail in details[:MAX_VIOLATIONS]
    ]
    return [detail for detail in storable if detail]


def truncate(text: str) -> str:
    """Truncate *text*. Lone surrogates, which a response cannot contain, become ``?``."""
    if len(text) <= MAX_TEXT and text.isascii():
        return text
    valid = text[: MAX_TEXT + 1].encode("utf-8", "replace").decode()
    return valid if len(valid) <= MAX_TEXT else valid[: MAX_TEXT - 1] + "…"


class _Truncation:
    """Copies JSON values up to a number of bytes, and omits the rest."""

    def __init__(self, size_bytes: int) -> None:
        self._remaining_bytes = size_bytes

    def detail(self, detail: Detail) -> Detail:
        return {name: self.value(value, MAX_NESTING) for name, value in detail.items()}

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._charge(truncate(value))
        if isinstance(value, datetime):
            return format_timestamp(value)
        if isinstance(value, int | Decimal):
            return self._number(value)
        if isinstance(value, Mapping):
            items = self._take_while_affordable(value.items(), depth)
            return {self._charge(truncate(str(name))): self.value(item, depth - 1) for name, item in items}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth - 1) for item in self._take_while_affordable(value, depth)]
        return value

    def _number(self, value: Decimal | int) -> float | str:
        """Return *value* as a JSON number, or as text if it is outside the range of a double."""
        self._remaining_bytes -= NUMBER_BYTES
        if isinstance(value, int) and value.bit_length() <= INTEGER_BITS:
            self._remaining_bytes -= value.bit_length() // 3
            return value
        number = math.inf if isinstance(value, int) else float(value)
        return number if math.isfinite(number) else self._charge(truncate(str(value)))

    def _charge(self, text: str) -> str:
        self._remaining_bytes -= len(to_json(text))
        return text

    def _take_while_affordable(self, items: Iterable[Any], depth: int) -> Iterator[Any]:
        """Yield *items* until the bytes are used up."""
        for item in items:
            # Count brackets, quotes and commas too. Otherwise a list of empty texts would be unlimited.
            self._remaining_bytes -= 4
            if self._remaining_bytes < 0 or depth <= 0:
                return
            yield item


def workspace_not_found(workspace_id: str) -> WorkspaceNotFound:
    """Return the error for a workspace that does not exist, or is not the caller's."""
    return WorkspaceNotFound(
        f"There is no workspace {truncate(workspace_id)}.", {"parameter": "workspace_id", "value": workspace_id}
    )
