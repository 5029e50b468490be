"""Parameters and results of the notes operations."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.notes import urls
from connector_gateway.kit.identifier_urls import id_or_url
from connector_gateway.kit.models import Cursor, IdempotencyKey, Name, Params, Result, TextPattern, UtcDatetime

UUID_FORM = r"^(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"

NotesId = Annotated[str, TextPattern(UUID_FORM, "Should be a UUID, with or without dashes")]
"""A UUID, with or without dashes."""

PageId = Annotated[NotesId, id_or_url("a page", *urls.PAGE)]
DatabaseId = Annotated[NotesId, id_or_url("a database", *urls.DATABASE)]

Properties = dict[str, Any]

BLOCK_KINDS = ("paragraph", "bulleted_list_item", "callout")

# Any value is accepted here, because invalid blocks have a separate error.
Block = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {
                    "title": "Block",
                    "type": "object",
                    "required": ["type", "text"],
                    "properties": {"type": {"type": "string", "enum": list(BLOCK_KINDS)}, "text": {"type": "string"}},
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
"""A block of a page's body."""


class ListDatabases(Params):
    """A filter for databases."""

    query: Annotated[str, Field(max_length=1000)] | None = None
    """Case-insensitive substring of the database title."""

    limit: Annotated[int, Field(ge=1, le=100)] = 25
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class NotesDatabase(Result):
    """A database shared with the connection."""

    database_id: str
    title: str
    properties: list[str]
    """Property names."""

    last_edited_at: UtcDatetime


class CreatePage(Params):
    """A page to create as a row of a database."""

    database_id: DatabaseId
    """Database that holds the new row."""

    properties: Properties
    """Property name to value. Values are cast to the property's type, and a lossy cast is rejected."""

    children: list[Block] = Field(default_factory=list, max_length=1000)
    """Body blocks: a string (a paragraph), or an object with ``type`` (paragraph, bulleted_list_item or callout) and
    ``text``."""

    idempotency_key: IdempotencyKey | None = None
    """Repeating it within 24 hours returns the first result and creates no second page."""


class CreatedPage(Result):
    """The created page."""

    page_id: str
    url: str
    created_at: UtcDatetime
    properties_written: int
    properties_skipped: list[str]
    """Names of computed properties, which cannot be written."""


class UpdatePage(Params):
    """The changes of a page: at least one of ``properties`` and ``archived``."""

    page_id: PageId
    properties: Properties | None = None
    """Only the properties sent are changed."""

    archived: bool | None = None
    """True moves the page to the trash, false restores it."""

    if_unmodified_since: UtcDatetime | None = None
    """If the page changed after this time, nothing is written. The vendor stores times in whole minutes only."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.properties is None and self.archived is None:
            raise PydanticCustomError(
                "nothing_to_do", "Should be given, unless archived is", {"parameter": "properties"}
            )
        return self


class UpdatedPage(Result):
    """The page after the change."""

    page_id: str
    updated: list[str]
    """Names of the properties written."""

    archived: bool
    last_edited_at: UtcDatetime


class SearchPages(Params):
    """A search within one database."""

    database_id: DatabaseId
    property: Name
    """Property name to match on."""

    value: Annotated[str, Field(max_length=2000)]
    """Compared as text, after trimming whitespace on both sides."""

    match: Literal["exact", "contains"] = "exact"


class FoundPage(Result):
    """A matching page."""

    page_id: str
    title: str
    matched_on: str
    """The property name matched."""


class FoundPages(Result):
    """All matching pages."""

    match_count: int
    pages: list[FoundPage]


class ReadNotesEvents(Params):
    """A filter for observed events."""

    since: UtcDatetime | None = None
    type: Literal["page.created", "page.property_updated"] | None = None
    """Only events of this type."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class NotesEvent(Result):
    """An observed change."""

    event_id: str
    type: str
    page_id: str
    property: str | None
    before: str | None = Field(alias="from")
    after: str | None = Field(alias="to")
    observed_at: UtcDatetime
