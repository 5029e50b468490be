"""Reads what a caller passed by a declaration: text from addresses, typed values from JSON bodies."""

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

from connector_gateway.core.calls.error_details import listing, truncate, validation_details, without_values
from connector_gateway.core.writes.key_text import KeyText
from connector_gateway.kit.errors import Detail, GatewayError, InvalidJson, InvalidParameters, PayloadTooLarge
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD, Mentions, Params

P = TypeVar("P", bound=Params)

CONNECTION = "connection_id"
MAX_DEPTH = 100
MAX_VALUES = 10_000
"""Values of a body, at all depths together: what this many cost to read is the most that one request may cost."""

MAX_QUERY = 200
"""Parameters of a query; several times what any operation has."""

MAX_REPORTED_NAMES = 10
"""Parameters that the sentence about faults names; details list more of them."""

MAX_EXPONENT = 330
"""Powers of ten up to which a number is taken; what a double holds ends before."""

MAX_BITS: int = (10**MAX_EXPONENT).bit_length()
"""The same for integers, whose digits take long to count."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that no application stores faithfully: controls other than tab and line ends, and halves of pairs."""


def decode(body: bytes) -> Any:
    """The value of a JSON text in which every key stands once; numbers stay exact (``int`` or ``Decimal``)."""
    # A value that is not the first of its list or object has a comma before it: few commas, few values.
    crowded = body.count(b",") > MAX_VALUES // 4
    try:
        value = (_crowd_decoder() if crowded else _DECODER).decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise InvalidJson(f"The body is not JSON: {_short(fault)}.") from fault
    if crowded:
        _require_few(value)
    return value


class Body:
    """A JSON body, or why it cannot be read."""

    def __init__(self, text: bytes = b"", refusal: GatewayError | None = None) -> None:
        self.text = text
        self.value: Any = None
        self.refusal = refusal
        if refusal is None:
            try:
                self.value = decode(text)
            except (InvalidJson, PayloadTooLarge) as fault:
                self.refusal = fault


class Arguments(Struct):
    """The arguments of one call: path and query as text, the body as it came, the idempotency key."""

    path: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Body | None = None
    neutralises_mentions: bool = False
    key: KeyText | None = None
    """The key that travels beside the body; that of the body as well, once the arguments were read."""

    def to_json(self) -> dict[str, Any]:
        """These arguments as JSON, just as they came."""
        body = None if self.body is None else self.body.text.decode()
        neutralises = {"neutralises_mentions": True} if self.neutralises_mentions else {}
        return {"path": dict(self.path), "query": list(self.query), "body": body, **neutralises}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Arguments":
        """Arguments as they were ``kept``."""
        body = None if kept["body"] is None else Body(kept["body"].encode())
        query = [(name, text) for name, text in kept["query"]]
        return cls(kept["path"], query, body, neutralises_mentions=kept.get("neutralises_mentions", False))

    @property
    def connection_id(self) -> str | None:
        """The connection that the caller names, before anything is checked."""
        named = dict(self.query).get(CONNECTION) if self.query else None
        if named is None and self.body is not None and isinstance(self.body.value, dict):
            named = self.body.value.get(CONNECTION)
        return named if isinstance(named, str) and named and not _is_unfit(named) else None

    def read(self, params: type[P], *, connection: bool = True, keyed: bool = False) -> P:
        """These arguments as *params*; ``InvalidParameters`` with everything that is wrong.

        With *connection*, the connection must be named as well; it is checked, and is no part of the result.
        Where they are *keyed*, the key is checked too, and is ``key`` from then on.
        """
        faults: list[Detail] = []
        values = self._from_query(params, faults) if self.body is None else self._from_body(self.body, faults)
        self._read_key(values, faults, keyed=keyed)
        # Last, so that neither query nor body can say otherwise than the address.
        values |= self.path
        if connection:
            _check_connection(values, faults)
        _check_fitness(values, "", 0, faults)
        if self.neutralises_mentions:
            _neutralise_mentions(params, values)
        try:
            read = params.model_validate(values)
        except ValidationError as fault:
            known = [CONNECTION, *self._parameters(params)] if connection else self._parameters(params)
            raise _refusal(params, [*faults, *listing(validation_details(fault), known)]) from fault
        if faults:
            raise _refusal(params, faults)
        return read

    def _read_key(self, values: dict[str, Any], faults: list[Detail], *, keyed: bool) -> None:
        """Bring the key of a body into its normal form, and compare it with the key beside the body."""
        given = values.get(IDEMPOTENCY_FIELD)
        in_body = KeyText.of(given) if isinstance(given, str) else None
        if in_body is not None:
            values[IDEMPOTENCY_FIELD] = in_body.text
        if not keyed:
            return
        both = [key for key in (self.key, in_body) if key is not None]
        fault = next((key for key in both if key.fault), None)
        if fault is not None:
            # Told once, and not by the declaration of the parameter as well.
            values.pop(IDEMPOTENCY_FIELD, None)
            faults.append({"parameter": IDEMPOTENCY_FIELD, "message": fault.fault, "value": fault.text})
        elif len({key.text for key in both}) > 1:
            message = "Should equal the header Idempotency-Key"
            faults.append({"parameter": IDEMPOTENCY_FIELD, "message": message, "value": given})
        self.key = both[0] if both else None

    def _parameters(self, params: type[Params]) -> Sequence[str]:
        """The names of the parameters that travel beside the path."""
        names = [declared.alias or name for name, declared in params.model_fields.items()]
        return [name for name in names if name not in self.path]

    def _named(self, faults: list[Detail]) -> Sequence[tuple[str, str]]:
        """The query as far as its names can be told."""
        if len(self.query) > MAX_QUERY:
            faults.append({"parameter": "query", "message": f"Has more than {MAX_QUERY} parameters"})
        named = [(name, text) for name, text in self.query if not _is_unfit(name)]
        if len(named) < len(self.query):
            faults.append({"parameter": "query", "message": "Has a name with control characters, or that is no UTF-8"})
        return named

    def _from_query(self, params: type[Params], faults: list[Detail]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        kinds = _kinds(params)
        for name, text in self._named(faults):
            if name in values or name in self.path:
                faults.append({"parameter": name, "message": "Given more than once"})
            values[name] = _from_text(kinds.get(name), text)
        return values

    def _from_body(self, body: Body, faults: list[Detail]) -> dict[str, Any]:
        if body.refusal is not None:
            raise body.refusal
        value = body.value
        if not isinstance(value, dict):
            raise InvalidParameters(
                "The body should be a JSON object.", {"parameter": "body", "message": "Should be an object"}
            )
        values = dict(value)
        faults += [{"parameter": name, "message": "Given more than once"} for name in self.path if name in values]
        for name, text in self._named(faults):
            if name != CONNECTION:
                faults.append({"parameter": name, "message": "Belongs into the body"})
            elif values.setdefault(CONNECTION, text) != text:
                faults.append({"parameter": CONNECTION, "message": "Differs between query and body", "value": text})
        return values


def _neutralise_mentions(params: type[Params], values: dict[str, Any]) -> None:
    """Rewrite the texts that mention people, before they are checked, so that what is checked is what is written."""
    for name, mentions in _mentioning(params).items():
        if isinstance(values.get(name), str):
            values[name] = mentions.neutralise(values[name])


@cache
def _mentioning(params: type[Params]) -> Mapping[str, Mentions]:
    """The text parameters in which people may be mentioned."""
    return {
        declared.alias or name: mark
        for name, declared in params.model_fields.items()
        for mark in declared.metadata
        if isinstance(mark, Mentions)
    }


def _check_connection(values: dict[str, Any], faults: list[Detail]) -> None:
    if CONNECTION not in values:
        faults.append({"parameter": CONNECTION, "message": "Field required"})
        return
    named = values.pop(CONNECTION)
    if not isinstance(named, str) or not named:
        message = "Should be the identifier of a connection"
        faults.append({"parameter": CONNECTION, "message": message, "value": named})
    else:
        _check_fitness(named, CONNECTION, 0, faults)


def _refusal(params: type[Params], faults: Sequence[Detail]) -> InvalidParameters:
    """The refusal of *faults*; what is not to be shown of *params* is not repeated."""
    secret = [name for name, declared in params.model_fields.items() if not declared.repr]
    return InvalidParameters(_summary(faults), *without_values(faults, secret))


def _summary(faults: Sequence[Detail]) -> str:
    names = list(dict.fromkeys(str(fault["parameter"]) for fault in faults))
    listed = ", ".join(map(truncate, names[:MAX_REPORTED_NAMES]))
    return f"{'Parameters' if len(names) > 1 else 'Parameter'} {listed} cannot be used as given."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {truncate(twice)!r} stands twice")
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _exact(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as fault:
        raise ValueError("a number is beyond all measure") from fault


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_float=_exact, parse_constant=_no_number)


def _crowd_decoder() -> json.JSONDecoder:
    """A decoder that gives up at one value too many of an object, or at one fraction too many.

    Both are read by functions of ours; all other values are read so fast that they may be counted afterwards.
    """
    seen = 0

    def count(values: int) -> None:
        nonlocal seen
        seen += values
        if seen > MAX_VALUES:
            raise _too_many()

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        count(max(1, len(pairs)))
        return _once(pairs)

    def fraction(text: str) -> Decimal:
        count(1)
        return _exact(text)

    return json.JSONDecoder(object_pairs_hook=members, parse_float=fraction, parse_constant=_no_number)


def _require_few(value: Any) -> None:
    seen = 0
    containers: list[Any] = [[value]]
    while containers:
        held = containers.pop()
        seen += len(held)
        if seen > MAX_VALUES:
            raise _too_many()
        items = held.values() if isinstance(held, dict) else held
        containers += [item for item in items if isinstance(item, dict | list)]


def _too_many() -> PayloadTooLarge:
    return PayloadTooLarge(f"The body holds more than {MAX_VALUES} values.", {"max_values": MAX_VALUES})


def _short(fault: Exception) -> str:
    return "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)[:200]


def _is_unfit(text: str) -> bool:
    """Whether *text* holds a character that no application stores faithfully."""
    # None of them is printable, which is told three times as quickly as whether one is there (decision 45).
    return not text.isprintable() and _UNFIT.search(text) is not None


def _check_fitness(value: Any, path: str, depth: int, faults: list[Detail]) -> None:
    """Find every string and number, at any depth, that no application stores faithfully."""
    if isinstance(value, str):
        if _is_unfit(value):
            message = "Contains control characters or half of a surrogate pair"
            faults.append({"parameter": path, "message": message, "value": value})
    elif depth > MAX_DEPTH:
        faults.append({"parameter": path, "message": f"Nested more than {MAX_DEPTH} levels deep"})
    elif isinstance(value, dict):
        _check_members(value, path, depth, faults)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not (isinstance(item, str) and item.isprintable()):
                _check_fitness(item, truncate(f"{path}.{index}"), depth + 1, faults)
    elif isinstance(value, int | Decimal) and _beyond_measure(value):
        faults.append({"parameter": path, "message": "Is a number beyond all measure", "value": value})


def _check_members(value: Mapping[str, Any], path: str, depth: int, faults: list[Detail]) -> None:
    for name, item in value.items():
        if not name.isprintable() and _is_unfit(name):
            faults.append({"parameter": path or "body", "message": "Has a name with control characters"})
        # Most values are texts that are fit, whose place need not be told (decision 45).
        elif not (isinstance(item, str) and item.isprintable()):
            _check_fitness(item, truncate(f"{path}.{name}" if path else name), depth + 1, faults)


def _beyond_measure(value: int | Decimal) -> bool:
    if isinstance(value, int):
        return value.bit_length() > MAX_BITS
    return value != 0 and abs(value.adjusted()) > MAX_EXPONENT


@cache
def _kinds(params: type[Params]) -> Mapping[str, Any]:
    """The kind of each parameter, which is asked for with every query."""
    return {declared.alias or name: _kind(declared.annotation) for name, declared in params.model_fields.items()}


def _kind(annotation: Any) -> Any:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kind(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        kinds = [_kind(option) for option in get_args(annotation) if option is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return origin or annotation


def _from_text(kind: Any, text: str) -> Any:
    """What *text* of a query says for a parameter of *kind*; text that says nothing of the sort stays as it is."""
    if kind is int and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text, text)
    if kind is list:
        return text.split(",")
    return text
