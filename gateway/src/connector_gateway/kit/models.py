"""The base models of operations' parameters and results."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from secrets import token_hex
from typing import Annotated, Any, Generic, LiteralString, TypeVar

import msgspec
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializationInfo,
    SerializeAsAny,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema, to_json

from connector_gateway.kit.attribute_docstrings import Described

Item = TypeVar("Item")

Position = Mapping[str, Any]
"""The end of a page, in the connector's own terms. Callers receive it signed, as ``next_cursor``."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Marks a text parameter in which the vendor notifies the people who are mentioned."""

    neutralise: Callable[[str], str]
    """Returns the text with its mentions readable but without notifying anyone."""


class Params(Described):
    """The parameters of an operation. Attribute docstrings are published as descriptions."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        defer_build=True,
        allow_inf_nan=False,
        arbitrary_types_allowed=True,
        validate_by_alias=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _remove_nulls(cls, values: Any) -> Any:
        """Remove optional parameters that are null, which is equivalent to leaving them out."""
        if not isinstance(values, dict) or None not in values.values():
            return values
        optional = {declared.alias or name for name, declared in cls.model_fields.items() if not declared.is_required()}
        return {name: value for name, value in values.items() if value is not None or name not in optional}


class Result(Described):
    """The result of an operation: one object."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        serialize_by_alias=True,
        validate_by_name=True,
    )

    @property
    def complete(self) -> bool:
        """Whether all the work was done. If not, the envelope's status is ``partial``."""
        return True

    @property
    def failed_parts(self) -> Sequence["Result"]:
        """The parts that were not done, which a dry run reports."""
        return ()


class WithheldRequest(Result):
    """A request that a dry run did not send."""

    step: str
    """The purpose of the request."""

    method: str
    path: str
    """Its path and query. `new-…` stands for an identifier that the response to an earlier request would contain."""

    body: Any
    """Its JSON body. Null if the body is not JSON, is larger than 256 KiB, or has a preview."""

    body_bytes: int
    preview: Any = Field(default=None, exclude_if=lambda preview: preview is None)
    """The content of a body that a person cannot read: the fields of an email, or the name and the size of a file."""


class CastValue(Result):
    """A value of the call, and the value that would be written."""

    parameter: str
    """Its path in the call, such as `properties.Due`."""

    type: str
    """The type of the property or field that it is written to, in the vendor's terms."""

    given: Any
    written: Any


class DryRunResult(Result):
    """The effects of a write, without writing."""

    requests: Sequence[WithheldRequest]
    """The requests that would be sent, in order."""

    casts: Sequence[CastValue]
    """Every value that would be cast to a type of the vendor's schema."""

    refused: Sequence[SerializeAsAny[Result]]
    """The parts of a batch that would not be done, and the reasons."""

    notifies: Sequence[str]
    """Those whom the vendor would notify, as far as the call names them: recipients, members of a channel, mentions,
    and people in properties. Others may have subscribed to changes."""

    @property
    def complete(self) -> bool:
        """Whether all the work would be done."""
        return not self.refused


class Page(BaseModel, Generic[Item]):
    """One page of a list, and the position of the next one, if there is one."""

    model_config = ConfigDict(frozen=True, defer_build=True, arbitrary_types_allowed=True)

    items: Sequence[Item]
    position: Position | None = None
    warnings: Sequence[str] = ()
    """Sentences about the list, which are returned as warnings with the response."""


class Listing(BaseModel, Generic[Item]):
    """A list that is always complete."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    items: Sequence[Item]


NO_INSTANT: LiteralString = "Input should be an ISO 8601 date and time"
"""The message about a value that is not a timestamp."""

NO_OFFSET: LiteralString = "a time needs an offset: add Z for UTC, or one such as +01:00"
"""The message about a time without an offset, which does not identify an instant."""


class OffsetMissing(ValueError):
    """A time has no offset."""

    def __init__(self) -> None:
        super().__init__(NO_OFFSET)


def parse_instant(text: str) -> datetime:
    """Parse an ISO 8601 text to an instant in UTC. A date alone is its midnight in UTC.

    Raises ``OffsetMissing`` for a time without an offset, and ``ValueError`` or ``OverflowError`` for other texts.
    """
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None and not _is_date(text):
        raise OffsetMissing
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _validate_instant(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_instant(value)
    except OffsetMissing as error:
        raise PydanticCustomError("timestamp", "Input should be an instant: " + NO_OFFSET) from error
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("timestamp", NO_INSTANT) from error


def format_timestamp(moment: datetime) -> str:
    """Format *moment* as in responses: in UTC with three decimals, so that texts sort by time."""
    # Python's own ``isoformat`` takes eight times as long, a hundredth of a call that returns one timestamp.
    to_seconds = msgspec.json.encode(moment.astimezone(UTC))[1 : 1 + len("2026-11-02T09:30:00")].decode()
    return f"{to_seconds}.{_THOUSANDTHS[moment.microsecond // 1000]}Z"


_THOUSANDTHS = [f"{number:03}" for number in range(1000)]


UtcDatetime = Annotated[
    datetime,
    BeforeValidator(_validate_instant),
    PlainSerializer(format_timestamp, when_used="json-unless-none"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-02T09:30:00.000Z"]}),
]
"""An ISO 8601 date and time with an offset. A date alone is its midnight in UTC."""


def _validate_day(value: object) -> object:
    if not isinstance(value, str):
        return value
    # Python also reads other forms, such as 20261102 and 2026-W45-1.
    if not (re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII) and _is_date(value)):
        raise PydanticCustomError("day", "Input should be a date such as 2026-11-02")
    return date.fromisoformat(value)


Day = Annotated[date, BeforeValidator(_validate_day)]
"""A date without a time."""


@dataclass(frozen=True)
class TextPattern:
    """The form of a text. It is published as a pattern, but described in words in messages."""

    pattern: str
    words: LiteralString

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the text, followed by that of its form."""
        form = core_schema.str_schema(pattern=self.pattern)
        described_form = core_schema.custom_error_schema(form, "form", custom_error_message=self.words)
        return core_schema.chain_schema([handler(source), described_form])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the text with its pattern."""
        return {**handler(schema), "pattern": self.pattern}


NON_EMPTY = TextPattern(r"\S", "Should not be blank")

Identifier = Annotated[
    str,
    Field(min_length=1, max_length=200),
    TextPattern(
        r"^[A-Za-z0-9][A-Za-z0-9._:\-]*$",
        "Should consist of letters, digits, dots, underscores, colons and hyphens, and start with a letter or a digit",
    ),
]
"""The vendor's identifier of an object."""

IDEMPOTENCY_FIELD = "idempotency_key"
"""A ``Params`` with a field of this name lets callers repeat the call safely by its body."""

IdempotencyKey = Annotated[str, Field(min_length=1, max_length=1000)]
"""Any caller-generated string."""

Cursor = Annotated[str, Field(min_length=1, max_length=8192, json_schema_extra={"pattern": "^[A-Za-z0-9_-]+$"})]
"""``next_cursor`` of the previous response, unchanged."""

Name = Annotated[str, Field(min_length=1, max_length=1000)]
"""A name, exactly as the vendor returns it."""


# Files within JSON

BOUNDARY = token_hex(16)
"""A placeholder for a file in JSON. It is random, and cannot occur in other text."""


@dataclass(frozen=True, slots=True)
class Base64Bytes:
    """Bytes that are encoded as base64 only when they are sent. Until then they take a quarter less memory."""

    content: bytes

    def __len__(self) -> int:
        return (len(self.content) + 2) // 3 * 4

    def __bytes__(self) -> bytes:
        return b64encode(self.content)


Piece = bytes | Base64Bytes
"""A part of a text to send. ``bytes`` returns its encoded form, and ``len`` the length of that."""


def _write_base64(pieces: list[bytes], info: SerializationInfo) -> str:
    """Insert a placeholder for *pieces* if the context collects them, otherwise encode them."""
    if not isinstance(info.context, list):
        return b64encode(b"".join(pieces)).decode("ascii")
    info.context.append(pieces)
    return BOUNDARY


Base64 = Annotated[list[bytes], PlainSerializer(_write_base64), WithJsonSchema({"type": "string"})]
"""The bytes of a file that is returned as base64, in pieces whose lengths are multiples of three but for the last."""


def json_pieces(value: Any) -> list[Piece]:
    """Encode *value* as JSON: as one piece, unless it contains files, whose pieces are passed on without a copy."""
    files: list[list[bytes]] = []
    text = to_json(value, context=files)
    if not files:
        return [text]
    before, *after = text.split(BOUNDARY.encode())
    pieces: list[Piece] = [before]
    for file, following in zip(files, after, strict=True):
        pieces += [*map(Base64Bytes, file), following]
    return pieces
