"""Messages in search results, and page positions."""

from collections.abc import Mapping, Sequence
from typing import Any

from connector_gateway.connectors.mail import mime, vendor_models
from connector_gateway.connectors.mail.mapping.attachments import attachments
from connector_gateway.connectors.mail.models import Message, MessageBody
from connector_gateway.kit.clock import utc_datetime

StoredData = Mapping[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""


def message(source: vendor_models.Message, names: Mapping[str, str], body: MessageBody | None = None) -> Message:
    """Return a message, with *body* and the list of its attachments if *body* is given."""
    files = attachments(source)
    return Message(
        message_id=source.id,
        thread_id=source.thread_id,
        sender=mime.header(source.payload, "From"),
        subject=mime.header(source.payload, "Subject"),
        received_at=utc_datetime(arrived_at(source)),
        has_attachments=bool(files),
        labels=[names.get(label_id, label_id) for label_id in source.label_ids],
        body=body,
        attachments=None if body is None else files,
    )


def arrived_at(source: vendor_models.Message) -> float:
    """Return the arrival time of a message in epoch seconds. The vendor sends milliseconds."""
    return int(source.internal_date) / 1000


def position(message_ids: Sequence[str], token: str | None) -> StoredData | None:
    """Return the start of the next page: messages already listed, then the vendor's next page."""
    if message_ids:
        return {"message_ids": message_ids, "token": token}
    return {"token": token} if token else None
