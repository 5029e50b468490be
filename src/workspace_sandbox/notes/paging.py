"""Lists in pages, behind cursors that tell nothing and hold for one list only."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workspace_sandbox.notes import checks
from workspace_sandbox.notes.wire import invalid

MOST = 100
CURSORS_KEPT = 10_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class CursorState:
    """Where a list goes on: in front of the item of that key, or at its offset if it has gone."""

    scope: str
    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a list that a request asks for."""

    size: int
    cursor: str | None


def window(raw: Mapping[str, Any], path: str) -> Window:
    """The window of a body or of a query string."""
    cursor = checks.string(raw["start_cursor"], f"{path}.start_cursor") if "start_cursor" in raw else None
    return Window(_size(raw.get("page_size", MOST), f"{path}.page_size"), cursor)


def _size(raw: Any, path: str) -> int:
    # The same size comes as text in a query string and as a number in a body.
    numeric = int(raw) if isinstance(raw, str) and raw.isascii() and raw.isdigit() else raw
    size = checks.number(numeric, path)
    if not 1 <= size <= MOST or size != int(size):
        raise checks.unfit(path, f"≤ `{MOST}`" if size > MOST else "≥ `1`", raw)
    return int(size)


class Cursors:
    """The bookmarks behind the cursors given out."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._bookmarks: OrderedDict[str, CursorState] = OrderedDict()

    def turn(
        self, scope: str, items: Sequence[Item], key: Callable[[Item], str], wanted: Window
    ) -> tuple[Sequence[Item], str | None]:
        """The wanted part of *items*, and the cursor of the next one if there is more."""
        start = self._start(scope, items, key, wanted.cursor)
        end = start + wanted.size
        following = self._give(CursorState(scope, key(items[end]), end)) if end < len(items) else None
        return items[start:end], following

    def _start(self, scope: str, items: Sequence[Item], key: Callable[[Item], str], cursor: str | None) -> int:
        if cursor is None:
            return 0
        # A cursor is a random identifier that holds for one list: Notion may change the format of its cursors any day
        # ("Versioning"), so nobody may read them, and a client that tries must fail here.
        bookmark = self._bookmarks.get(cursor)
        if bookmark is None or bookmark.scope != scope:
            raise invalid(f"The start_cursor provided is invalid: {cursor}")
        found = (position for position, item in enumerate(items) if key(item) == bookmark.key)
        # An item that has gone must not end the list, nor begin it anew.
        return next(found, bookmark.offset)

    def _give(self, bookmark: CursorState) -> str:
        cursor = self._new_id()
        self._bookmarks[cursor] = bookmark
        if len(self._bookmarks) > CURSORS_KEPT:
            # The oldest: a sandbox that runs for days must not grow without end.
            self._bookmarks.popitem(last=False)
        return cursor
