"""Declarations of the routes that an emulator serves."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

from aiohttp import web

H = TypeVar("H")

Support = Literal["fully", "partly"]


@dataclass(frozen=True, kw_only=True)
class Route(Generic[H]):
    """A vendor's route and its handler."""

    method: str
    path: str
    handler: H
    unsupported: str = ""
    """The unsupported part of the route."""
    host: str = "base"
    aliases: tuple[str, ...] = ()
    """Older paths of the same route."""

    @classmethod
    def at(cls, prefix: str = "", *older: str, **always: Any) -> Callable[..., Self]:
        """Return a function that declares routes below *prefix*: ``on("GET /path", handler, "lacks")``.

        The routes are also served below the *older* prefixes.
        """

        def on(route: str, handler: Any, unsupported: str = "", **more: Any) -> Any:
            method, path = route.split(" ")
            aliases = tuple(one + path for one in older)
            more = {**always, **more}
            return cls(
                method=method, path=prefix + path, aliases=aliases, handler=handler, unsupported=unsupported, **more
            )

        return on

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths of the route."""
        return (self.path, *self.aliases)

    @property
    def support(self) -> Support:
        """The degree of support."""
        return "partly" if self.unsupported else "fully"


class PageRoute(Route[Callable[[Any, web.Request], Awaitable[web.StreamResponse]]]):
    """A page, a file or an OAuth route. Its handler checks the authorisation itself."""


page = PageRoute.at()
"""Declares a page: ``page("GET /authorize", handler)``."""
