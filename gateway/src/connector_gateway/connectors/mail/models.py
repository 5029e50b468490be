"""What the mail operations accept and return."""

import operator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.mail import urls
from connector_gateway.kit.pasted_urls import id_or_url
from connector_gateway.kit.shapes import Base64, Cursor, Params, Result, TextPattern, UtcDatetime

_LINE_ENDS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""Everything that some system takes for the end of a line."""

ONE_LINE = TextPattern(rf"^[^{_LINE_ENDS}]*$", "Should stand on one line")
FILLED_LINE = TextPattern(rf"^[^{_LINE_ENDS}]*\S[^{_LINE_ENDS}]*$", "Should not be blank")

Recipients = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=500)]
"""Addresses, bare or as ``Name <address>``."""

Subject = Annotated[str, Field(max_length=2000), ONE_LINE]
"""One line of text, perhaps empty."""

Html = Annotated[str, Field(max_length=1_000_000)]
LabelName = Annotated[str, Field(max_length=225), ONE_LINE, FILLED_LINE]
LabelNames = Annotated[list[LabelName], Field(max_length=100)]
AttachmentId = Annotated[
    str,
    Field(min_length=1, max_length=2000),
    TextPattern(r"^[A-Za-z0-9_\-]+$", "Should consist of letters, digits, hyphens and underscores"),
]


def _absent(value: Any) -> bool:
    return value is None


MailId = Annotated[
    str, Field(max_length=200), TextPattern(r"^[0-9a-fA-F]+$", "Should be an identifier of hexadecimal digits")
]
MessageId = Annotated[MailId, id_or_url("a message", *urls.MESSAGE)]
ThreadId = Annotated[MailId, id_or_url("a thread", *urls.THREAD)]


class SearchMessages(Params):
    """Which messages to find."""

    q: Annotated[str, Field(max_length=1000)]
    """Search string in the mail provider's search syntax; evaluated by the provider. Empty finds everything."""

    include_body: bool = False
    """Also return the message body, and the list of attachments."""

    limit: Annotated[int, Field(ge=1, le=100)] = 25
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class MessageBody(Result):
    """What a message says, in the forms that its sender gave."""

    text: str | None
    html: str | None
    too_large: bool = Field(default=False, exclude_if=operator.not_)
    """Present, and true, where the message is too large to be told: over some 3 MB without its attachments."""


class Attachment(Result):
    """A file that came with a message."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int


class Message(Result):
    """A message in short, with its body where that was asked for."""

    message_id: str
    thread_id: str
    sender: str = Field(alias="from")
    subject: str
    received_at: UtcDatetime
    has_attachments: bool
    labels: list[str]
    """Label names."""

    body: MessageBody | None = Field(default=None, exclude_if=_absent)
    """Present when the body was asked for."""

    attachments: list[Attachment] | None = Field(default=None, exclude_if=_absent)
    """Present beside ``body``."""


class SendMessage(Params):
    """An email to be sent from the connected address."""

    to: Recipients
    """One or more recipients, as ``address`` or ``Name <address>``; each is validated before anything is sent."""

    subject: Subject
    """Ignored when ``thread_id`` is supplied: a reply keeps the original subject."""

    body_html: Html
    """Message body; a plain-text alternative is generated automatically."""

    thread_id: ThreadId | None = None
    """Reply inside this thread instead of starting a conversation."""


class SentMessage(Result):
    """The message that was sent."""

    message_id: str
    thread_id: str
    to: list[str]
    """Addresses, each once."""

    sent_at: UtcDatetime


class ChangeMessageLabels(Params):
    """Which labels to apply and to strip; at least one of ``add`` and ``remove``."""

    message_id: MessageId
    add: LabelNames = Field(default_factory=list)
    """Label names to apply."""

    remove: LabelNames = Field(default_factory=list)
    """Label names to strip; those that the mailbox lacks are passed over."""

    create_missing: bool = False
    """Create labels in ``add`` that the mailbox lacks."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.add and not self.remove:
            raise PydanticCustomError("nothing_to_do", "Give add, remove, or both", {"parameter": "add"})
        return self


class ChangedLabels(Result):
    """The labels of a message after the change."""

    message_id: str
    labels: list[str]
    """Names of the labels on the message."""

    created: list[str]
    """Names of the labels created by the call."""


class FetchAttachment(Params):
    """Which attachment to fetch, and how."""

    attachment_id: AttachmentId
    """Identifier from the search, or the mail provider's own."""

    message_id: MessageId
    """Message the attachment belongs to."""

    form: Literal["link", "base64"] = Field(default="link", alias="as")
    """A short-lived download address, or the content itself."""


class FetchedAttachment(Result):
    """An attachment, as a link or with its content."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int
    download_url: str | None = Field(default=None, exclude_if=_absent)
    """Where the file can be had without a key until ``expires_at``, any number of times."""

    expires_at: UtcDatetime | None = Field(default=None, exclude_if=_absent)
    content_base64: Base64 | None = Field(default=None, exclude_if=_absent)
    """The content, instead of the address, where ``base64`` was asked for."""


class CreateDraft(Params):
    """An email to be kept unsent."""

    to: Recipients
    """One or more recipients, as ``address`` or ``Name <address>``."""

    subject: Subject
    body_html: Html
    """Draft body; a plain-text alternative is generated automatically."""


class CreatedDraft(Result):
    """The draft that was made."""

    draft_id: str
    message_id: str
    created_at: UtcDatetime
