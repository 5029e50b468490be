"""The request and response bodies of the service, as JSON. Generated from the declarations; do not edit.

It repeats the connectors' models on purpose: the package is installed without the service.
"""

from typing import Any, Literal, NotRequired, TypedDict


class NotesDatabase(TypedDict):
    """A database shared with the connection."""

    database_id: str
    title: str
    properties: list[str]
    last_edited_at: str


class CreatedPage(TypedDict):
    """The created page."""

    page_id: str
    url: str
    created_at: str
    properties_written: int
    properties_skipped: list[str]


class Block(TypedDict):
    """Block."""

    type: Literal["paragraph", "bulleted_list_item", "callout"]
    text: str


class UpdatedPage(TypedDict):
    """The page after the change."""

    page_id: str
    updated: list[str]
    archived: bool
    last_edited_at: str


class FoundPage(TypedDict):
    """A matching page."""

    page_id: str
    title: str
    matched_on: str


class FoundPages(TypedDict):
    """All matching pages."""

    match_count: int
    pages: list[FoundPage]


NotesEvent = TypedDict(
    "NotesEvent",
    {
        "event_id": str,
        "type": str,
        "page_id": str,
        "property": str | None,
        "from": str | None,
        "to": str | None,
        "observed_at": str,
    },
)
"""An observed change."""


class CreatedCard(TypedDict):
    """The created card."""

    card_id: str
    short_url: str
    list_id: str
    due: str | None
    labels_applied: list[str]


class MovedCard(TypedDict):
    """The card after the move."""

    card_id: str
    list_from: str
    list_to: str
    comment_posted: bool
    moved_at: str


class Comment(TypedDict):
    """The posted comment."""

    card_id: str
    comment_id: str
    posted_at: str


class BoardList(TypedDict):
    """A list of a board."""

    list_id: str
    name: str
    card_count: int


class BoardDescription(TypedDict):
    """A board with its open lists, from left to right."""

    board_name: str
    lists: list[BoardList]
    labels: NotRequired[list[str] | None]


class Checklist(TypedDict):
    """The checklist on the card."""

    card_id: str
    checklist_id: str
    name: str
    items_added: int
    skipped: bool


class MessageBody(TypedDict):
    """The text of a message, in the formats in which it was sent."""

    text: str | None
    html: str | None
    too_large: NotRequired[bool]


class Attachment(TypedDict):
    """A file attached to a message."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int


Message = TypedDict(
    "Message",
    {
        "message_id": str,
        "thread_id": str,
        "from": str,
        "subject": str,
        "received_at": str,
        "has_attachments": bool,
        "labels": list[str],
        "body": NotRequired[MessageBody | None],
        "attachments": NotRequired[list[Attachment] | None],
    },
)
"""A summary of a message, with its body if requested."""


class SentMessage(TypedDict):
    """The sent message."""

    message_id: str
    thread_id: str
    to: list[str]
    sent_at: str


class ChangedLabels(TypedDict):
    """The labels of a message after the change."""

    message_id: str
    labels: list[str]
    created: list[str]


class FetchedAttachment(TypedDict):
    """An attachment, as a link or with its content."""

    attachment_id: str
    filename: str
    mime_type: str
    size_bytes: int
    download_url: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    content_base64: NotRequired[str | None]


class CreatedDraft(TypedDict):
    """The created draft."""

    draft_id: str
    message_id: str
    created_at: str


class PostedMessage(TypedDict):
    """The posted message."""

    message_ts: str
    channel_id: str
    permalink: str
    posted_at: str


class EditedMessage(TypedDict):
    """The edited message."""

    message_ts: str
    channel_id: str
    edited_at: str


class Channel(TypedDict):
    """A channel, or a conversation with one person, that the connection can post to."""

    channel_id: str
    name: str
    is_private: bool
    member_count: int


class AddedReaction(TypedDict):
    """The reaction after the call."""

    message_ts: str
    emoji: str
    already_present: bool


class ChatEvent(TypedDict):
    """An observed message."""

    event_id: str
    type: str
    channel_id: str
    author: str
    text: str
    matched_keyword: str | None
    observed_at: str


class WrittenContact(TypedDict):
    """The contact after the call."""

    contact_id: str
    action: Literal["created", "updated", "skipped"]
    email: str
    properties_written: list[str]
    portal_id: str


class Contact(TypedDict):
    """A contact. The searched property is an additional field. Values are text, as the vendor stores them."""

    contact_id: str
    email: str | None
    firstname: str | None
    lastname: str | None
    phone: str | None
    company: str | None
    jobtitle: str | None
    lifecyclestage: str | None
    owner_email: str | None


class CreatedDeal(TypedDict):
    """The created deal."""

    deal_id: str
    dealname: str
    pipeline: str
    dealstage: str
    amount: float | None
    associated_contacts: list[str]


class UpdatedDeal(TypedDict):
    """The deal after the change."""

    deal_id: str
    dealstage_from: str | None
    dealstage_to: str | None
    note_logged: bool
    updated_at: str


class PropertyDefinition(TypedDict):
    """A property of an object type."""

    name: str
    label: str
    type: str
    options: list[str]
    custom: bool


class Record(TypedDict):
    """A record of a table."""

    record_id: str
    fields: dict[str, Any]
    created_at: str


class FailedRecord(TypedDict):
    """One error of a record that was not created. A record may have several."""

    index: int
    error: Literal["select_option_missing", "lossy_cast", "read_only_field", "field_not_found", "upstream_refused"]
    field: str | None
    value: Any
    did_you_mean: NotRequired[str | None]
    vendor_code: NotRequired[str | None]
    vendor_message: NotRequired[str | None]


class CreatedRecords(TypedDict):
    """The created records, and the errors of the others."""

    created: list[str]
    failed: list[FailedRecord]


class UpdatedRecord(TypedDict):
    """The updated record."""

    record_id: str
    updated_fields: list[str]
    updated_at: str


class AttachedFile(TypedDict):
    """The created attachment. Earlier attachments in the field are retained."""

    record_id: str
    field: str
    attachment_id: str
    filename: str
    size_bytes: int


class TableField(TypedDict):
    """A field of a table."""

    name: str
    type: str


class Table(TypedDict):
    """A table of a base."""

    table: str
    table_id: str
    primary_field: str
    fields: list[TableField]
    views: NotRequired[list[str] | None]


class VendorResponse(TypedDict):
    """The vendor's response, whatever its status."""

    status: int
    headers: dict[str, Any]
    body: Any
    is_base64: NotRequired[bool]
