"""The vendor's opaque cursors, and pages that are cut before they are filtered."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from workspace_sandbox.chat.wire import SlackError

T = TypeVar("T")


def cursor_of(kind: str, key: str) -> str:
    """The cursor of the page that begins at *key*."""
    return base64.b64encode(f"{kind}:{key}".encode()).decode()


def key_of(kind: str, cursor: str) -> str:
    """Where the page of *cursor* begins."""
    try:
        found, colon, key = base64.b64decode(cursor, validate=True).decode().partition(":")
    except ValueError:
        raise SlackError("invalid_cursor") from None
    if found != kind or not colon:
        raise SlackError("invalid_cursor")
    return key


def cut(everything: Mapping[str, T], kind: str, cursor: str | None, limit: int) -> tuple[Sequence[T], dict[str, Any]]:
    """The page of *everything* that begins at *cursor*, and what the answer says of the next one."""
    keys = list(everything)
    try:
        start = keys.index(key_of(kind, cursor)) if cursor else 0
    except ValueError:
        raise SlackError("invalid_cursor") from None
    end = start + limit
    following = cursor_of(kind, keys[end]) if end < len(keys) else ""
    return [everything[key] for key in keys[start:end]], {"response_metadata": {"next_cursor": following}}
