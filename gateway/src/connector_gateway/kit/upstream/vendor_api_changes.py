"""Signs in a response that a vendor changes its API: announcements in headers, and fields that no shape declares."""

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from msgspec import inspect

from connector_gateway.kit.upstream.pool import parse_date
from connector_gateway.kit.upstream.redaction import redact
from connector_gateway.kit.vendor_model import UnexpectedShape, decode_json

ChangeKind = Literal["shape", "error", "field", "deprecation", "sunset", "warning", "version"]

UNDATED = "undated"
"""The place of an announcement without a readable date."""

OTHER = "other"
"""The place of names that are not identifiers. They could be content, or break a log."""

MAX_FIELDS = 20
"""The maximum number of unknown fields reported of one response."""

MAX_ITEMS = 20
"""The maximum number of items of a list, or values of a map, that are compared."""

MAX_COMPARED_BYTES = 256 * 1024
"""Larger responses are not compared, because parsing them would delay other calls."""

_NAME = re.compile(r"[A-Za-z$@_][A-Za-z0-9$@_.:-]{0,63}", re.ASCII)
_EPOCH_SECONDS = re.compile(r"@-?[0-9]{1,12}", re.ASCII)
_LITERAL_SEGMENT = re.compile(
    r"[a-z]{2,20}(?:[A-Z_.-][a-z]{1,20}){0,4}|v[0-9]{1,2}|[0-9]{4}-[0-9]{2}|\{[a-z_]+\}", re.ASCII
)


class VendorChange(NamedTuple):
    """A sign of a change. *place* is a field's path, a code, a version or a date, and never a value."""

    kind: ChangeKind
    place: str


def mask_path(path: str) -> str:
    """Return the endpoint of *path*, with ``{}`` for each segment that is not literally part of the vendor's API."""
    return "/".join(
        segment if not segment or _LITERAL_SEGMENT.fullmatch(segment) or (index == 1 and segment.isdecimal()) else "{}"
        for index, segment in enumerate(path.split("/"))
    )


def sanitize_name(name: str) -> str:
    """Return *name* if it is an identifier without a secret of the connection, otherwise ``OTHER``."""
    return name if redact(name) == name and _NAME.fullmatch(name) else OTHER


def read_announcements(headers: Mapping[str, str]) -> Iterator[VendorChange]:
    """Yield what ``Deprecation`` (RFC 9745, and the dates and ``true`` of its drafts) and ``Sunset`` (RFC 8594) say."""
    if (deprecation := headers.get("Deprecation")) is not None:
        yield VendorChange("deprecation", _read_date(deprecation))
    if (sunset := headers.get("Sunset")) is not None:
        yield VendorChange("sunset", _read_date(sunset))


def _read_date(header: str) -> str:
    text = header.strip()
    try:
        at = datetime.fromtimestamp(int(text[1:]), UTC) if _EPOCH_SECONDS.fullmatch(text) else parse_date(text)
    except (OverflowError, OSError, ValueError):
        at = None
    return UNDATED if at is None else at.date().isoformat()


def find_unknown_fields(body: bytes, shape: Any, known: Collection[str]) -> Collection[str]:
    """Return the paths of fields in the JSON text *body* that neither *shape* declares nor *known* lists.

    Parts that a shape does not read are not compared, and neither are the names of a map, which are content.
    """
    if len(body) > MAX_COMPARED_BYTES:
        return ()
    try:
        value = decode_json(body, object)
    except UnexpectedShape:
        return ()
    paths: dict[str, None] = {}
    for path in _walk(value, _inspect(shape), "", known):
        paths[path] = None
        if len(paths) == MAX_FIELDS:
            break
    return paths


def _walk(value: object, kind: inspect.Type, path: str, known: Collection[str]) -> Iterator[str]:
    for alternative in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        match value, alternative:
            case dict(), inspect.StructType(fields=fields, tag_field=tag) if _is_struct(value, alternative):
                types = {field.encode_name: field.type for field in fields}
                for name, part in value.items():
                    if name in types:
                        yield from _walk(part, types[name], f"{path}.{name}" if path else name, known)
                    elif name != tag and name not in known:
                        yield f"{path}.{sanitize_name(name)}" if path else sanitize_name(name)
            case dict(), inspect.DictType(value_type=item_type):
                for part in list(value.values())[:MAX_ITEMS]:
                    yield from _walk(part, item_type, f"{path}{{}}", known)
            case list(), inspect.CollectionType(item_type=item_type):
                for part in value[:MAX_ITEMS]:
                    yield from _walk(part, item_type, f"{path}[]", known)


def _is_struct(value: Mapping[str, object], struct: inspect.StructType) -> bool:
    """Return True if *value* has the tag of *struct*, or if that has none."""
    return struct.tag_field is None or value.get(struct.tag_field) == struct.tag


@cache
def _inspect(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)
