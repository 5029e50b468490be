"""The fields read from the vendor's responses, version v1."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Raw

from connector_gateway.kit.vendor_model import VendorModel

Milliseconds = Annotated[str, Meta(pattern=r"^(-?\d{1,13}|\d{14})$")]
"""Epoch milliseconds as text. The number of digits is limited to the range of calendar years."""


class Listed(VendorModel):
    """A message in a list, of which only the identifier is read."""

    id: str


class MessageList(VendorModel, rename="camel"):
    """A page of messages. An empty one has no ``messages``, and the last one no token."""

    messages: Sequence[Listed] = ()
    next_page_token: str | None = None


class Header(VendorModel):
    """A header of a part."""

    name: str = ""
    value: str = ""


class Content(VendorModel, rename="camel"):
    """The content of a part: ``data`` in URL-safe base64, or the identifier to fetch it with.

    ``data`` stays undecoded JSON within the response, to avoid a copy of the largest part of it.
    """

    size: Annotated[int, Meta(ge=0)] = 0
    data: Raw = Raw()
    attachment_id: str | None = None


class Part(VendorModel, rename="camel"):
    """A message or a part of it. A part with ``parts`` has no other content."""

    part_id: str = ""
    mime_type: str = ""
    filename: str = ""
    headers: Sequence[Header] = ()
    body: Content = Content()
    parts: Sequence["Part"] = ()


class Labelled(VendorModel, rename="camel"):
    """A message of which only the labels are read. Without labels it has no ``labelIds``."""

    id: str
    label_ids: Sequence[str] = ()


class Message(VendorModel, rename="camel"):
    """A message with its headers, and in the full format with its parts."""

    id: str
    thread_id: str
    internal_date: Milliseconds
    label_ids: Sequence[str] = ()
    payload: Part = Part()


class Threaded(VendorModel, rename="camel"):
    """A written message, of which only the identifiers are read."""

    id: str
    thread_id: str


class Thread(VendorModel):
    """The messages of a conversation, oldest first."""

    messages: Sequence[Message] = ()


class Draft(VendorModel):
    """A draft. Its message id changes with every edit, and again when it is sent."""

    id: str
    message: Threaded


class DraftList(VendorModel, rename="camel"):
    """A page of drafts. An empty one has no ``drafts``, and the last one no token."""

    drafts: Sequence[Draft] = ()
    next_page_token: str | None = None


class Label(VendorModel):
    """A label."""

    id: str
    name: str


class LabelList(VendorModel):
    """All labels."""

    labels: Sequence[Label] = ()


class Profile(VendorModel, rename="camel"):
    """The account itself."""

    email_address: str


class SendAs(VendorModel, rename="camel"):
    """An address that the account sends from."""

    send_as_email: str
    display_name: str = ""
    is_primary: bool = False


class SendAsList(VendorModel, rename="camel"):
    """All addresses that the account sends from."""

    send_as: Sequence[SendAs] = ()


class ErrorReason(VendorModel):
    """One of the reasons of an error. Some kinds have no code for it."""

    reason: str = ""


class ErrorBody(VendorModel):
    """The error of a rejected request."""

    code: int | None = None
    message: str = ""
    status: str = ""
    errors: Sequence[ErrorReason] = ()
    details: Sequence[ErrorReason] = ()


class VendorError(VendorModel):
    """An error in JSON. A proxy in front of the vendor responds in HTML."""

    error: ErrorBody = ErrorBody()
