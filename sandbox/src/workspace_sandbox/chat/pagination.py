"""Slack's opaque cursors, and pages that are cut before they are filtered."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from workspace_sandbox.chat.error_responses import ApiError

T = TypeVar("T")


def encode_cursor(kind: str, key: str) -> str:
    """Return the cursor of the page that begins at *key*."""
    return base64.b64encode(f"{kind}:{key}".encode()).decode()


def decode_cursor(kind: str, cursor: str) -> str:
    """Return the key at which the page of *cursor* begins."""
    try:
        match, colon, key = base64.b64decode(cursor, validate=True).decode().partition(":")
    except ValueError:
        raise ApiError("invalid_cursor") from None
    if match != kind or not colon:
        raise ApiError("invalid_cursor")
    return key


def paginate(
    everything: Mapping[str, T], kind: str, cursor: str | None, limit: int
) -> tuple[Sequence[T], dict[str, Any]]:
    """Return the page of *everything* that begins at *cursor*, and the cursor of the next page."""
    keys = list(everything)
    try:
        start = keys.index(decode_cursor(kind, cursor)) if cursor else 0
    except ValueError:
        raise ApiError("invalid_cursor") from None
    end = start + limit
    following = encode_cursor(kind, keys[end]) if end < len(keys) else ""
    return [everything[key] for key in keys[start:end]], {"response_metadata": {"next_cursor": following}}
