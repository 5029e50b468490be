"""What the tables operations accept and return."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from connector_gateway.connectors.tables import urls
from connector_gateway.kit.pasted_urls import id_or_url, name_or_url
from connector_gateway.kit.shapes import Cursor, Name, Params, Result, TextPattern, UtcDatetime

MAX_RECORDS = 10
"""Records per call; more are refused by the operation, under a code of their own."""

MAX_URL = 4000

Fields = dict[str, Any]

BaseId = Annotated[
    str,
    Field(max_length=200),
    TextPattern(r"^app[A-Za-z0-9]+$", "Should be an identifier of `app` and letters and digits"),
    id_or_url("a base", *urls.BASE),
]
RecordId = Annotated[
    str,
    Field(max_length=200),
    TextPattern(r"^rec[A-Za-z0-9]+$", "Should be an identifier of `rec` and letters and digits"),
    id_or_url("a record", *urls.RECORD),
]
TableName = Annotated[Name, name_or_url(*urls.TABLE)]
ViewName = Annotated[Name, name_or_url(*urls.VIEW)]


def _absent(value: object) -> bool:
    return value is None


class ReadRecords(Params):
    """Which records to read."""

    base_id: BaseId
    """Base to read from."""

    table: TableName
    """Table name or identifier."""

    view: ViewName | None = None
    """View name or identifier; its own filter and order apply."""

    limit: Annotated[int, Field(ge=1, le=100)] = 50
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response; it works for some minutes."""


class Record(Result):
    """A record of a table."""

    record_id: str
    fields: Fields
    """Field name to value; empty fields are left out."""

    created_at: UtcDatetime


class CreateRecords(Params):
    """Records to be made in one table."""

    base_id: BaseId
    """Base holding the table."""

    table: TableName
    """Table name or identifier."""

    records: Annotated[list[Fields], Field(min_length=1, json_schema_extra={"maxItems": MAX_RECORDS})]
    """One to ten objects of field name to value; values are cast to the field's type, and refused where that would
    lose something."""

    allow_new_options: Annotated[bool, BeforeValidator(lambda given: given is not None and given)] = False
    """Let a select field gain an option it lacks; otherwise the record fails."""


class FailedRecord(Result):
    """One thing that is wrong with a record, which was not made; a record may have several."""

    index: int
    """Its place in ``records``, from 0."""

    error: Literal["select_option_missing", "lossy_cast", "read_only_field", "field_not_found", "upstream_refused"]
    field: str | None
    """The field at fault; null when the application refused the record without saying which."""

    value: Any
    did_you_mean: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The field or option that was probably meant, where one is much like it."""

    vendor_code: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The application's own code for its refusal, where it gave one."""

    vendor_message: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The application's own reason, where it gave one."""


class CreatedRecords(Result):
    """What became of the records."""

    created: list[str]
    """Identifiers of the records made, in the order they were given."""

    failed: list[FailedRecord]

    @property
    def complete(self) -> bool:
        """Whether every record was made."""
        return not self.failed

    @property
    def failed_parts(self) -> list[FailedRecord]:
        """What is wrong with the others."""
        return self.failed


class UpdateRecord(Params):
    """What is to be changed of a record."""

    record_id: RecordId
    base_id: BaseId
    """Base holding the record."""

    table: TableName
    """Table name or identifier."""

    fields: Annotated[Fields, Field(min_length=1)]
    """Field name to value, null to clear; only the fields sent are changed, and computed fields are refused."""


class UpdatedRecord(Result):
    """The record after the change."""

    record_id: str
    updated_fields: list[str]
    """Names of the fields written."""

    updated_at: UtcDatetime


class AttachFile(Params):
    """A file to be added to a record."""

    record_id: RecordId
    """Record that holds the attachment."""

    field: Name
    """Attachment field name on the table."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_URL)]
    """Publicly reachable http or https link to the file."""

    filename: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Display name; otherwise the last path segment of the link."""


class AttachedFile(Result):
    """The attachment that was made; what the field held before is still there."""

    record_id: str
    field: str
    attachment_id: str
    filename: str
    size_bytes: int


class ListTables(Params):
    """Which base to describe."""

    base_id: BaseId
    """Base to describe."""

    include_views: bool = True
    """Include the view list of each table."""


class TableField(Result):
    """A field of a table."""

    name: str
    type: str
    """The application's own word, such as singleSelect or number."""


class Table(Result):
    """A table of a base."""

    table: str
    """Table name."""

    table_id: str
    primary_field: str
    fields: list[TableField]
    views: Annotated[list[str] | None, Field(exclude_if=_absent)] = None
    """View names, where they were asked for."""
