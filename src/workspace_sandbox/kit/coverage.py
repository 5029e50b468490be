"""Which of the vendor's routes are played: those of its published document, held against those of the stand-in.

The document itself is not here, but what it lists: ``published.txt`` of each application, a method and a path a line.
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
"""A slash at the end that some applications do not mind."""

KINDS = frozenset({"type", "to_type", "version"})
"""Parameters of paths that stand for words which the vendor's document spells out."""

Support = Literal["done", "partly", "absent"]


@dataclass(frozen=True, slots=True)
class SupportedRoute:
    """A route that is answered, and what of it is not played."""

    method: str
    path: str
    unsupported: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A method, and the segments of a path in which a name in braces stands for anything."""

    method: str
    path: str

    @property
    def segments(self) -> list[str]:
        """The parts of the path; a parameter keeps its name alone."""
        return NAMED.sub(r"{\1}", TRAILING.sub("", self.path)).split("/")

    def is_served_by(self, other: "Template") -> bool:
        """Whether *other* is the same route by other names of its parameters."""
        return _alike(other.method, self.method) and _each(self.segments, other.segments, _same)

    def refines(self, other: "Template") -> bool:
        """Whether all that has this path has that of *other* as well, which says less of it."""
        return _alike(other.method, self.method) and _each(self.segments, other.segments, _narrower)

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a path looks like that is meant."""
        parts = ("[^/]+" if part.startswith("{") else re.escape(part) for part in self.segments)
        return re.compile("/".join(parts) + "/?")


def _alike(one: str, other: str) -> bool:
    return one == other or "*" in {one, other}


def _each(some: list[str], others: list[str], compare: Callable[[str, str], bool]) -> bool:
    return len(some) == len(others) and all(compare(one, other) for one, other in zip(some, others, strict=True))


def _same(published: str, played: str) -> bool:
    if published.startswith("{"):
        return played.startswith("{")
    return published == played or played.strip("{}") in KINDS


def _narrower(published: str, played: str) -> bool:
    return played.startswith("{") or published == played


class Coverage:
    """The routes of one application: of its published document, and played."""

    def __init__(self, package: str, played: Iterable[SupportedRoute]) -> None:
        self._file = Path(package).parent / "published.txt"
        self._played = list(played)
        self._shadowed: dict[tuple[str, str], list[tuple[re.Pattern[str], Template]]] = {}

    def to_json(self) -> dict[str, Any]:
        """The document, how many of its routes are played, and each of them; then what is played beyond it."""
        published = [self._described(route) for route in self._published]
        counts = {kind: sum(one["support"] == kind for one in published) for kind in ("done", "partly", "absent")}
        beyond = [{**_described(one), "published": False} for one in self._played if self._is_beyond(one)]
        return {**self._about, **counts, "routes": [*published, *beyond]}

    def absent(self, request: web.Request) -> Template | None:
        """The route of the vendor's that *request* is for, if it is not played."""
        resource = request.match_info.route.resource
        # By route rather than by path, of which there are as many as there are objects.
        key = (request.method, resource.canonical if resource else "")
        if key not in self._shadowed:
            self._shadowed[key] = self._hidden_by(*key)
        return next((one for pattern, one in self._shadowed[key] if pattern.fullmatch(request.path)), None)

    def _hidden_by(self, method: str, canonical: str) -> list[tuple[re.Pattern[str], Template]]:
        """What is not played and looks like a route that is, or like none; with the paths that are meant."""
        shown = Template(method, canonical)
        hidden = (one for one in self._absent if _alike(one.method, method) and (not canonical or one.refines(shown)))
        return [(one.pattern, one) for one in hidden]

    @cached_property
    def _lines(self) -> list[str]:
        return self._file.read_text(encoding="utf-8").splitlines()

    @property
    def _about(self) -> dict[str, str]:
        source, read_at = (line.partition(": ")[2] for line in self._lines[:2])
        return {"source": source, "read_at": read_at}

    @cached_property
    def _published(self) -> list[Template]:
        return [Template(*line.split(" ", 1)) for line in self._lines[2:] if line]

    @cached_property
    def _absent(self) -> list[Template]:
        return [route for route in self._published if self._serving(route) is None]

    def _serving(self, route: Template) -> SupportedRoute | None:
        return next((one for one in self._played if route.is_served_by(Template(one.method, one.path))), None)

    def _described(self, route: Template) -> dict[str, Any]:
        served = self._serving(route)
        about = {"method": route.method, "path": route.path}
        return {**about, **_support(served)} if served else {**about, "support": "absent"}

    def _is_beyond(self, one: SupportedRoute) -> bool:
        played = Template(one.method, one.path)
        return not any(route.is_served_by(played) for route in self._published)


def _described(played: SupportedRoute) -> Mapping[str, Any]:
    return {"method": played.method, "path": NAMED.sub(r"{\1}", played.path), **_support(played)}


def _support(played: SupportedRoute) -> dict[str, str]:
    return {"support": "partly", "lacks": played.unsupported} if played.unsupported else {"support": "done"}
