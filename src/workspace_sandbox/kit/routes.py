"""Declared routes: what an emulator answers, at the paths that the vendor gives them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

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

    @classmethod
    def at(cls, prefix: str = "", *older: str, **always: Any) -> Callable[..., Self]:
        """Return what declares routes below a prefix, and below *older* ones: ``on("GET /path", handler, "lacks")``."""

        def on(route: str, handler: Any, lacks: str = "", **more: Any) -> Any:
            method, path = route.split(" ")
            aliases = tuple(one + path for one in older)
            more = {**always, **more}
            return cls(method=method, path=prefix + path, aliases=aliases, handler=handler, lacks=lacks, **more)

        return on

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


page = Page.at()
"""Declares a page: ``page("GET /authorize", handler)``."""
