"""The emulated share of the vendor's published API.

``published.txt`` of each emulator lists the routes of the vendor's document, one method and path per line.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

NAMED = re.compile(r"\{(\w+)(?::[^{}]*)?\}")
TRAILING = re.compile(r"\{(?:_|slash)(?::[^{}]*)?\}$")
"""A trailing slash that some emulators ignore."""

KINDS = frozenset({"type", "to_type", "version"})
"""Path parameters whose values the vendor's document spells out as separate paths."""

Support = Literal["done", "partly", "absent"]


@dataclass(frozen=True, slots=True)
class SupportedRoute:
    """A route that an emulator serves, and the features that it does not support."""

    method: str
    path: str
    unsupported: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A method and a path in which names in braces match any segment."""

    method: str
    path: str

    @property
    def segments(self) -> list[str]:
        """Return the segments of the path, with parameters reduced to their names."""
        return NAMED.sub(r"{\1}", TRAILING.sub("", self.path)).split("/")

    def is_served_by(self, other: "Template") -> bool:
        """Return True if *other* is the same route, except for the names of its parameters."""
        return _same_method(other.method, self.method) and _all_segments(self.segments, other.segments, _same)

    def is_covered_by(self, other: "Template") -> bool:
        """Return True if every path of this template also matches the more general template *other*."""
        return _same_method(other.method, self.method) and _all_segments(
            self.segments, other.segments, _same_or_parameter
        )

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of paths that the template matches."""
        parts = ("[^/]+" if part.startswith("{") else re.escape(part) for part in self.segments)
        return re.compile("/".join(parts) + "/?")


def _same_method(one: str, other: str) -> bool:
    return one == other or "*" in {one, other}


def _all_segments(segments: list[str], other_segments: list[str], compare: Callable[[str, str], bool]) -> bool:
    return len(segments) == len(other_segments) and all(
        compare(one, other) for one, other in zip(segments, other_segments, strict=True)
    )


def _same(published: str, supported: str) -> bool:
    if published.startswith("{"):
        return supported.startswith("{")
    return published == supported or supported.strip("{}") in KINDS


def _same_or_parameter(published: str, supported: str) -> bool:
    return supported.startswith("{") or published == supported


class Coverage:
    """The routes of one emulator, and those of the vendor's published document."""

    def __init__(self, package: str, supported: Iterable[SupportedRoute]) -> None:
        self._file = Path(package).parent / "published.txt"
        self._supported = list(supported)
        self._hidden: dict[tuple[str, str], list[tuple[re.Pattern[str], Template]]] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the published routes with their support, the counts, and the routes that are not published."""
        published = [self._describe(route) for route in self._published]
        counts = {kind: sum(one["support"] == kind for one in published) for kind in ("done", "partly", "absent")}
        unpublished = [{**_describe(one), "published": False} for one in self._supported if self._is_unpublished(one)]
        return {**self._source, **counts, "routes": [*published, *unpublished]}

    def find_unsupported(self, request: web.Request) -> Template | None:
        """Return the vendor's route of *request* if it is not emulated."""
        resource = request.match_info.route.resource
        # Cached per route, because there are as many paths as objects.
        key = (request.method, resource.canonical if resource else "")
        if key not in self._hidden:
            self._hidden[key] = self._find_hidden(*key)
        return next((one for pattern, one in self._hidden[key] if pattern.fullmatch(request.path)), None)

    def _find_hidden(self, method: str, canonical: str) -> list[tuple[re.Pattern[str], Template]]:
        """Return routes that are not emulated but match the route *canonical*, or no route.

        Each has its path pattern.
        """
        emulated = Template(method, canonical)
        hidden = (
            one
            for one in self._absent
            if _same_method(one.method, method) and (not canonical or one.is_covered_by(emulated))
        )
        return [(one.pattern, one) for one in hidden]

    @cached_property
    def _lines(self) -> list[str]:
        return self._file.read_text(encoding="utf-8").splitlines()

    @property
    def _source(self) -> dict[str, str]:
        source, read_at = (line.partition(": ")[2] for line in self._lines[:2])
        return {"source": source, "read_at": read_at}

    @cached_property
    def _published(self) -> list[Template]:
        return [Template(*line.split(" ", 1)) for line in self._lines[2:] if line]

    @cached_property
    def _absent(self) -> list[Template]:
        return [route for route in self._published if self._find_serving(route) is None]

    def _find_serving(self, route: Template) -> SupportedRoute | None:
        return next((one for one in self._supported if route.is_served_by(Template(one.method, one.path))), None)

    def _describe(self, route: Template) -> dict[str, Any]:
        served = self._find_serving(route)
        raw = {"method": route.method, "path": route.path}
        return {**raw, **_support(served)} if served else {**raw, "support": "absent"}

    def _is_unpublished(self, one: SupportedRoute) -> bool:
        supported = Template(one.method, one.path)
        return not any(route.is_served_by(supported) for route in self._published)


def _describe(supported: SupportedRoute) -> Mapping[str, Any]:
    return {"method": supported.method, "path": NAMED.sub(r"{\1}", supported.path), **_support(supported)}


def _support(supported: SupportedRoute) -> dict[str, str]:
    return {"support": "partly", "lacks": supported.unsupported} if supported.unsupported else {"support": "done"}
