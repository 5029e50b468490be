"""Messages and threads in the format of the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from workspace_sandbox.mail.api.attachment_ids import Attachments
from workspace_sandbox.mail.body_schemas import encode
from workspace_sandbox.mail.data.mime_parser import Part, decode_words
from workspace_sandbox.mail.data.state import Mailbox, Message, label_ids_field


class Resources:
    """Renders messages and threads in each of the vendor's formats."""

    def __init__(self, attachments: Attachments, knobs: Mapping[str, Any]) -> None:
        self._attachments = attachments
        self._knobs = knobs

    def message(self, message: Message, form: str = "full", header_names: Sequence[str] = ()) -> dict[str, Any]:
        """Return a message in that *form*. With ``metadata``, *header_names* limits the headers unless it is empty."""
        resource: dict[str, Any] = {
            **short(message),
            "snippet": message.snippet,
            "historyId": str(message.history_id),
            "internalDate": str(message.internal_date),
            "sizeEstimate": len(message.raw),
        }
        if form == "raw":
            resource["raw"] = encode(message.raw)
        if form == "metadata":
            headers = self._headers(message.root, header_names)
            resource["payload"] = {"mimeType": message.root.mime_type} | ({"headers": headers} if headers else {})
        if form == "full":
            resource["payload"] = self._part(message, message.root)
        return resource

    def thread(self, mailbox: Mailbox, thread_id: str, form: str, header_names: Sequence[str] = ()) -> dict[str, Any]:
        """Return a thread with its messages, the oldest first."""
        members = mailbox.threads[thread_id]
        return {
            "id": thread_id,
            "historyId": str(max(message.history_id for message in members)),
            "messages": [self.message(message, form, header_names) for message in members],
        }

    def _part(self, message: Message, part: Part) -> dict[str, Any]:
        resource: dict[str, Any] = {
            "partId": part.part_id,
            "mimeType": part.mime_type,
            "filename": part.filename,
            "headers": self._headers(part),
            "body": self._body(message, part),
        }
        if part.parts:
            resource["parts"] = [self._part(message, child) for child in part.parts]
        return resource

    def _body(self, message: Message, part: Part) -> dict[str, Any]:
        if not part.size:
            return {"size": 0}
        is_inline_text = part.mime_type.startswith("text/") and not part.filename
        if is_inline_text and part.size <= self._knobs["inline_text_bytes"]:
            return {"size": part.size, "data": encode(part.content)}
        return {"attachmentId": self._attachments.create_id(message, part), "size": part.size}

    def _headers(self, part: Part, header_names: Sequence[str] = ()) -> list[dict[str, str]]:
        names = {name.lower() for name in header_names}
        read = decode_words if self._knobs["decode_headers"] else str
        return [
            {"name": name, "value": read(value)} for name, value in part.headers if not names or name.lower() in names
        ]


def short(message: Message) -> dict[str, Any]:
    """Return the response of a write: identifiers and labels."""
    return {"id": message.id, "threadId": message.thread_id, **label_ids_field(message)}
