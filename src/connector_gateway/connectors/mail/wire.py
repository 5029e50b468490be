"""What the vendor answers, version v1: the fields that are read."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Raw

from connector_gateway.kit.wire import WireModel

Milliseconds = Annotated[str, Meta(pattern=r"^(-?\d{1,13}|\d{14})$")]
"""An instant since the epoch, which the vendor writes as text; no more digits than a calendar has years for."""


class Listed(WireModel):
    """A message in a list, of which the vendor tells no more that is read."""

    id: str


class MessageList(WireModel, rename="camel"):
    """A page of messages; an empty one has no ``messages``, and the last one no token."""

    messages: Sequence[Listed] = ()
    next_page_token: str | None = None


class Header(WireModel):
    """A header of a part."""

    name: str = ""
    value: str = ""


class Content(WireModel, rename="camel"):
    """What a part holds: ``data`` in URL-safe base64, or the name under which the vendor hands it out.

    ``data`` stays JSON in the answer, and is no copy of it: it may be nearly all that is large there (decision 71).
    """

    size: Annotated[int, Meta(ge=0)] = 0
    data: Raw = Raw()
    attachment_id: str | None = None


class Part(WireModel, rename="camel"):
    """A message or a part of it; what has ``parts`` holds nothing else."""

    part_id: str = ""
    mime_type: str = ""
    filename: str = ""
    headers: Sequence[Header] = ()
    body: Content = Content()
    parts: Sequence["Part"] = ()


class Labelled(WireModel, rename="camel"):
    """A message of which only the labels are read; one without any has no ``labelIds``."""

    id: str
    label_ids: Sequence[str] = ()


class Message(WireModel, rename="camel"):
    """A message with its headers, and in the full form with its parts."""

    id: str
    thread_id: str
    internal_date: Milliseconds
    label_ids: Sequence[str] = ()
    payload: Part = Part()


class Threaded(WireModel, rename="camel"):
    """A message that was just written, of which only its place is read."""

    id: str
    thread_id: str


class Thread(WireModel):
    """The messages of a conversation, oldest first."""

    messages: Sequence[Message] = ()


class Draft(WireModel):
    """A draft; its message changes with every edit, and is another once it is sent."""

    id: str
    message: Threaded


class DraftList(WireModel, rename="camel"):
    """A page of drafts, as of ``MessageList``."""

    drafts: Sequence[Draft] = ()
    next_page_token: str | None = None


class Label(WireModel):
    """A label."""

    id: str
    name: str


class LabelList(WireModel):
    """All labels."""

    labels: Sequence[Label] = ()


class Profile(WireModel, rename="camel"):
    """The account itself."""

    email_address: str


class SendAs(WireModel, rename="camel"):
    """An address that the account sends from."""

    send_as_email: str
    display_name: str = ""
    is_primary: bool = False


class SendAsList(WireModel, rename="camel"):
    """All addresses that the account sends from."""

    send_as: Sequence[SendAs] = ()


class Reason(WireModel):
    """One of the reasons of a refusal; some kinds of them have no word for it."""

    reason: str = ""


class Fault(WireModel):
    """Why a request was refused."""

    code: int | None = None
    message: str = ""
    status: str = ""
    errors: Sequence[Reason] = ()
    details: Sequence[Reason] = ()


class Refusal(WireModel):
    """A refusal, where it is JSON; an edge in front of the application answers in HTML."""

    error: Fault = Fault()
