"""Parameters and results of the mail operations."""

import operator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.mail import urls
from connector_gateway.kit.identifier_urls import id_or_url
from connector_gateway.kit.models import Base64, Cursor, Params, Result, TextPattern, UtcDatetime

_LINE_ENDS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""All characters that some system treats as the end of a line."""

ONE_LINE = TextPattern(rf"^[^{_LINE_ENDS}]*$", "Should be a single line")
FILLED_LINE = TextPattern(rf"^[^{_LINE_ENDS}]*\S[^{_LINE_ENDS}]*$", "Should not be blank")

Recipients = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=500)]
"""Addresses, bare or as ``Name <address>``."""

Subject = Annotated[str, Field(max_length=2000), ONE_LINE]
"""One line of text, which may be empty."""

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
    """A filter for messages."""

    q: Annotated[str, Field(max_length=1000)]
    """Search string in the mail provider's search syntax; evaluated by the provider. An empty string
    matches all messages."""

    include_body: bool = False
    """Also return the message body, and the list of attachments."""

    limit: Annotated[int, Field(ge=1, le=100)] = 25
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""


class MessageBody(Result):
    """The text of a message, in the formats in which it was sent."""

    text: str | None
    html: str | None
    too_large: bool = Field(default=False, exclude_if=operator.not_)
    """Present, and true, if the message is too large to return: more than about 3 MB without its attachments."""


class Attachment(Result):
    """A file attached to a message."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int


class Message(Result):
    """A summary of a message, with its body if requested."""

    message_id: str
    thread_id: str
    sender: str = Field(alias="from")
    subject: str
    received_at: UtcDatetime
    has_attachments: bool
    labels: list[str]
    """Label names."""

    body: MessageBody | None = Field(default=None, exclude_if=_absent)
    """Present if ``include_body`` is true."""

    attachments: list[Attachment] | None = Field(default=None, exclude_if=_absent)
    """Present if ``include_body`` is true."""


class SendMessage(Params):
    """An email to send from the connected address."""

    to: Recipients
    """One or more recipients, as ``address`` or ``Name <address>``; each is validated before anything is sent."""

    subject: Subject
    """Ignored when ``thread_id`` is supplied: a reply keeps the original subject."""

    body_html: Html
    """Message body; a plain-text alternative is generated automatically."""

    thread_id: ThreadId | None = None
    """Reply inside this thread instead of starting a conversation."""


class SentMessage(Result):
    """The sent message."""

    message_id: str
    thread_id: str
    to: list[str]
    """Addresses of the recipients, without duplicates."""

    sent_at: UtcDatetime


class ChangeMessageLabels(Params):
    """The labels to apply and to strip: at least one of ``add`` and ``remove``."""

    message_id: MessageId
    add: LabelNames = Field(default_factory=list)
    """Label names to apply."""

    remove: LabelNames = Field(default_factory=list)
    """Label names to strip. Names that the mailbox lacks are ignored."""

    create_missing: bool = False
    """Create labels in ``add`` that the mailbox lacks."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.add and not self.remove:
            raise PydanticCustomError("nothing_to_do", "Should be given, unless remove is", {"parameter": "add"})
        return self


class ChangedLabels(Result):
    """The labels of a message after the change."""

    message_id: str
    labels: list[str]
    """Names of the labels on the message."""

    created: list[str]
    """Names of the labels created by the call."""


class FetchAttachment(Params):
    """The attachment to fetch, and the form of its content."""

    attachment_id: AttachmentId
    """Identifier from the search, or the mail provider's own identifier."""

    message_id: MessageId
    """Message the attachment belongs to."""

    form: Literal["link", "base64"] = Field(default="link", alias="as")
    """``link`` returns a short-lived download URL, ``base64`` the content itself."""


class FetchedAttachment(Result):
    """An attachment, as a link or with its content."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int
    download_url: str | None = Field(default=None, exclude_if=_absent)
    """URL for downloading the file without a key until ``expires_at``, any number of times."""

    expires_at: UtcDatetime | None = Field(default=None, exclude_if=_absent)
    content_base64: Base64 | None = Field(default=None, exclude_if=_absent)
    """The content, instead of the URL, if ``base64`` was requested."""


class CreateDraft(Params):
    """An email to save as a draft."""

    to: Recipients
    """One or more recipients, as ``address`` or ``Name <address>``."""

    subject: Subject
    body_html: Html
    """Draft body; a plain-text alternative is generated automatically."""


class CreatedDraft(Result):
    """The created draft."""

    draft_id: str
    message_id: str
    created_at: UtcDatetime
