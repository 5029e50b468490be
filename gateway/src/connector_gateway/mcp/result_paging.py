"""Parts of results: as many items as agents can read at once, and a cursor that leads to the rest.

Such a cursor is the cursor of the call, followed by the items to skip, and by the characters to skip in the texts of
the first item: ``<cursor>.12``, ``.3.20000``.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Self, get_args, get_origin

import msgspec
from pydantic import BaseModel
from pydantic_core import to_json

from connector_gateway.kit.errors import InvalidCursor, ResultTooLarge
from connector_gateway.kit.models import Listing, Page
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.mcp.text_escaping import disarm

MAX_CHARACTERS = 20_000
"""The maximum length of a result as JSON, about 5,000 tokens."""

MAX_ITEM_CHARACTERS = 128 * 1024
"""The maximum length of an item of short texts, which is returned whole."""

TEXT_LIMITS = (10_000, 2_500, 500, 200)
"""The lengths to which texts are cut, tried in order."""

RESERVED = 300
"""Characters for the fields that a part adds."""

CURSOR = "cursor"
FORM = re.compile(r"([A-Za-z0-9_-]*)(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?")

Body = dict[str, Any]


class _CursorArgument(msgspec.Struct):
    """The part of the arguments that says where to continue."""

    cursor: Any = None


@dataclass(frozen=True)
class Start:
    """The start of a part."""

    cursor: str = ""
    """The cursor of the operation. Empty for the first page."""

    items: int = 0
    """Items of the page to skip."""

    characters: int = 0
    """Characters to skip in the texts of the first item."""

    @classmethod
    def parse(cls, arguments: bytes) -> Self:
        """Return the start that JSON *arguments* specify. Raises ``InvalidCursor``, but not for other violations."""
        try:
            cursor = msgspec.json.decode(arguments or b"{}", type=_CursorArgument).cursor
        except msgspec.DecodeError:
            return cls()
        if not isinstance(cursor, str):
            return cls()
        match = FORM.fullmatch(cursor)
        if match is None:
            raise InvalidCursor("The cursor was not issued for this request.", {"parameter": CURSOR})
        return cls(match[1], int(match[2] or 0), int(match[3] or 0))

    def __str__(self) -> str:
        """Return the cursor for agents."""
        return self.cursor + f".{self.items}.{self.characters}".removesuffix(".0").removesuffix(".0")


def items_field(operation: AnyOperation) -> str | None:
    """Return the field of ``data`` with the items of a read: empty if ``data`` is a list, None if it has no items."""
    if operation.scope == "write":
        return None
    if issubclass(operation.result, Page | Listing):
        return ""
    for name, field in operation.item.model_fields.items():
        if get_origin(field.annotation) is list and _is_model(*get_args(field.annotation)):
            return name
    return None


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


def fit(body: Body, operation: AnyOperation, start: Start) -> Body:
    """Return *body* from *start* on, with as many items as fit, and ``next_cursor`` for the rest.

    Raises ``ResultTooLarge`` if it has no items to leave out.
    """
    field = items_field(operation)
    if field is None:
        return body if length(body) <= MAX_CHARACTERS else _shorten(body, operation)
    items = body["data"][field] if field else body["data"]
    rest = items[start.items :]
    if start.characters and rest:
        rest[0] = _cut(rest[0], start.characters, None)
    count = count_leading(rest, MAX_CHARACTERS - length(_with_items(body, field, [])) - RESERVED)
    if rest and not count:
        return _cut_item(body, field, items, start)
    part = _with_items(body, field, rest[:count])
    if count < len(rest):
        first, last = start.items + 1, start.items + count
        part["truncated"] = f"Items {first} to {last} of {len(items)}. The others follow with next_cursor."
    return part | _next_cursor(body, replace(start, items=start.items + count, characters=0), len(items))


def _cut_item(body: Body, field: str, items: list[Any], start: Start) -> Body:
    """Return *body* with one item whose long texts are cut, or which is whole if it has none."""
    item = items[start.items]
    complete_item = _cut(item, start.characters, None)
    for limit in TEXT_LIMITS:
        cut = _cut(item, start.characters, limit)
        part = _with_items(body, field, [cut])
        end = start.characters + limit
        part["truncated"] = (
            f"Texts of item {start.items + 1} end after {end:,} characters. The rest follows with next_cursor."
        )
        if cut != complete_item and length(part) <= MAX_CHARACTERS:
            return part | {"next_cursor": str(replace(start, characters=end))}
    part = _with_items(body, field, [complete_item])
    if length(part) > MAX_ITEM_CHARACTERS:
        raise too_large(length(part))
    return part | _next_cursor(body, replace(start, items=start.items + 1, characters=0), len(items))


def _next_cursor(body: Body, following: Start, total: int) -> Body:
    """Return the cursor of the *following* part, which is on the next page if this one has no more of *total* items."""
    if following.items < total:
        return {"next_cursor": str(following)}
    cursor = body.get("next_cursor")
    return {"next_cursor": str(Start(cursor, following.items - total)) if cursor else None}


def count_leading(items: list[Any], space: int) -> int:
    """Return how many of the first *items* fit into *space* characters."""
    for count, item in enumerate(items):
        space -= length(item) + 1
        if space < 0:
            return count
    return len(items)


def _with_items(body: Body, field: str, items: list[Any]) -> Body:
    return body | {"data": body["data"] | {field: items} if field else items}


def _cut(value: Any, start: int, limit: int | None) -> Any:
    """Return *value* with the characters of its texts from *start* on, at most *limit* of each."""
    if isinstance(value, list):
        return [_cut(item, start, limit) for item in value]
    if isinstance(value, dict):
        return {name: _cut(item, start, limit) for name, item in value.items()}
    # Short texts, such as identifiers, are in every part.
    if not isinstance(value, str) or len(value) <= TEXT_LIMITS[-1]:
        return value
    end = None if limit is None else start + limit
    piece = value[start:end]
    return f"{'…' if start else ''}{piece}{'…' if end is not None and end < len(value) else ''}"


def _shorten(body: Body, operation: AnyOperation) -> Body:
    """Return *body* with cut texts. Results of writes are returned even if they do not fit: the write took effect."""
    if operation.scope == "read":
        raise too_large(length(body))
    for limit in TEXT_LIMITS:
        note = f"Texts end after {limit:,} characters."
        part = body | {"data": _cut(body["data"], 0, limit), "truncated": note}
        if length(part) <= MAX_CHARACTERS:
            break
    return part


def too_large(size: int) -> ResultTooLarge:
    """Return the error for a result of *size* characters."""
    return ResultTooLarge(f"The result has {size:,} characters, and tools return at most {MAX_CHARACTERS:,}.")


def length(value: Any) -> int:
    """Return the characters of *value* as JSON for agents."""
    return len(disarm(to_json(value).decode()))
