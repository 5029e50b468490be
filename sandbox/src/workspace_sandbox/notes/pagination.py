"""Pagination of lists, with opaque cursors that are valid for one list only."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.error_responses import invalid

MAX_SIZE = 100
MAX_CURSORS = 10_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class CursorState:
    """The position of a cursor: before the item with that key, or its offset if the item is gone."""

    scope: str
    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """The requested part of a list."""

    size: int
    cursor: str | None


def read_window(raw: Mapping[str, Any], path: str) -> Window:
    """Return the requested window of a body or query string."""
    cursor = validation.string(raw["start_cursor"], f"{path}.start_cursor") if "start_cursor" in raw else None
    return Window(_size(raw.get("page_size", MAX_SIZE), f"{path}.page_size"), cursor)


def _size(raw: Any, path: str) -> int:
    # The size is text in a query string and a number in a body.
    numeric = int(raw) if isinstance(raw, str) and raw.isascii() and raw.isdigit() else raw
    size = validation.number(numeric, path)
    if not 1 <= size <= MAX_SIZE or size != int(size):
        raise validation.invalid_field(path, f"≤ `{MAX_SIZE}`" if size > MAX_SIZE else "≥ `1`", raw)
    return int(size)


class Cursors:
    """The states of issued cursors."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._states: OrderedDict[str, CursorState] = OrderedDict()

    def paginate(
        self, scope: str, items: Sequence[Item], key: Callable[[Item], str], requested: Window
    ) -> tuple[Sequence[Item], str | None]:
        """Return the requested part of *items*, and the cursor of the next part if there is one."""
        start = self._start(scope, items, key, requested.cursor)
        end = start + requested.size
        next_cursor = self._issue(CursorState(scope, key(items[end]), end)) if end < len(items) else None
        return items[start:end], next_cursor

    def _start(self, scope: str, items: Sequence[Item], key: Callable[[Item], str], cursor: str | None) -> int:
        if cursor is None:
            return 0
        # A cursor is a random identifier that is valid for one list. Notion may change its cursor format at any time
        # ("Versioning"), so a client that parses cursors must fail here.
        state = self._states.get(cursor)
        if state is None or state.scope != scope:
            raise invalid(f"The start_cursor provided is invalid: {cursor}")
        positions = (position for position, item in enumerate(items) if key(item) == state.key)
        # A deleted item must neither end the list nor restart it.
        return next(positions, state.offset)

    def _issue(self, state: CursorState) -> str:
        cursor = self._new_id()
        self._states[cursor] = state
        if len(self._states) > MAX_CURSORS:
            # Remove the oldest one, so that a long-running sandbox does not grow without limit.
            self._states.popitem(last=False)
        return cursor
