"""The parameters of a request, from its query, form or JSON body."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from workspace_sandbox.boards.data.objects import Position
from workspace_sandbox.boards.error_responses import ApiError, invalid
from workspace_sandbox.kit.clock import format_timestamp, to_datetime
from workspace_sandbox.kit.strict_json import parse_json

IDENTIFIER = re.compile(r"[0-9a-fA-F]{24}")
SHORT_LINK = re.compile(r"[0-9A-Za-z]{8}")

MAX_TEXT_LENGTH = 16_384
"""Maximum number of characters in a name, description or comment, from the vendor's OpenAPI document."""

FLAGS = {"true": True, "false": False, "1": True, "0": False}

MAX_LIMIT = 1000
"""Maximum ``limit`` of any collection."""


async def read_arguments(request: web.Request) -> "Arguments":
    """Return the parameters of *request*. Those of the body take precedence over the query."""
    # Trello accepts the same parameters in query, form and JSON. ``py-trello`` sends JSON, older clients the query.
    raw: dict[str, Any] = {name: ",".join(request.query.getall(name)) for name in request.query}
    if not request.body_exists:
        return Arguments(raw)
    if request.content_type == "application/json":
        return Arguments(raw | _json_body(await request.read()))
    return Arguments(raw | {name: _part(value) for name, value in (await request.post()).items()})


def _part(value: str | bytes | bytearray | web.FileField) -> Any:
    if isinstance(value, web.FileField):
        return FormFile(value.filename, value.content_type, value.file.read())
    return value if isinstance(value, str) else value.decode(errors="replace")


def _json_body(content: bytes) -> dict[str, Any]:
    try:
        raw = parse_json(content or b"{}")
    except (ValueError, RecursionError):
        raise ApiError(400, "Error parsing body: invalid JSON") from None
    return raw if isinstance(raw, dict) else {}


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file in a form."""

    name: str
    type: str
    content: bytes


class Arguments:
    """Parameters by the vendor's names, with the vendor's validation.

    ``label`` is their name in errors if they were sent under another name, as in ``PUT …/{field}`` with ``value``.
    """

    def __init__(self, raw: Mapping[str, Any], label: str | None = None) -> None:
        self._raw = raw
        self._label = label

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def raw(self, name: str) -> Any:
        """Return the raw value, or None."""
        return self._raw.get(name)

    def error(self, name: str) -> ApiError:
        """Return the error for a missing or malformed *name*."""
        return invalid(self._label or name)

    def with_params(self, **more: Any) -> "Arguments":
        """Return a copy with *more* parameters."""
        return Arguments({**self._raw, **more}, self._label)

    def renamed(self, old: str, new: str) -> "Arguments":
        """Return a copy in which *old* is called *new*, but errors still name *old*."""
        return Arguments({new if name == old else name: value for name, value in self._raw.items()}, label=old)

    def has_value(self, name: str) -> bool:
        """Return True if *name* has a value other than an empty string or null."""
        return self._raw.get(name) not in (None, "", "null")

    def text(self, name: str, *, min_length: int = 0) -> str:
        """Return a string of valid length, or an empty string if *name* is missing or null."""
        value = self._raw.get(name)
        value = "" if value is None else value
        if not isinstance(value, str) or not min_length <= len(value) <= MAX_TEXT_LENGTH:
            raise self.error(name)
        # JSON can contain unpaired surrogates, which cannot be encoded as UTF-8.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def name(self, *, error: str) -> str:
        """Return a name. Its error is one of the few that Trello sends as JSON, with *error*."""
        try:
            return self.text("name", min_length=1)
        except ApiError as text_error:
            raise ApiError(400, {"message": text_error.body, "error": error}) from None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean, sent as JSON or as a word."""
        value = self._raw.get(name, default)
        if isinstance(value, bool):
            return value
        if str(value).lower() not in FLAGS:
            raise self.error(name)
        return FLAGS[str(value).lower()]

    def identifier(self, name: str) -> str:
        """Return a 24-character ID. Short links are not accepted."""
        value = self._raw.get(name)
        if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
            raise self.error(name)
        return value.lower()

    def identifiers(self, name: str) -> list[str]:
        """Return IDs from a comma-separated list or an array, without duplicates."""
        words = self.words(name) or []
        if not all(IDENTIFIER.fullmatch(word) for word in words):
            # One of the few errors in JSON. Most are plain text, so a client has to check the content type.
            raise ApiError(400, {"message": "Invalid objectId", "error": "ERROR"})
        # Trello has rejected duplicate IDs since spring 2025 (changelog of TrelloDotNet 2.0.4).
        if len(set(words)) < len(words):
            raise self.error(name)
        return [word.lower() for word in words]

    def words(self, name: str) -> list[str] | None:
        """Return strings from a comma-separated list or an array, or None if *name* is missing."""
        value = self._raw.get(name)
        if value is None:
            return None
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise self.error(name)
        return [part.strip() for part in parts if part.strip()]

    def fields(self, name: str = "fields") -> list[str] | None:
        """Return the requested fields, or None for all."""
        names = self.words(name)
        return None if names is None or "all" in names else names

    def date(self, name: str) -> str | None:
        """Return a date in the vendor's format, or None if it is null or empty."""
        return format_timestamp(self._parse_seconds(name)) if self.has_value(name) else None

    def time_or_id(self, name: str) -> float | str | None:
        """Return the value of ``since`` or ``before``, which is an ID or a date in seconds."""
        value = self._raw.get(name)
        if not self.has_value(name):
            return None
        return value.lower() if isinstance(value, str) and IDENTIFIER.fullmatch(value) else self._parse_seconds(name)

    def position(self, name: str = "pos", default: Position = "bottom") -> Position:
        """Return ``top``, ``bottom`` or a positive number."""
        value = self._raw.get(name)
        if value in (None, "", "top", "bottom"):
            return str(value or default) if isinstance(default, str) else default
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            raise self.error(name)
        return number

    def number(self, name: str, default: int, maximum: int = MAX_LIMIT) -> int:
        """Return an integer from 0 to *maximum*."""
        value = self._raw.get(name, default)
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)) or int(value) > maximum:
            raise self.error(name)
        return int(value)

    def choice(self, name: str, options: Mapping[str, Any] | frozenset[str], default: str) -> str:
        """Return one of *options*."""
        value = self._raw.get(name)
        if value in (None, ""):
            return default
        if not isinstance(value, str) or value not in options:
            raise self.error(name)
        return value

    def nested(self, singular: str) -> "Arguments":
        """Return the parameters of a nested resource, as if it had been requested on its own route.

        ``cards=open&card_fields=name&cards_limit=9`` read as ``card`` becomes ``filter=open&fields=name&limit=9``.
        """
        plural = f"{singular}s"
        nested_params = {name: value for name, value in self._raw.items() if name.startswith("checkItem")}
        for name, value in self._raw.items():
            for prefix in (f"{plural}_", f"{singular}_"):
                if name.startswith(prefix):
                    nested_params[name.removeprefix(prefix)] = value
        requested = self._raw.get(plural)
        return Arguments(
            nested_params
            | ({"filter": requested} if isinstance(requested, str) and requested.lower() not in FLAGS else {})
        )

    def is_requested(self, name: str) -> bool:
        """Return True if the nested resource *name* is requested."""
        return str(self._raw.get(name, "none")).lower() not in {"none", "false", "0", ""}

    def _parse_seconds(self, name: str) -> float:
        try:
            date = datetime.fromisoformat(str(self._raw.get(name)))
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
            to_datetime(seconds)
        except (ValueError, OverflowError):
            raise self.error(name) from None
        return seconds
