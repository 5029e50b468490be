"""Tables and blocks for terminals: rows as columns, nested objects as indented lines, long values truncated.

Untrusted data is printed as plain text, never as markup or terminal commands.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size

from connector_gateway.cli.control_char_escaping import escape_control_chars
from connector_gateway.kit.models import format_timestamp

GAP = "  "
NARROW = 16
"""The width to which text columns shrink before columns are dropped. Identifiers never shrink."""

MIN_WIDTH = 20
"""The minimum width of deeply nested values."""

ENCODER = msgspec.json.Encoder(decimal_format="number")
"""An encoder that preserves the digits of numbers."""

Row = Mapping[str, Any]


def format_timestamps(data: Any) -> Any:
    """Return *data* with timestamps in the format of the service."""
    if isinstance(data, datetime):
        return format_timestamp(data)
    if isinstance(data, Mapping):
        return {name: format_timestamps(value) for name, value in data.items()}
    return [format_timestamps(item) for item in data] if isinstance(data, list | tuple) else data


def format_cell(value: Any) -> str:
    """Return *value* as one line of text, with objects and lists as JSON."""
    if value is None:
        return ""
    text = format_timestamps(value)
    return escape_control_chars(text if isinstance(text, str) else ENCODER.encode(text).decode())


def format_inline(value: Any) -> str:
    """Return *value* as one line for people: lists with commas."""
    if isinstance(value, list | tuple) and not is_nested(value):
        return ", ".join(map(format_cell, value))
    return "" if value == {} else format_cell(value)


def is_nested(value: Any) -> bool:
    """Return True for values that need separate lines."""
    if isinstance(value, list | tuple):
        return any(isinstance(item, Mapping | list | tuple) for item in value)
    return isinstance(value, Mapping) and bool(value)


def count_visible_columns(widths: Sequence[int], width: int) -> int:
    """Return how many of the first columns fit into *width*, at least one."""
    used = -len(GAP)
    for number, column in enumerate(widths):
        used += column + len(GAP)
        if used > width:
            return max(1, number)
    return len(widths)


def format_rows(rows: Sequence[Row], names: Sequence[str], width: int) -> tuple[list[str], Sequence[str]]:
    """Return the lines of *rows*, nested ones as blocks, and the columns that do not fit."""
    if not any(is_nested(row.get(name)) for row in rows for name in names):
        return format_table(rows, names, width)
    blocks = [list(format_block({name: row.get(name) for name in names}, width)) for row in rows]
    return [line for block in blocks for line in ("", *block)][1:], []


def format_table(rows: Sequence[Row], names: Sequence[str], width: int) -> tuple[list[str], Sequence[str]]:
    """Return the lines of a table with the columns that fit into *width*, and the names of those that do not."""
    lines = [list(names), *([format_inline(row.get(name)) for name in names] for row in rows)]
    natural = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    # Truncated identifiers cannot be copied, and truncated timestamps cannot be compared.
    min_widths = [
        full if name.endswith(("_id", "_at")) else min(full, NARROW) for name, full in zip(names, natural, strict=True)
    ]
    visible = count_visible_columns(min_widths, width)
    widths = _widen(min_widths[:visible], natural, width)
    return [_join(line[:visible], widths) for line in lines], names[visible:]


def _widen(min_widths: Sequence[int], natural: Sequence[int], width: int) -> Sequence[int]:
    """Return the widths of columns, with the remaining space distributed from the first column on."""
    remaining = width - sum(min_widths) - len(GAP) * (len(min_widths) - 1)
    widths = []
    for smallest, full in zip(min_widths, natural, strict=False):
        more = max(0, min(remaining, full - smallest))
        remaining -= more
        widths.append(smallest + more)
    return widths


def _join(cells: Sequence[str], widths: Sequence[int]) -> str:
    sized = [set_cell_size(truncate(text, width), width) for text, width in zip(cells, widths, strict=True)]
    return GAP.join(sized).rstrip(" ")


def truncate(text: str, width: int) -> str:
    """Return *text*, shortened to *width* columns."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip(" ") + "…"


def format_block(data: Row, width: int, *, full: bool = False) -> Iterator[str]:
    """Yield a line for each field of *data*. Values are truncated to *width* unless *whole*."""
    label_width = max(
        (cell_len(escape_control_chars(name)) for name, value in data.items() if not is_nested(value)), default=0
    )
    for name, value in data.items():
        label = escape_control_chars(name)
        if is_nested(value):
            yield label
            yield from (f"{GAP}{line}".rstrip(" ") for line in _nested_lines(value, width - len(GAP)))
        else:
            available = max(MIN_WIDTH, width - label_width - len(GAP))
            text = format_inline(value) if full or name.endswith("_id") else truncate(format_inline(value), available)
            yield f"{set_cell_size(label, label_width)}{GAP}{text}".rstrip(" ")


def _nested_lines(value: Any, width: int) -> Iterable[str]:
    width = max(MIN_WIDTH, width)
    if isinstance(value, Mapping):
        return format_block(value, width)
    if all(isinstance(item, Mapping) for item in value):
        return format_rows(value, column_names(value), width)[0]
    return [truncate(format_inline(item), width) for item in value]


def column_names(rows: Iterable[Row]) -> Sequence[str]:
    """Return the names of all fields of *rows*, in the order in which they occur."""
    return list(dict.fromkeys(name for row in rows for name in row))
