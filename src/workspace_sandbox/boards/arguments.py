"""Reads what a caller sent by query, form or JSON as one set of arguments."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from workspace_sandbox.boards.state import Place, stamp
from workspace_sandbox.boards.wire import Refusal, invalid
from workspace_sandbox.kit.clock import instant
from workspace_sandbox.kit.strict_json import parse_json

IDENTIFIER = re.compile(r"[0-9a-fA-F]{24}")
SHORT_LINK = re.compile(r"[0-9A-Za-z]{8}")

LONGEST_TEXT = 16_384
"""Characters in a name, description or comment, by the vendor's OpenAPI document."""

FLAGS = {"true": True, "false": False, "1": True, "0": False}

MOST = 1000
"""The largest ``limit`` of any collection."""


async def arguments_of(request: web.Request) -> "Arguments":
    """The arguments of *request*; those of the body win over those of the query."""
    # The same arguments are taken from query, form and JSON alike. ``py-trello`` sends JSON, older clients the query.
    raw: dict[str, Any] = {name: ",".join(request.query.getall(name)) for name in request.query}
    if not request.body_exists:
        return Arguments(raw)
    if request.content_type == "application/json":
        return Arguments(raw | _json_body(await request.read()))
    return Arguments(raw | {name: _part(value) for name, value in (await request.post()).items()})


def _part(value: str | bytes | bytearray | web.FileField) -> Any:
    if isinstance(value, web.FileField):
        return Upload(value.filename, value.content_type, value.file.read())
    return value if isinstance(value, str) else value.decode(errors="replace")


def _json_body(content: bytes) -> dict[str, Any]:
    try:
        raw = parse_json(content or b"{}")
    except (ValueError, RecursionError):
        raise Refusal(400, "Error parsing body: invalid JSON") from None
    return raw if isinstance(raw, dict) else {}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a form."""

    name: str
    type: str
    content: bytes


class Arguments:
    """Arguments by the vendor's names, read with the vendor's strictness.

    ``label`` is what a refusal calls them when they came under another name, as in ``PUT …/{field}`` with ``value``.
    """

    def __init__(self, raw: Mapping[str, Any], label: str | None = None) -> None:
        self._raw = raw
        self._label = label

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def raw(self, name: str) -> Any:
        """The value as it came, or none."""
        return self._raw.get(name)

    def refusal(self, name: str) -> Refusal:
        """What is answered when *name* is missing or malformed."""
        return invalid(self._label or name)

    def having(self, **more: Any) -> "Arguments":
        """The same with *more*."""
        return Arguments({**self._raw, **more}, self._label)

    def renamed(self, old: str, new: str) -> "Arguments":
        """The same with *old* called *new*, and refused as *old*."""
        return Arguments({new if name == old else name: value for name, value in self._raw.items()}, label=old)

    def given(self, name: str) -> bool:
        """Whether *name* has a value that means something; empty and null do not."""
        return self._raw.get(name) not in (None, "", "null")

    def text(self, name: str, *, shortest: int = 0) -> str:
        """A string within the vendor's lengths; absent and null read as empty."""
        value = self._raw.get(name)
        value = "" if value is None else value
        if not isinstance(value, str) or not shortest <= len(value) <= LONGEST_TEXT:
            raise self.refusal(name)
        # A lone half of a surrogate pair cannot be stored as UTF-8; JSON lets it through.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def name(self, *, error: str) -> str:
        """A name; its refusal is one of the vendor's few in JSON, and carries *error*."""
        try:
            return self.text("name", shortest=1)
        except Refusal as refusal:
            raise Refusal(400, {"message": refusal.body, "error": error}) from None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false, as JSON or as a word."""
        value = self._raw.get(name, default)
        if isinstance(value, bool):
            return value
        if str(value).lower() not in FLAGS:
            raise self.refusal(name)
        return FLAGS[str(value).lower()]

    def identifier(self, name: str) -> str:
        """One 24-character id; short links do not count."""
        value = self._raw.get(name)
        if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
            raise self.refusal(name)
        return value.lower()

    def identifiers(self, name: str) -> list[str]:
        """Ids as a comma list or an array; each may be named once only."""
        found = self.words(name) or []
        if not all(IDENTIFIER.fullmatch(word) for word in found):
            # One of the few refusals in JSON. Most are plain text, so a client has to look at the content type.
            raise Refusal(400, {"message": "Invalid objectId", "error": "ERROR"})
        # An id that is named twice has been refused since spring 2025 (changelog of TrelloDotNet 2.0.4).
        if len(set(found)) < len(found):
            raise self.refusal(name)
        return [word.lower() for word in found]

    def words(self, name: str) -> list[str] | None:
        """A comma list or an array of strings; none if it was not sent."""
        value = self._raw.get(name)
        if value is None:
            return None
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise self.refusal(name)
        return [part.strip() for part in parts if part.strip()]

    def fields(self, name: str = "fields") -> list[str] | None:
        """The wanted fields; none means all of them."""
        wanted = self.words(name)
        return None if wanted is None or "all" in wanted else wanted

    def date(self, name: str) -> str | None:
        """An ISO date in the vendor's own form; null and empty take it away."""
        return stamp(self._seconds(name)) if self.given(name) else None

    def bound(self, name: str) -> float | str | None:
        """A ``since`` or ``before``: an id, or the seconds of a date."""
        value = self._raw.get(name)
        if not self.given(name):
            return None
        return value.lower() if isinstance(value, str) and IDENTIFIER.fullmatch(value) else self._seconds(name)

    def place(self, name: str = "pos", default: Place = "bottom") -> Place:
        """``top``, ``bottom`` or a positive number."""
        value = self._raw.get(name)
        if value in (None, "", "top", "bottom"):
            return str(value or default) if isinstance(default, str) else default
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            raise self.refusal(name)
        return number

    def number(self, name: str, default: int, most: int = MOST) -> int:
        """A whole number from 0 to *most*."""
        value = self._raw.get(name, default)
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)) or int(value) > most:
            raise self.refusal(name)
        return int(value)

    def choice(self, name: str, options: Mapping[str, Any] | frozenset[str], default: str) -> str:
        """One of *options*."""
        value = self._raw.get(name)
        if value in (None, ""):
            return default
        if not isinstance(value, str) or value not in options:
            raise self.refusal(name)
        return value

    def nested(self, singular: str) -> "Arguments":
        """What is asked of a nested resource, as if its own route had been asked.

        ``cards=open&card_fields=name&cards_limit=9`` read as ``card`` becomes ``filter=open&fields=name&limit=9``.
        """
        plural = f"{singular}s"
        kept = {name: value for name, value in self._raw.items() if name.startswith("checkItem")}
        for name, value in self._raw.items():
            for prefix in (f"{plural}_", f"{singular}_"):
                if name.startswith(prefix):
                    kept[name.removeprefix(prefix)] = value
        asked = self._raw.get(plural)
        return Arguments(kept | ({"filter": asked} if isinstance(asked, str) and asked.lower() not in FLAGS else {}))

    def asks_for(self, name: str) -> bool:
        """Whether the nested resource *name* is wanted at all."""
        return str(self._raw.get(name, "none")).lower() not in {"none", "false", "0", ""}

    def _seconds(self, name: str) -> float:
        try:
            moment = datetime.fromisoformat(str(self._raw.get(name)))
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            instant(seconds)
        except (ValueError, OverflowError):
            raise self.refusal(name) from None
        return seconds
