"""Valid calls of every operation, with one text replaced by a hostile one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import AllConnectors
from harness.gateway_server import Reply
from harness.operation_calls import ReadCall as Call
from harness.operation_calls import read, writes_of
from simulation.writes import KINDS

LONGEST_QUERY = 60_000
"""The number of bytes that the client sends in a URL."""

PREPARED = "hostile values"
"""The content of the objects in the calls."""


@dataclass(frozen=True)
class TextParameter:
    """A call of a connector, and the location of one of its texts."""

    connector: str
    call: Call
    where: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.connector} {self.call.method} {self.call.path} {'.'.join(map(str, self.where))}"

    def put(self, value: str) -> Call:
        """Return the call with *value* at the location."""
        return replace(self.call, values=_put(self.call.values, self.where, value))


def calls(started: AllConnectors, connector: str) -> list[Call]:
    """Return valid calls of *connector*, of every operation; the successful ones first."""
    writes = []
    for name in writes_of(connector):
        started.prepare(name, PREPARED)
        writes.append(Call(*KINDS[name].request(started.world, PREPARED)))
    return [*writes, *started.read_calls(connector)]


def text_parameters(started: AllConnectors, connector: str) -> list[TextParameter]:
    """Return every text parameter of every operation of *connector* once, including those that no call has."""
    parameters: dict[tuple[Any, ...], TextParameter] = {}
    for call in calls(started, connector):
        operation = _operation(connector, call)
        optional = {name: _empty(str(field.annotation)) for name, field in operation.parameters.items()}
        values = {**{name: text for name, text in optional.items() if name not in operation.path_names}, **call.values}
        for where, _ in _texts(values):
            general = (call.method, operation.path, *(part for part in where if not isinstance(part, int)))
            parameters.setdefault(general, TextParameter(connector, call, where))
    return list(parameters.values())


def _empty(annotation: str) -> Any:
    """Return a value of a parameter with an empty text in it, if it accepts texts."""
    if "str" not in annotation:
        return None
    return [""] if "ist[" in annotation or "equence[" in annotation else ""


def _operation(connector: str, call: Call) -> Any:
    segments = call.path.strip("/").split("/")
    for operation in CONNECTORS[connector].operations:
        declared = operation.path.strip("/").split("/")
        fits = len(declared) == len(segments) and all(
            one.startswith("{") or one == segment for one, segment in zip(declared, segments, strict=True)
        )
        if operation.method == call.method and fits:
            return operation
    raise LookupError(call.path)


def _texts(values: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(values, str):
        yield where, values
    elif isinstance(values, Mapping):
        for name, value in values.items():
            yield from _texts(value, (*where, name))
    elif isinstance(values, Sequence):
        for index, value in enumerate(values):
            yield from _texts(value, (*where, index))


def _put(values: Any, where: tuple[Any, ...], value: str) -> Any:
    if not where:
        return value
    first, *rest = where
    if isinstance(values, Mapping):
        return {**values, first: _put(values.get(first), tuple(rest), value)}
    return [_put(one, tuple(rest), value) if index == first else one for index, one in enumerate(values or [None])]


def answers(started: AllConnectors, connector: str, texts: Sequence[str]) -> Iterator[tuple[TextParameter, str, Reply]]:
    """Send each of *texts* at each location of *connector*, shortened in queries, and yield the responses."""
    for placed in text_parameters(started, connector):
        for text in texts:
            sent = text[: _get_max_length(text)] if placed.call.method == "GET" else text
            yield placed, text, read(started.gateway, connector, placed.put(sent))


def _get_max_length(text: str) -> int:
    """Return the number of characters of *text*, which repeats itself, that fit into a URL."""
    sample = text[:100]
    return LONGEST_QUERY * len(sample) // len(quote(sample, safe="") or "x")
