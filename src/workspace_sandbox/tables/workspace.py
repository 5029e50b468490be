"""The vendor's rules for changing records: batches that happen as a whole, merging, deleting, uploads."""

import binascii
import re
import string
import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.tables import cells, wire
from workspace_sandbox.tables.draft import PendingWrite, change, unlink
from workspace_sandbox.tables.state import Attachment, Base, Cells, Field, Record, Table, User, find, media_type
from workspace_sandbox.tables.webhooks import Webhook

ALPHABET = string.ascii_letters + string.digits
MOST_RECORDS = 10
MOST_MERGE_FIELDS = 3
MOST_UPLOAD_BYTES = 5 * 1024 * 1024
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
UNREACHED = float("inf")

Row = tuple[str | None, Mapping[str, Any]]
"""A record of a request: its id, if it has one, and its fields as they were sent."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a request wants to be written, and who writes."""

    user: User
    typecast: bool = False
    creates_options: bool = True
    replaces: bool = False
    """Whether the fields that are not sent are cleared."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of an upsert, in the order of the request."""

    records: list[Record]
    created: list[str]
    updated: list[str]


@dataclass(slots=True)
class Workspace:
    """All bases, changed by the clock and with the randomness of the stage."""

    stage: EmulatorContext
    users: tuple[User, ...]
    """Who may let an application in; the personal token is the first one's."""

    bases: list[Base] = field(default_factory=list)
    id: str = "wspV5tKq8Zc3nRy1Lm"
    people: tuple[User, ...] = ()
    """Who works in bases that are made later."""

    webhooks: dict[str, Webhook] = field(default_factory=dict)
    """The oldest first."""

    def base(self, identifier: str) -> Base | None:
        """The base of that id, whoever may see it."""
        return next((base for base in self.bases if base.id == identifier), None)

    def create(self, base: Base, table: Table, rows: Sequence[Mapping[str, Any]], manner: WriteOptions) -> list[Record]:
        """New records of *rows*, in their order; all of them or none."""
        return self.merge(base, table, [(None, row) for row in rows], [], manner).records

    def update(self, base: Base, table: Table, rows: Sequence[Row], manner: WriteOptions) -> list[Record]:
        """Change the records of *rows*; all of them or none."""
        return self.merge(base, table, rows, [], manner).records

    def merge(self, base: Base, table: Table, rows: Sequence[Row], keys: Sequence[str], manner: WriteOptions) -> Merged:
        """Change the records that *rows* name, or that agree with them in the fields *keys*; make the others."""
        merge_fields = [_writable(table, key) for key in keys]
        columns = [{key: _writable(table, key) for key in row} for _, row in rows]
        draft = self._draft(base, manner)
        found = [self._found(draft, table, row, merge_fields) for row in rows]
        # Before anything is written: two rows for one record would leave it to chance which of them holds.
        _refuse_twice([record.id for record in found if record])
        for (_, row), named, record in zip(rows, columns, found, strict=True):
            values = {column.id: cells.write(draft, column, record, row[key]) for key, column in named.items()}
            untouched = _cleared(table, manner) if record else _defaults(table)
            draft.changes.append((table, record or self._record(manner.user), untouched | values))
        draft.apply()
        written = [record for _, record, _ in draft.changes]
        for record in written:
            record.modified_at, record.modified_by = self._second(), manner.user
        created = [record.id for record, known in zip(written, found, strict=True) if known is None]
        updated = [record.id for record in found if record]
        return Merged(written, created, updated)

    def delete(self, base: Base, table: Table, identifiers: Sequence[str]) -> None:
        """Delete records; all of them or none."""
        for identifier in identifiers:
            if identifier not in table.records:
                raise wire.no_such_row(identifier)
        # Only now, since a request happens as a whole or not at all.
        for identifier in dict.fromkeys(identifiers):
            record = table.records[identifier]
            change(base, table, record, dict.fromkeys(record.cells))
            unlink(base, table, record)
            del table.records[identifier]

    def upload(
        self, base: Base, table: Table, record: Record, column: Field, body: Mapping[str, Any], *, user: User
    ) -> None:
        """Append a file, which comes as base64 with or without line breaks, to an attachment cell."""
        if column.type != "multipleAttachments":
            raise wire.invalid_value(column.name)
        kind, encoded, filename = (_named_text(body, name) for name in ("contentType", "file", "filename"))
        if not MEDIA_TYPE.fullmatch(kind):
            raise wire.invalid_request("The contentType is not a media type")
        content = _decoded(encoded)
        attachment = Attachment(self.new_id("att"), filename, kind, "", len(content), content=content)
        attachment.pixels = pixels(content)
        change(base, table, record, {column.id: [*record.cells.get(column.id, ()), attachment]})
        record.modified_at, record.modified_by = self._second(), user

    def new_id(self, prefix: str) -> str:
        """An identifier that is not in use."""
        return prefix + "".join(self.stage.random.choices(ALPHABET, k=14))

    def _draft(self, base: Base, manner: WriteOptions) -> PendingWrite:
        return PendingWrite(
            base,
            manner.typecast,
            manner.creates_options,
            self.new_id,
            self._fetched,
            lambda: self._record(manner.user),
        )

    def _found(self, draft: PendingWrite, table: Table, row: Row, keys: Sequence[Field]) -> Record | None:
        """The record that a row of a request is about; None if it is to be made."""
        identifier, sent = row
        if identifier is not None:
            if identifier not in table.records:
                raise wire.no_such_row(identifier)
            return table.records[identifier]
        if not keys:
            return None
        wanted = {column.id: _wanted(draft, column, sent) for column in keys}
        alike = [
            record
            for record in table.records.values()
            if all(record.cells.get(key) == value for key, value in wanted.items())
        ]
        if len(alike) > 1:
            raise wire.invalid_request("Cannot upsert: more than one record matches the fields to merge on")
        return alike[0] if alike else None

    def _fetched(self, url: str, filename: str | None) -> Attachment:
        """A file that a client gave the address of; it is fetched later, or rather made up."""
        name = filename or cells.filename_of(url)
        unreachable = cells.host_of(url) in self.stage.knobs["unreachable_hosts"]
        now, seconds = self.stage.clock.now(), self.stage.knobs["fetch_seconds"]
        asked_at, seconds = (0.0, UNREACHED) if unreachable else (now, seconds)
        size = 1024 + zlib.crc32(url.encode()) % 200_000
        return Attachment(self.new_id("att"), name, media_type(name), url, size, asked_at, seconds)

    def _record(self, user: User) -> Record:
        now = self._second()
        return Record(self.new_id("rec"), 0, now, user, now, user)

    def _second(self) -> float:
        """The vendor's instants have milliseconds, all zero."""
        return float(int(self.stage.clock.now()))


def _writable(table: Table, key: str) -> Field:
    column = require(find(table.fields, key), wire.unknown_field(key))
    if column.type not in cells.STRICT:
        raise wire.computed_field(column.name)
    return column


def _wanted(draft: PendingWrite, column: Field, sent: Mapping[str, Any]) -> Any:
    """The value a record must have to be merged with."""
    key = next((key for key in (column.name, column.id) if key in sent), None)
    if key is None:
        raise wire.invalid_request(f'Field "{column.name}" to merge on is missing in a record')
    value = cells.write(draft, column, None, sent[key])
    return None if value in ("", [], False) else value


def _cleared(table: Table, manner: WriteOptions) -> Cells:
    return {column.id: None for column in table.fields if manner.replaces and column.type in cells.STRICT}


def _defaults(table: Table) -> Cells:
    return {column.id: column.default for column in table.fields if column.default is not None}


def _refuse_twice(identifiers: Sequence[str]) -> None:
    if len(set(identifiers)) < len(identifiers):
        raise wire.invalid_records("You cannot update the same record more than once in one request")


def _named_text(body: Mapping[str, Any], name: str) -> str:
    if name not in body:
        raise wire.missing(name)
    if not isinstance(body[name], str) or not body[name]:
        raise wire.invalid_request()
    return str(body[name])


def _decoded(encoded: str) -> bytes:
    compact = "".join(encoded.split())
    if len(compact) * 3 // 4 > MOST_UPLOAD_BYTES + 2:
        raise wire.too_large()
    try:
        content = b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        raise wire.invalid_request("The file is not valid base64") from None
    if len(content) > MOST_UPLOAD_BYTES:
        raise wire.too_large()
    return content


def pixels(content: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG; None for anything else."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or len(content) < 24:
        return None
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
