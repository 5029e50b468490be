"""Declared routes: what an emulator answers, at the paths that the vendor gives them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from aiohttp import web

H = TypeVar("H")

Support = Literal["fully", "partly"]


@dataclass(frozen=True, kw_only=True)
class Route(Generic[H]):
    """A route of the vendor's, and what serves it."""

    method: str
    path: str
    handler: H
    lacks: str = ""
    """The part of it that is not played."""
    host: str = "base"
    aliases: tuple[str, ...] = ()
    """Older paths that mean the same."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that it is served at."""
        return (self.path, *self.aliases)

    @property
    def support(self) -> Support:
        """How far it is played."""
        return "partly" if self.lacks else "fully"


class Page(Route[Callable[[Any, web.Request], Awaitable[web.StreamResponse]]]):
    """A page for people, a file, or a route of OAuth: its handler decides who may use it."""
