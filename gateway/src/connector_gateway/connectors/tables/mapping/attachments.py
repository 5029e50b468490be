"""Attachments: planned and existing ones."""

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

from connector_gateway.connectors.tables import value_casts, vendor_models
from connector_gateway.connectors.tables.mapping.records import StoredData, Values, read_cell
from connector_gateway.connectors.tables.models import AttachedFile
from connector_gateway.kit import errors
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.errors.combined_errors import combine_errors

ATTACHMENTS = "multipleAttachments"


def attachment_cell(table: vendor_models.Table, name: str) -> StoredData:
    """Return identifier and name of the attachment field of that name."""
    field = next((field for field in table.fields if field.name == name), None)
    if field is None:
        allowed = [field.name for field in table.fields if field.type == ATTACHMENTS]
        raise no_attachment_field(f'Table "{table.name}"', name, allowed=allowed)
    about = {"parameter": "field", "field": name, "value": name, "type": field.type}
    if field.type not in value_casts.to_vendor.CASTS:
        raise combine_errors([errors.ReadOnlyField(f'"{name}" cannot be written.', about)])
    if field.type != ATTACHMENTS:
        raise combine_errors(
            [errors.LossyCast(f'"{name}" is of type {field.type}, which cannot contain files.', about)]
        )
    return {"id": field.id, "name": field.name}


def no_attachment_field(table: str, name: str, **more: list[str]) -> errors.GatewayError:
    """Return the error for a field that *table*, given in words, lacks."""
    about = {"parameter": "field", "field": name, "value": name, **more}
    return combine_errors([errors.FieldNotFound(f'{table} has no field "{name}".', about)])


def upload(intent: StoredData, content: bytes) -> Values:
    """Return the vendor's form of a file that is sent in the request."""
    file = b64encode(content).decode()
    return {"contentType": intent["mime_type"], "filename": intent["filename"], "file": file}


def with_link(intent: StoredData, attachment_ids: Iterable[str]) -> Values:
    """Return the vendor's form of a cell that keeps its attachments and gains one that the vendor fetches."""
    existing = [{"id": attachment_id} for attachment_id in attachment_ids]
    return {intent["field"]["id"]: [*existing, {"url": intent["url"], "filename": intent["filename"]}]}


def tables_with(tables: Iterable[vendor_models.Table], field: str) -> list[str]:
    """Return the identifiers of the tables that have a field of that name."""
    return [table.id for table in tables if any(described.name == field for described in table.fields)]


def attachments(row: vendor_models.RecordFields, cell: StoredData) -> Sequence[vendor_models.Attachment]:
    """Return the attachments in a cell, whether its field is given by name or identifier."""
    items = row.fields.get(cell["id"]) or row.fields.get(cell["name"]) or []
    return read_cell(items, list[vendor_models.Attachment], cell["id"])


def planned_file(location: StoredData, url: str, filename: str, file: RemoteFile) -> StoredData:
    """Plan a file to attach at *location*. Large ones have no digest, because the vendor fetches them itself."""
    digest = None if file.content is None else compute_digest(file.content)
    about = {"filename": filename, "mime_type": file.mime_type, "size_bytes": file.size_bytes, "digest": digest}
    return {**location, "url": url, **about}


def preview(intent: StoredData) -> StoredData:
    """Return the file to attach as a person identifies it."""
    return {name: intent[name] for name in ("url", "filename", "mime_type", "size_bytes")}


def compute_digest(content: bytes) -> str:
    """Return the digest that identifies a file."""
    return sha256(content).hexdigest()


def attachment_content(intent: StoredData) -> StoredData:
    """Return the identity of an attachment. The size of a file that the vendor fetches is unknown."""
    fields = ("base_id", "record_id", "field", "filename") + (() if intent["digest"] is None else ("size_bytes",))
    return {name: intent[name] for name in fields}


def new_attachments(
    row: vendor_models.RecordFields, intent: StoredData, before: Collection[str]
) -> list[vendor_models.Attachment]:
    """Return the attachments in a cell that are not in *before*."""
    return [item for item in attachments(row, intent["field"]) if item.id not in before]


def matching_attachments(
    row: vendor_models.RecordFields, intent: StoredData, before: Collection[str]
) -> list[vendor_models.Attachment]:
    """Return the new attachments that match the intended one."""
    return [item for item in new_attachments(row, intent, before) if is_attachment(item, intent)]


def is_attachment(item: vendor_models.Attachment, intent: StoredData) -> bool:
    """Return True if an attachment matches the intended one."""
    is_size = intent["digest"] is None or item.size == intent["size_bytes"]
    return item.filename == intent["filename"] and is_size


def created_attachment(
    row: vendor_models.RecordFields, intent: StoredData, before: Collection[str]
) -> vendor_models.Attachment:
    """Return the attachment that a request created. Raises ``OutcomeUnknown`` if its response contains none."""
    try:
        new = matching_attachments(row, intent, before) or new_attachments(row, intent, before)
    except errors.UpstreamUnexpected as error:
        raise errors.OutcomeUnknown(error.message, *error.details, private=error.private, doubt="garbled") from error
    if not new:
        raise errors.OutcomeUnknown(
            "The vendor accepted the file, but its response does not contain it.", doubt="garbled"
        )
    return new[-1]


def stored_attachment(item: vendor_models.Attachment, intent: StoredData) -> Values:
    """Return the stored form of a created attachment. Its size is unknown until the vendor has fetched it."""
    size_bytes = item.size or intent["size_bytes"]
    return {"id": item.id, "filename": item.filename or intent["filename"], "size_bytes": size_bytes}


def public_attachment(stored: StoredData) -> Values:
    """Return the part of an attachment that is included in the error when a later step fails."""
    return {"attachment_id": stored["id"]}


def attached_file(stored: StoredData, record_id: str, field: str) -> AttachedFile:
    """Return the result of attaching a file."""
    return AttachedFile(
        record_id=record_id,
        field=field,
        attachment_id=stored["id"],
        filename=stored["filename"],
        size_bytes=stored["size_bytes"],
    )
