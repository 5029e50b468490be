"""What is remembered of a stand-in's traffic, as it is told to whoever asks."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TypeVar

T = TypeVar("T")


class RequestLog(deque[T]):
    """Dataclasses in the order in which they happened; the oldest fall out first.

    It goes on being written while it is read: a test reads from its own thread what the server's loop adds to.
    """

    def __init__(self, length: int) -> None:
        super().__init__(maxlen=length)

    def __iter__(self) -> Iterator[T]:
        """What is there now, copied in one step."""
        return iter(list(super().__iter__()))

    def described(self) -> list[dict[str, Any]]:
        """It as JSON."""
        return [asdict(one) for one in self]  # type: ignore[call-overload]
