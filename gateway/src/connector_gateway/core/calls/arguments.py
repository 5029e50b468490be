"""Parsing and validation of call arguments: text from URLs, typed values from JSON bodies."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Struct
from pydantic import ValidationError

from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.error_serialization import (
    truncate,
    validation_details,
    with_allowed_names,
    without_values,
)
from connector_gateway.kit.errors import Detail, GatewayError, InvalidJson, InvalidParameters, PayloadTooLarge
from connector_gateway.kit.models import IDEMPOTENCY_FIELD, Mentions, Params

P = TypeVar("P", bound=Params)

CONNECTION = "connection_id"
KEY_IN_HEADER = "Unknown parameter; send the header Idempotency-Key instead"
"""The message for an idempotency key in the body of an operation that has no parameter for it."""

MAX_DEPTH = 100
MAX_VALUES = 10_000
"""Maximum values of a body, over all depths. It bounds the cost of reading one request."""

MAX_QUERY = 200
"""Maximum query parameters, several times as many as any operation has."""

MAX_REPORTED_NAMES = 10
"""Maximum parameters that the error message names. The details list more of them."""

MAX_EXPONENT = 330
"""Largest accepted decimal exponent. The range of a double is smaller."""

MAX_BITS: int = (10**MAX_EXPONENT).bit_length()
"""Largest accepted bit length of an integer, which is cheaper to compute than its number of digits."""

_UNSUPPORTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that vendors do not store unchanged: control characters except tab and line ends, and lone surrogates."""


def decode(body: bytes) -> Any:
    """Decode a JSON text, with exact numbers (``int`` or ``Decimal``). Duplicate keys are rejected."""
    # Every value but the first of its list or object follows a comma, so few commas mean few values.
    has_many_values = body.count(b",") > MAX_VALUES // 4
    try:
        value = (_counting_decoder() if has_many_values else _DECODER).decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"The body is not JSON: {_short_reason(error)}.") from error
    if has_many_values:
        _check_count(value)
    return value


class Body:
    """A JSON body, or the error that reading it raised."""

    def __init__(self, text: bytes = b"", error: GatewayError | None = None) -> None:
        self.text = text
        self.value: Any = None
        self.error = error
        if error is None:
            try:
                self.value = decode(text)
            except (InvalidJson, PayloadTooLarge) as invalid:
                self.error = invalid


class Arguments(Struct):
    """The arguments of one call: path and query as text, the raw body, the idempotency key."""

    path: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Body | None = None
    neutralises_mentions: bool = False
    key: NormalizedKey | None = None
    """The idempotency key of the header. After ``read``, the key of the body if the header has none."""

    confirmation: str | None = None
    """The token with which a person's confirmation is passed on."""

    def to_json(self) -> dict[str, Any]:
        """Return these arguments as JSON, unchanged."""
        body = None if self.body is None else self.body.text.decode()
        neutralises = {"neutralises_mentions": True} if self.neutralises_mentions else {}
        return {"path": dict(self.path), "query": list(self.query), "body": body, **neutralises}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Arguments":
        """Restore arguments that ``to_json`` returned."""
        body = None if stored["body"] is None else Body(stored["body"].encode())
        query = [(name, text) for name, text in stored["query"]]
        return cls(stored["path"], query, body, neutralises_mentions=stored.get("neutralises_mentions", False))

    @property
    def connection_id(self) -> str | None:
        """The connection that the request names, before validation."""
        value = self.path.get(CONNECTION)
        if value is None and self.query:
            value = dict(self.query).get(CONNECTION)
        if value is None:
            if self.body is None or not isinstance(self.body.value, dict):
                return None
            value = self.body.value.get(CONNECTION)
        return value if isinstance(value, str) and value and not _has_unsupported_characters(value) else None

    def read(self, params: type[P], *, connection: bool = True, keyed: bool = False) -> P:
        """Return these arguments as *params*.

        Raises ``InvalidParameters`` with all violations. With *connection*, a connection is required and checked, but
        is not part of the result. If *keyed*, the idempotency key is checked too and stored in ``key``.
        """
        details: list[Detail] = []
        values = self._from_query(params, details) if self.body is None else self._from_body(self.body, details)
        self._normalise_key(values, details, keyed=keyed)
        if keyed and IDEMPOTENCY_FIELD in values and IDEMPOTENCY_FIELD not in params.model_fields:
            del values[IDEMPOTENCY_FIELD]
            details.append({"parameter": IDEMPOTENCY_FIELD, "message": KEY_IN_HEADER})
        # Last, so that neither query nor body can override the path.
        values |= self.path
        if connection:
            _check_connection(values, details)
        _check_members(values, "", 0, details)
        if self.neutralises_mentions:
            _neutralise_mentions(params, values)
        try:
            result = params.model_validate(values)
        except ValidationError as error:
            names = [CONNECTION, *self._parameter_names(params)] if connection else self._parameter_names(params)
            raise _invalid_parameters(
                params, [*details, *with_allowed_names(validation_details(error), names)]
            ) from error
        if details:
            raise _invalid_parameters(params, details)
        return result

    def _normalise_key(self, values: dict[str, Any], details: list[Detail], *, keyed: bool) -> None:
        """Normalise the idempotency key of the body, and compare it with the key of the header."""
        raw = values.get(IDEMPOTENCY_FIELD)
        in_body = NormalizedKey.parse(raw) if isinstance(raw, str) else None
        if in_body is not None:
            values[IDEMPOTENCY_FIELD] = in_body.text
        if not keyed:
            return
        self.key = key = self.key or in_body
        if key is None:
            return
        invalid = key if key.violation or in_body is None else in_body
        if invalid.violation:
            # Remove it, so that validation of the parameter does not report the same violation again.
            values.pop(IDEMPOTENCY_FIELD, None)
            details.append({"parameter": IDEMPOTENCY_FIELD, "message": invalid.violation, "value": invalid.text})
        elif in_body is not None and in_body.text != key.text:
            message = "Should equal the header Idempotency-Key"
            details.append({"parameter": IDEMPOTENCY_FIELD, "message": message, "value": raw})

    def _parameter_names(self, params: type[Params]) -> Sequence[str]:
        """Return the names of the parameters that are not in the path."""
        names = [field.alias or name for name, field in params.model_fields.items()]
        return [name for name in names if name not in self.path]

    def _valid_query(self, details: list[Detail]) -> Sequence[tuple[str, str]]:
        """Return the query parameters with valid names."""
        if not self.query:
            return ()
        if len(self.query) > MAX_QUERY:
            details.append({"parameter": "query", "message": f"Has more than {MAX_QUERY} parameters"})
        parameters = [(name, text) for name, text in self.query if not _has_unsupported_characters(name)]
        if len(parameters) < len(self.query):
            details.append({"parameter": "query", "message": "Has a name with control characters or invalid UTF-8"})
        return parameters

    def _from_query(self, params: type[Params], details: list[Detail]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        types = _parameter_types(params)
        for name, text in self._valid_query(details):
            if name in values or name in self.path:
                details.append({"parameter": name, "message": "Occurs more than once"})
            values[name] = _convert_text(types.get(name), text)
        return values

    def _from_body(self, body: Body, details: list[Detail]) -> dict[str, Any]:
        if body.error is not None:
            raise body.error
        value = body.value
        if not isinstance(value, dict):
            raise InvalidParameters(
                "The body should be a JSON object.", {"parameter": "body", "message": "Should be an object"}
            )
        values = dict(value)
        details += [{"parameter": name, "message": "Occurs more than once"} for name in self.path if name in values]
        for name, text in self._valid_query(details):
            if name in self.path:
                details.append({"parameter": name, "message": "Occurs more than once"})
            elif name != CONNECTION:
                details.append({"parameter": name, "message": "Belongs in the body"})
            elif values.setdefault(CONNECTION, text) != text:
                details.append({"parameter": CONNECTION, "message": "Differs between query and body", "value": text})
        return values


def _neutralise_mentions(params: type[Params], values: dict[str, Any]) -> None:
    """Rewrite the texts that mention people. This precedes validation, so that the written text is validated."""
    for name, mentions in _mention_parameters(params).items():
        if isinstance(values.get(name), str):
            values[name] = mentions.neutralise(values[name])


@cache
def _mention_parameters(params: type[Params]) -> Mapping[str, Mentions]:
    """Return the text parameters in which people can be mentioned."""
    return {
        field.alias or name: mark
        for name, field in params.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Mentions)
    }


def _check_connection(values: dict[str, Any], details: list[Detail]) -> None:
    if CONNECTION not in values:
        details.append({"parameter": CONNECTION, "message": "Field required"})
        return
    value = values.pop(CONNECTION)
    if not isinstance(value, str) or not value:
        message = "Should be the identifier of a connection"
        details.append({"parameter": CONNECTION, "message": message, "value": value})
    else:
        _check_values(value, CONNECTION, 0, details)


def _invalid_parameters(params: type[Params], details: Sequence[Detail]) -> InvalidParameters:
    """Return the error for *details*, without the values of the secret parameters of *params*."""
    secret = [name for name, field in params.model_fields.items() if not field.repr]
    return InvalidParameters(_summary(details), *without_values(details, secret))


def _summary(details: Sequence[Detail]) -> str:
    names = list(dict.fromkeys(str(detail["parameter"]) for detail in details))
    listed = ", ".join(map(truncate, names[:MAX_REPORTED_NAMES]))
    return f"Parameters {listed} are invalid." if len(names) > 1 else f"Parameter {listed} is invalid."


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        duplicate = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {truncate(duplicate)!r} occurs twice")
    return value


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _parse_decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError("a number is out of range") from error


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_float=_parse_decimal, parse_constant=_reject_constant
)


def _counting_decoder() -> json.JSONDecoder:
    """Return a decoder that stops at too many object members or fractions.

    Python functions decode both, which is slow. All other values are decoded so fast that they can be counted later.
    """
    total = 0

    def count(values: int) -> None:
        nonlocal total
        total += values
        if total > MAX_VALUES:
            raise _too_many_values()

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        count(max(1, len(pairs)))
        return _unique_members(pairs)

    def fraction(text: str) -> Decimal:
        count(1)
        return _parse_decimal(text)

    return json.JSONDecoder(object_pairs_hook=members, parse_float=fraction, parse_constant=_reject_constant)


def _check_count(value: Any) -> None:
    count = 0
    containers: list[Any] = [[value]]
    while containers:
        container = containers.pop()
        count += len(container)
        if count > MAX_VALUES:
            raise _too_many_values()
        items = container.values() if isinstance(container, dict) else container
        containers += [item for item in items if isinstance(item, dict | list)]


def _too_many_values() -> PayloadTooLarge:
    return PayloadTooLarge(f"The body contains more than {MAX_VALUES} values.", {"max_values": MAX_VALUES})


def _short_reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _has_unsupported_characters(text: str) -> bool:
    """Return True if *text* contains a character that vendors do not store unchanged."""
    # None of these characters is printable. ``isprintable`` takes a third of the time of the search.
    return not text.isprintable() and _UNSUPPORTED.search(text) is not None


def _check_values(value: Any, path: str, depth: int, details: list[Detail]) -> None:
    """Report every string and number, at any depth, that vendors do not store unchanged."""
    if isinstance(value, str):
        if _has_unsupported_characters(value):
            message = "Contains control characters or half of a surrogate pair"
            details.append({"parameter": path, "message": message, "value": value})
    elif depth > MAX_DEPTH:
        details.append({"parameter": path, "message": f"Nested more than {MAX_DEPTH} levels deep"})
    elif isinstance(value, dict):
        _check_members(value, path, depth, details)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not (item.isprintable() if isinstance(item, str) else _is_number_in_range(item)):
                _check_values(item, truncate(f"{path}.{index}"), depth + 1, details)
    elif isinstance(value, int | Decimal) and not _is_number_in_range(value):
        details.append({"parameter": path, "message": "Is a number out of range", "value": value})


def _check_members(value: Mapping[str, Any], path: str, depth: int, details: list[Detail]) -> None:
    for name, item in value.items():
        if not name.isprintable() and _has_unsupported_characters(name):
            details.append({"parameter": path or "body", "message": "Has a name with control characters"})
        # Most values are valid texts or numbers. Building the path only for the others saves time.
        elif not (item.isprintable() if isinstance(item, str) else _is_number_in_range(item)):
            _check_values(item, truncate(f"{path}.{name}" if path else name), depth + 1, details)


def _is_number_in_range(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= MAX_BITS
    return isinstance(value, Decimal) and (value.is_zero() or abs(value.adjusted()) <= MAX_EXPONENT)


@cache
def _parameter_types(params: type[Params]) -> Mapping[str, Any]:
    """Return the type of each parameter. It is cached, because every query needs it."""
    return {field.alias or name: _plain_type(field.annotation) for name, field in params.model_fields.items()}


def _plain_type(annotation: Any) -> Any:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain_type(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        kinds = [_plain_type(option) for option in get_args(annotation) if option is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return origin or annotation


def _convert_text(target: Any, text: str) -> Any:
    """Convert *text* of a query to *target*. Text that cannot be converted is returned unchanged."""
    if target is int and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if target is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text, text)
    if target is list:
        return text.split(",")
    return text
