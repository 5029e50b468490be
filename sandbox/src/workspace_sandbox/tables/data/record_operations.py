"""The vendor's rules for changing records: atomic batches, upserts, deletions and uploads."""

import binascii
import re
import string
import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import cell_validation
from workspace_sandbox.tables.data.atomic_cell_changes import PendingWrite, set_cells, unlink
from workspace_sandbox.tables.data.state import Attachment, Base, Cells, Field, Record, Table, User, find, media_type
from workspace_sandbox.tables.data.webhooks import Webhook

ALPHABET = string.ascii_letters + string.digits
MAX_RECORDS = 10
MAX_MERGE_FIELDS = 3
MAX_UPLOAD_BYTES = 5 * 1024 * 1024
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
NEVER_FETCHED = float("inf")

Row = tuple[str | None, Mapping[str, Any]]
"""A record of a request: its optional id, and its fields as sent."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options and the author of a write."""

    user: User
    typecast: bool = False
    creates_options: bool = True
    clears_omitted: bool = False
    """Whether omitted fields are cleared."""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The result of an upsert, in the order of the request."""

    records: list[Record]
    created: list[str]
    updated: list[str]


@dataclass(slots=True)
class Workspace:
    """All bases, changed with the clock and random source of the emulator."""

    context: EmulatorContext
    users: tuple[User, ...]
    """The users who can authorise an OAuth app. The personal token belongs to the first."""

    bases: list[Base] = field(default_factory=list)
    id: str = "wspV5tKq8Zc3nRy1Lm"
    people: tuple[User, ...] = ()
    """The people in bases that are created later."""

    webhooks: dict[str, Webhook] = field(default_factory=dict)
    """The webhooks, oldest first."""

    def base(self, identifier: str) -> Base | None:
        """Return the base with that id, regardless of permissions."""
        return next((base for base in self.bases if base.id == identifier), None)

    def create(
        self, base: Base, table: Table, rows: Sequence[Mapping[str, Any]], options: WriteOptions
    ) -> list[Record]:
        """Create records from *rows*, in order and atomically."""
        return self.merge(base, table, [(None, row) for row in rows], [], options).records

    def update(self, base: Base, table: Table, rows: Sequence[Row], options: WriteOptions) -> list[Record]:
        """Update the records of *rows* atomically."""
        return self.merge(base, table, rows, [], options).records

    def merge(
        self, base: Base, table: Table, rows: Sequence[Row], keys: Sequence[str], options: WriteOptions
    ) -> MergeResult:
        """Update the records that *rows* name or match in the fields *keys*, and create the others."""
        merge_fields = [_writable(table, key) for key in keys]
        columns = [{key: _writable(table, key) for key in row} for _, row in rows]
        draft = self._draft(base, options)
        matches = [self._match(draft, table, row, merge_fields) for row in rows]
        # Check before writing: with two rows for one record, the result would be arbitrary.
        _check_unique([record.id for record in matches if record])
        for (_, row), row_columns, record in zip(rows, columns, matches, strict=True):
            values = {
                column.id: cell_validation.validate_cell(draft, column, record, row[key])
                for key, column in row_columns.items()
            }
            initial = _clear_values(table, options) if record else _defaults(table)
            draft.changes.append((table, record or self._record(options.user), initial | values))
        draft.apply()
        records = [record for _, record, _ in draft.changes]
        for record in records:
            record.modified_at, record.modified_by = self._current_second(), options.user
        created = [record.id for record, existing in zip(records, matches, strict=True) if existing is None]
        updated = [record.id for record in matches if record]
        return MergeResult(records, created, updated)

    def delete(self, base: Base, table: Table, identifiers: Sequence[str]) -> None:
        """Delete records atomically."""
        for identifier in identifiers:
            if identifier not in table.records:
                raise error_responses.no_such_row(identifier)
        # Delete only after all ids have been checked, so that the request is atomic.
        for identifier in dict.fromkeys(identifiers):
            record = table.records[identifier]
            set_cells(base, table, record, dict.fromkeys(record.cells))
            unlink(base, table, record)
            del table.records[identifier]

    def upload(
        self, base: Base, table: Table, record: Record, column: Field, body: Mapping[str, Any], *, user: User
    ) -> None:
        """Append a file to an attachment cell. Its base64 may contain line breaks."""
        if column.type != "multipleAttachments":
            raise error_responses.invalid_value(column.name)
        kind, encoded, filename = (_named_text(body, name) for name in ("contentType", "file", "filename"))
        if not MEDIA_TYPE.fullmatch(kind):
            raise error_responses.invalid_request("The contentType is not a media type")
        content = _decode(encoded)
        attachment = Attachment(self.new_id("att"), filename, kind, "", len(content), content=content)
        attachment.pixels = pixels(content)
        set_cells(base, table, record, {column.id: [*record.cells.get(column.id, ()), attachment]})
        record.modified_at, record.modified_by = self._current_second(), user

    def new_id(self, prefix: str) -> str:
        """Return an unused identifier."""
        return prefix + "".join(self.context.random.choices(ALPHABET, k=14))

    def _draft(self, base: Base, options: WriteOptions) -> PendingWrite:
        return PendingWrite(
            base,
            options.typecast,
            options.creates_options,
            self.new_id,
            self._fetch_later,
            lambda: self._record(options.user),
        )

    def _match(self, draft: PendingWrite, table: Table, row: Row, keys: Sequence[Field]) -> Record | None:
        """Return the record that a row refers to, or None if it has to be created."""
        identifier, fields = row
        if identifier is not None:
            if identifier not in table.records:
                raise error_responses.no_such_row(identifier)
            return table.records[identifier]
        if not keys:
            return None
        merge_values = {column.id: _merge_value(draft, column, fields) for column in keys}
        candidates = [
            record
            for record in table.records.values()
            if all(record.cells.get(key) == value for key, value in merge_values.items())
        ]
        if len(candidates) > 1:
            raise error_responses.invalid_request("Cannot upsert: more than one record matches the fields to merge on")
        return candidates[0] if candidates else None

    def _fetch_later(self, url: str, filename: str | None) -> Attachment:
        """Return an attachment by URL. It is fetched later, with generated content."""
        name = filename or cell_validation.url_filename(url)
        unreachable = cell_validation.url_host(url) in self.context.knobs["unreachable_hosts"]
        now, seconds = self.context.clock.now(), self.context.knobs["fetch_seconds"]
        requested_at, seconds = (0.0, NEVER_FETCHED) if unreachable else (now, seconds)
        size = 1024 + zlib.crc32(url.encode()) % 200_000
        return Attachment(self.new_id("att"), name, media_type(name), url, size, requested_at, seconds)

    def _record(self, user: User) -> Record:
        now = self._current_second()
        return Record(self.new_id("rec"), 0, now, user, now, user)

    def _current_second(self) -> float:
        """Return the current time. The vendor's times always have zero milliseconds."""
        return float(int(self.context.clock.now()))


def _writable(table: Table, key: str) -> Field:
    column = require(find(table.fields, key), error_responses.unknown_field(key))
    if column.type not in cell_validation.STRICT:
        raise error_responses.computed_field(column.name)
    return column


def _merge_value(draft: PendingWrite, column: Field, fields: Mapping[str, Any]) -> Any:
    """Return the value that a record must have to be matched."""
    key = next((key for key in (column.name, column.id) if key in fields), None)
    if key is None:
        raise error_responses.invalid_request(f'Field "{column.name}" to merge on is missing in a record')
    value = cell_validation.validate_cell(draft, column, None, fields[key])
    return None if value in ("", [], False) else value


def _clear_values(table: Table, options: WriteOptions) -> Cells:
    return {
        column.id: None for column in table.fields if options.clears_omitted and column.type in cell_validation.STRICT
    }


def _defaults(table: Table) -> Cells:
    return {column.id: column.default for column in table.fields if column.default is not None}


def _check_unique(identifiers: Sequence[str]) -> None:
    if len(set(identifiers)) < len(identifiers):
        raise error_responses.invalid_records("You cannot update the same record more than once in one request")


def _named_text(body: Mapping[str, Any], name: str) -> str:
    if name not in body:
        raise error_responses.missing(name)
    if not isinstance(body[name], str) or not body[name]:
        raise error_responses.invalid_request()
    return str(body[name])


def _decode(encoded: str) -> bytes:
    compact = "".join(encoded.split())
    if len(compact) * 3 // 4 > MAX_UPLOAD_BYTES + 2:
        raise error_responses.too_large()
    try:
        content = b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        raise error_responses.invalid_request("The file is not valid base64") from None
    if len(content) > MAX_UPLOAD_BYTES:
        raise error_responses.too_large()
    return content


def pixels(content: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, or None for other files."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 24:
        return None
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
