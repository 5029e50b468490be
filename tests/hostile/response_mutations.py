"""Mutations of a response: missing keys, values of another type, malformed errors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any

JsonPath = tuple[str | int, ...]
Change = Callable[[Any, str | int], None]
"""Changes the value of a key or an index of a container."""

MALFORMED_BODIES: Sequence[Any] = (
    None,
    [],
    {},
    "odd",
    7,
    [[]],
    {"error": {"message": {"text": "odd"}, "code": ["odd"], "errors": {"reason": 1}}},
    {"error": ["odd"]},
)
"""Bodies that can replace any response."""

MALFORMED_ERRORS: Sequence[Any] = (
    {"error": {"type": {"name": "odd"}, "message": ["odd"]}},
    {"error": {"errors": [{"reason": {"odd": 1}}, "odd"], "status": 7, "details": None}},
    {"error": {"errors": "odd"}},
    {"error": 7, "message": {"text": "odd"}, "code": {"odd": 1}},
    {"message": ["odd"], "category": {"odd": 1}, "errors": {"odd": 1}, "context": "odd"},
    {"errors": ["odd", None, [{}]], "additional_data": "odd", "code": None},
)
"""Bodies that can replace an error."""


def mangled(body: bytes, status: int, random: Random) -> tuple[bytes, str]:
    """Return *body* with a mutation, and its description."""
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if status >= 400 and random.random() < 0.5:
        value = random.choice(MALFORMED_ERRORS)
        what = f"{value} instead"
    elif not isinstance(value, dict | list) or not value or random.random() < 0.15:
        value = random.choice(MALFORMED_BODIES)
        what = f"{value} instead"
    else:
        value, what = changed(value, random)
    return json.dumps(value).encode(), what


def changed(value: Any, random: Random) -> tuple[Any, str]:
    """Return *value*, a container, with one mutation at one path or at all paths of that kind, and its description."""
    kinds = _kinds(value)
    kind = random.choice(sorted(kinds))
    paths = kinds[kind] if random.random() < 0.5 else [random.choice(kinds[kind])]
    what, change = random.choice(_changes(value, paths[0]))
    value = deepcopy(value)
    for path in paths:
        change(_at(value, path[:-1]), path[-1])
    return value, f"{what} at {kind}, {len(paths)} of {len(kinds[kind])}"


def _kinds(value: Any) -> Mapping[str, list[JsonPath]]:
    """Return the paths within *value*."""
    kinds: dict[str, list[JsonPath]] = {}
    for path in _paths(value, ()):
        kinds.setdefault("".join("[]" if isinstance(step, int) else f".{step}" for step in path), []).append(path)
    return kinds


def _paths(value: Any, here: JsonPath) -> Iterator[JsonPath]:
    steps: Sequence[str | int] = list(value) if isinstance(value, dict) else ()
    if isinstance(value, list):
        steps = range(len(value))
    for step in steps:
        yield (*here, step)
        yield from _paths(value[step], (*here, step))


def _at(value: Any, path: JsonPath) -> Any:
    for step in path:
        value = value[step]
    return value


def _changes(value: Any, path: JsonPath) -> Sequence[tuple[str, Change]]:
    """Return the possible mutations of the value at *path*."""
    changes: list[tuple[str, Change]] = [("another type", _retype)]
    if isinstance(path[-1], str):
        changes.append(("nothing", _remove))
    if isinstance(_at(value, path), list):
        changes.append(("an empty list", _empty))
    return changes


def _remove(container: Any, step: str | int) -> None:
    del container[step]


def _empty(container: Any, step: str | int) -> None:
    container[step] = []


def _retype(container: Any, step: str | int) -> None:
    """Convert a text or null to an object; a list, number or boolean to a text; and an object to null."""
    value = container[step]
    if isinstance(value, dict):
        container[step] = None
    elif isinstance(value, str) or value is None:
        container[step] = {"odd": value}
    else:
        container[step] = "odd" if isinstance(value, list) else str(value)
