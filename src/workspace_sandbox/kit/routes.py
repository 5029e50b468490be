"""The one form in which an application lists what it answers."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

H = TypeVar("H")

Support = Literal["fully", "partly"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Generic[H]):
    """One route of the vendor's, at the path the vendor gives it, and what serves it."""

    method: str
    path: str
    handler: H
    lacks: str = ""
    """What of it is not played; empty where all of it is."""

    @property
    def support(self) -> Support:
        """How far it is played."""
        return "partly" if self.lacks else "fully"
