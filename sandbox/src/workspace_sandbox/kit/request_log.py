"""A bounded log of requests and deliveries."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TypeVar

T = TypeVar("T")


class RequestLog(deque[T]):
    """A bounded log of dataclasses in chronological order. The oldest entries are dropped first.

    It can be read while it is written, because a test reads from its own thread while the server's loop appends.
    """

    def __init__(self, length: int) -> None:
        super().__init__(maxlen=length)

    def __iter__(self) -> Iterator[T]:
        """Return an iterator over a copy of the entries."""
        return iter(list(super().__iter__()))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the entries as JSON."""
        return [asdict(one) for one in self]  # type: ignore[call-overload]
