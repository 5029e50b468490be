"""Parameters and results of the tables operations."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from connector_gateway.connectors.tables import urls
from connector_gateway.kit.identifier_urls import id_or_url, name_or_url
from connector_gateway.kit.models import Cursor, Name, Params, Result, TextPattern, UtcDatetime

MAX_RECORDS = 10
"""Maximum records per call. The operation rejects more with a specific code."""

MAX_URL = 4000

Fields = dict[str, Any]

BaseId = Annotated[
    str,
    Field(max_length=200),
    TextPattern(r"^app[A-Za-z0-9]+$", "Should be `app` followed by letters and digits"),
    id_or_url("a base", *urls.BASE),
]
RecordId = Annotated[
    str,
    Field(max_length=200),
    TextPattern(r"^rec[A-Za-z0-9]+$", "Should be `rec` followed by letters and digits"),
    id_or_url("a record", *urls.RECORD),
]
TableName = Annotated[Name, name_or_url(*urls.TABLE)]
ViewName = Annotated[Name, name_or_url(*urls.VIEW)]


def _absent(value: object) -> bool:
    return value is None


class ReadRecords(Params):
    """The records to read."""

    base_id: BaseId
    """Base to read from."""

    table: TableName
    """Table name or identifier."""

    view: ViewName | None = None
    """View name or identifier. Its own filter and order apply."""

    limit: Annotated[int, Field(ge=1, le=100)] = 50
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response, valid for some minutes."""


class Record(Result):
    """A record of a table."""

    record_id: str
    fields: Fields
    """Field name to value, without empty fields."""

    created_at: UtcDatetime


class CreateRecords(Params):
    """Records to create in one table."""

    base_id: BaseId
    """Base holding the table."""

    table: TableName
    """Table name or identifier."""

    records: Annotated[list[Fields], Field(min_length=1, json_schema_extra={"maxItems": MAX_RECORDS})]
    """One to ten objects of field name to value. Values are cast to the field's type, and rejected if that would lose
    data."""

    allow_new_options: Annotated[bool, BeforeValidator(lambda value: value is not None and value)] = False
    """Let a select field gain an option it lacks. By default, the record fails."""


class FailedRecord(Result):
    """One error of a record that was not created. A record may have several."""

    index: int
    """The record's position in ``records``, from 0."""

    error: Literal["select_option_missing", "lossy_cast", "read_only_field", "field_not_found", "upstream_refused"]
    field: str | None
    """The invalid field. Null if the vendor rejected the record without naming one."""

    value: Any
    did_you_mean: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The most similar field or option, if one is similar."""

    vendor_code: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The vendor's error code, if there is one."""

    vendor_message: Annotated[str | None, Field(exclude_if=_absent)] = None
    """The vendor's reason, if there is one."""


class CreatedRecords(Result):
    """The created records, and the errors of the others."""

    created: list[str]
    """Identifiers of the created records, in the order of the request."""

    failed: list[FailedRecord]

    @property
    def complete(self) -> bool:
        """Whether every record was created."""
        return not self.failed

    @property
    def failed_parts(self) -> list[FailedRecord]:
        """The errors of the records that were not created."""
        return self.failed


class UpdateRecord(Params):
    """The changes of a record."""

    record_id: RecordId
    base_id: BaseId
    """Base holding the record."""

    table: TableName
    """Table name or identifier."""

    fields: Annotated[Fields, Field(min_length=1)]
    """Field name to value, or null to clear. Only fields sent are changed, and computed fields are rejected."""


class UpdatedRecord(Result):
    """The updated record."""

    record_id: str
    updated_fields: list[str]
    """Names of the written fields."""

    updated_at: UtcDatetime


class AttachFile(Params):
    """A file to attach to a record."""

    record_id: RecordId
    """Record to attach the file to."""

    field: Name
    """Attachment field name on the table."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_URL)]
    """Publicly reachable http or https URL of the file."""

    filename: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    """Display name. By default, the last path segment of the URL."""


class AttachedFile(Result):
    """The created attachment. Earlier attachments in the field are retained."""

    record_id: str
    field: str
    attachment_id: str
    filename: str
    size_bytes: int


class ListTables(Params):
    """The base to describe."""

    base_id: BaseId
    """Base to describe."""

    include_views: bool = True
    """Include the view list of each table."""


class TableField(Result):
    """A field of a table."""

    name: str
    type: str
    """The vendor's type, such as ``singleSelect`` or ``number``."""


class Table(Result):
    """A table of a base."""

    table: str
    """Table name."""

    table_id: str
    primary_field: str
    fields: list[TableField]
    views: Annotated[list[str] | None, Field(exclude_if=_absent)] = None
    """View names, if requested."""
