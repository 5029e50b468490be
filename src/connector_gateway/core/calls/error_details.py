"""Details of refusals: what is wrong with each value of a request, and how much of it is told."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from connector_gateway.kit.errors import Detail, GatewayError
from connector_gateway.kit.errors.suggestions import MEANT, did_you_mean
from connector_gateway.kit.shapes import NO_INSTANT, format_timestamp

MAX_FAULTS = 20
"""Faults that one answer lists; of the others it says how many they are."""

MAX_TEXT = 200
"""Characters of a text or a path in details."""

MAX_DETAIL = 2_000
"""Bytes of JSON after which no more is told of one value: twenty details, each with its last text, fit into 64 KiB."""

MAX_NESTING = 20

KEPT = {"parameter", "property", "field", "index", "place", "vendor_code", "done"}
"""Details that are names, places or codes, and stay in the history."""

INTEGER_BITS = 1024
"""Bits of an integer that is told as a number, as many as those a double holds; a longer one is told as text."""

NUMBER_BYTES = 20
"""What most numbers need at the most."""

DONE = "done"
"""What details have that tell of a step that stands, rather than of a fault."""

UNKNOWN = "Unknown parameter"
"""What is said of a parameter that does not exist."""

_WORDS = {
    "extra_forbidden": UNKNOWN,
    "dict_type": "Input should be a valid object",
    "datetime_type": NO_INSTANT,
}
"""What is said instead of sentences that only those understand who know Python."""

_LIMITS = {"too_short": ("min", "at least"), "too_long": ("max", "at most")}
"""Kinds of faults where a list or an object has too few or too many items: the limit, and its words."""

_UNSENT = {"missing", "extra_forbidden"}
"""Kinds of faults where nothing was sent for the parameter, or there is none; neither has a value worth repeating."""

_NO_UNICODE = "string_unicode"
"""Half of a surrogate pair, which is found in every text before shapes are."""

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


# What is wrong


def validation_details(fault: ValidationError, *prefix: str) -> list[Detail]:
    """The faults of a pydantic validation: paths, messages, values as sent, and what is allowed where that is few."""
    errors = fault.errors(include_url=False)
    return [_fault(error, prefix) for error in errors if error["type"] != _NO_UNICODE]


def listing(faults: Iterable[Detail], known: Sequence[str], *prefix: str) -> list[Detail]:
    """*faults*, of which those that tell of an unknown parameter right below *prefix* list those that are *known*."""
    depth = len(prefix)
    return [
        {**fault, "allowed": known}
        if fault["message"] == UNKNOWN and str(fault["parameter"]).count(".") == depth
        else fault
        for fault in faults
    ]


def _fault(error: Any, prefix: Sequence[str]) -> Detail:
    detail: dict[str, Any] = {"parameter": _path(prefix, error), "message": _message(error)}
    if error["type"] == "literal_error":
        detail["allowed"] = _QUOTED.findall(error["ctx"]["expected"])
    # Of an object at fault as a whole the value would be the whole request.
    return detail if error["type"] in _UNSENT or not error["loc"] else detail | {"value": error["input"]}


def _path(prefix: Sequence[str], error: Any) -> str:
    """Where a fault is; one of the whole names the parameter in its context."""
    parts = (truncate(step) if isinstance(step, str) else str(step) for step in error["loc"])
    return ".".join([*prefix, *parts]) or error.get("ctx", {}).get("parameter", "body")


def _message(error: Any) -> str:
    limit = _LIMITS.get(error["type"])
    if limit is not None:
        bound, count = error["ctx"][f"{limit[0]}_length"], error["ctx"]["actual_length"]
        return f"Should have {limit[1]} {bound} {'item' if bound == 1 else 'items'}, not {count}"
    return _WORDS.get(error["type"]) or str(error["msg"])


def without_values(faults: Iterable[Detail], parameters: Iterable[str]) -> list[Detail]:
    """*faults* without the values of *parameters*, which are secrets."""
    secret = set(parameters)
    return [
        {name: value for name, value in fault.items() if name != "value"}
        if str(fault["parameter"]).partition(".")[0] in secret
        else fault
        for fault in faults
    ]


# How much is told


def truncate_details(details: Sequence[Detail]) -> list[Detail]:
    """What is told of *details*: so many faults, each cut, the steps that stand, and how many faults more there are."""
    # Steps that stand are told however many faults there are: who repeats the call has to know them.
    faults = [detail for detail in details if DONE not in detail]
    steps = [detail for detail in details if DONE in detail]
    told = [_suggesting(_Cut(MAX_DETAIL).detail(detail), detail) for detail in chain(faults[:MAX_FAULTS], steps)]
    more = len(faults) - MAX_FAULTS
    return told if more <= 0 else [*told, {"message": f"There are {more} more faults.", "more": more}]


PLACES = {"parameter", "property", "field", "header", "place"}
"""Names under which a detail says where in the request its fault is."""


def details_of(error: GatewayError) -> list[Detail]:
    """Return the details of *error* as callers see them: in a 4xx every fault has its code and its place."""
    details = truncate_details(error.details)
    if error.status >= 500:
        return details
    placed = [detail if DONE in detail else _placed(detail, error) for detail in details]
    # Steps that stand are no faults, so they have neither.
    return placed if any(DONE not in detail for detail in details) else [*placed, _placed({}, error)]


def _placed(detail: Detail, error: GatewayError) -> Detail:
    place = {} if detail.keys() & PLACES else error.default_place()
    return {"code": error.code, **place, **detail}


def _suggesting(told: Detail, detail: Detail) -> Detail:
    """*told* of *detail*, with the name that was probably meant, where one is."""
    name = did_you_mean(detail)
    known = {key: value for key, value in told.items() if key != MEANT}
    return known if name is None else {**known, MEANT: truncate(name)}


def loggable_details(details: Sequence[Detail]) -> list[Detail]:
    """What may be kept of *details*: which names and places they are about, and codes; no value and no text."""
    kept = [
        {
            name: truncate(value) if isinstance(value, str) else value
            for name, value in detail.items()
            if name in KEPT and isinstance(value, str | int)
        }
        for detail in details[:MAX_FAULTS]
    ]
    return [detail for detail in kept if detail]


def truncate(text: str) -> str:
    """*text*, or its beginning where it is long; halves of surrogate pairs, which no answer can carry, as ``?``."""
    if len(text) <= MAX_TEXT and text.isascii():
        return text
    whole = text[: MAX_TEXT + 1].encode("utf-8", "replace").decode()
    return whole if len(whole) <= MAX_TEXT else whole[: MAX_TEXT - 1] + "…"


class _Cut:
    """Copies JSON values until so many bytes of JSON are used up; what comes after that is left out."""

    def __init__(self, size_bytes: int) -> None:
        self._left = size_bytes

    def detail(self, detail: Detail) -> Detail:
        return {name: self.value(value, MAX_NESTING) for name, value in detail.items()}

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._spent(truncate(value))
        if isinstance(value, datetime):
            return format_timestamp(value)
        if isinstance(value, int | Decimal):
            return self._number(value)
        if isinstance(value, Mapping):
            items = self._within(value.items(), depth)
            return {self._spent(truncate(str(name))): self.value(item, depth - 1) for name, item in items}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth - 1) for item in self._within(value, depth)]
        return value

    def _number(self, value: Decimal | int) -> float | str:
        """*value* as a number of JSON; one beyond a double as text."""
        self._left -= NUMBER_BYTES
        if isinstance(value, int) and value.bit_length() <= INTEGER_BITS:
            self._left -= value.bit_length() // 3
            return value
        number = math.inf if isinstance(value, int) else float(value)
        return number if math.isfinite(number) else self._spent(truncate(str(value)))

    def _spent(self, text: str) -> str:
        self._left -= len(to_json(text))
        return text

    def _within(self, items: Iterable[Any], depth: int) -> Iterator[Any]:
        """*items* as long as there is room for them."""
        for item in items:
            # Brackets, quotes and commas count as well, or a list of empty texts would have no end.
            self._left -= 4
            if self._left < 0 or depth <= 0:
                return
            yield item
