"""A method for every operation. Generated from the declarations; do not edit."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from connector_gateway_client.http_encoding import RequestSpec
from connector_gateway_client.models import (
    AddedReaction,
    AttachedFile,
    Block,
    BoardDescription,
    ChangedLabels,
    Channel,
    ChatEvent,
    Checklist,
    Comment,
    Contact,
    CreatedCard,
    CreatedDeal,
    CreatedDraft,
    CreatedPage,
    CreatedRecords,
    EditedMessage,
    FetchedAttachment,
    FoundPages,
    Message,
    MovedCard,
    NotesDatabase,
    NotesEvent,
    PostedMessage,
    PropertyDefinition,
    Record,
    SentMessage,
    Table,
    UpdatedDeal,
    UpdatedPage,
    UpdatedRecord,
    VendorResponse,
    WrittenContact,
)
from connector_gateway_client.responses import AsyncEvents, AsyncPages, Events, Pages, Response
from connector_gateway_client.transport import AsyncTransport, SyncTransport


class Notes:
    """Notion: Databases and pages of a notes workspace."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def list_databases(
        self, *, connection_id: str, query: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Pages[NotesDatabase]:
        """List the databases shared with the connection, last edited first."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/databases",
                {"connection_id": connection_id, "query": query, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def create_page(
        self,
        *,
        connection_id: str,
        database_id: str,
        properties: Mapping[str, Any],
        children: Sequence[str | Block] | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedPage]:
        """Create a page: add a row to a database, with its properties and a body."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/notes/pages",
                {
                    "connection_id": connection_id,
                    "database_id": database_id,
                    "properties": properties,
                    "children": children,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def update_page(
        self,
        *,
        page_id: str,
        connection_id: str,
        properties: Mapping[str, Any] | None = None,
        archived: bool | None = None,
        if_unmodified_since: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedPage]:
        """Set properties of an existing page, move it to the trash, or restore it."""
        return self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/notes/pages/{RequestSpec.segment(page_id)}",
                {
                    "connection_id": connection_id,
                    "properties": properties,
                    "archived": archived,
                    "if_unmodified_since": if_unmodified_since,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def search_pages(
        self,
        *,
        connection_id: str,
        database_id: str,
        property: str,
        value: str,
        match: Literal["exact", "contains"] | None = None,
    ) -> Response[FoundPages]:
        """Find the pages of one database by the value of a property. Every match is returned."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/notes/pages/search",
                {
                    "connection_id": connection_id,
                    "database_id": database_id,
                    "property": property,
                    "value": value,
                    "match": match,
                },
                writes=False,
            )
        )

    def read_events(
        self,
        *,
        connection_id: str,
        since: str | None = None,
        type: Literal["page.created", "page.property_updated"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[NotesEvent]:
        """Read what changed: pages that were created and properties that were updated, oldest first."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/events",
                {"connection_id": connection_id, "since": since, "type": type, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def follow_events(
        self,
        *,
        connection_id: str,
        since: str | None = None,
        type: Literal["page.created", "page.property_updated"] | None = None,
        poll_seconds: float = 5.0,
    ) -> Events[NotesEvent]:
        """Yield events as they are observed, without an end; each once."""
        return Events(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/events",
                {"connection_id": connection_id, "since": since, "type": type},
                writes=False,
            ),
            poll_seconds,
        )


class AsyncNotes:
    """Notion: Databases and pages of a notes workspace."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    def list_databases(
        self, *, connection_id: str, query: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[NotesDatabase]:
        """List the databases shared with the connection, last edited first."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/databases",
                {"connection_id": connection_id, "query": query, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    async def create_page(
        self,
        *,
        connection_id: str,
        database_id: str,
        properties: Mapping[str, Any],
        children: Sequence[str | Block] | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedPage]:
        """Create a page: add a row to a database, with its properties and a body."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/notes/pages",
                {
                    "connection_id": connection_id,
                    "database_id": database_id,
                    "properties": properties,
                    "children": children,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def update_page(
        self,
        *,
        page_id: str,
        connection_id: str,
        properties: Mapping[str, Any] | None = None,
        archived: bool | None = None,
        if_unmodified_since: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedPage]:
        """Set properties of an existing page, move it to the trash, or restore it."""
        return await self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/notes/pages/{RequestSpec.segment(page_id)}",
                {
                    "connection_id": connection_id,
                    "properties": properties,
                    "archived": archived,
                    "if_unmodified_since": if_unmodified_since,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def search_pages(
        self,
        *,
        connection_id: str,
        database_id: str,
        property: str,
        value: str,
        match: Literal["exact", "contains"] | None = None,
    ) -> Response[FoundPages]:
        """Find the pages of one database by the value of a property. Every match is returned."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/notes/pages/search",
                {
                    "connection_id": connection_id,
                    "database_id": database_id,
                    "property": property,
                    "value": value,
                    "match": match,
                },
                writes=False,
            )
        )

    def read_events(
        self,
        *,
        connection_id: str,
        since: str | None = None,
        type: Literal["page.created", "page.property_updated"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[NotesEvent]:
        """Read what changed: pages that were created and properties that were updated, oldest first."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/events",
                {"connection_id": connection_id, "since": since, "type": type, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def follow_events(
        self,
        *,
        connection_id: str,
        since: str | None = None,
        type: Literal["page.created", "page.property_updated"] | None = None,
        poll_seconds: float = 5.0,
    ) -> AsyncEvents[NotesEvent]:
        """Yield events as they are observed, without an end; each once."""
        return AsyncEvents(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/notes/events",
                {"connection_id": connection_id, "since": since, "type": type},
                writes=False,
            ),
            poll_seconds,
        )


class Boards:
    """Trello: Cards, lists, comments and checklists of kanban boards."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def create_card(
        self,
        *,
        connection_id: str,
        list_id: str,
        name: str,
        desc: str | None = None,
        due: str | None = None,
        labels: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedCard]:
        """Create a new card in a list of a board, at its bottom."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/boards/cards",
                {
                    "connection_id": connection_id,
                    "list_id": list_id,
                    "name": name,
                    "desc": desc,
                    "due": due,
                    "labels": labels,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def move_card(
        self,
        *,
        card_id: str,
        connection_id: str,
        list_id: str,
        position: Literal["top", "bottom"] | None = None,
        comment: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[MovedCard]:
        """Move a card to another list of its board, to the top or the bottom, optionally with a comment."""
        return self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/move",
                {"connection_id": connection_id, "list_id": list_id, "position": position, "comment": comment},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def comment_on_card(
        self, *, card_id: str, connection_id: str, text: str, idempotency_key: str | None = None, dry_run: bool = False
    ) -> Response[Comment]:
        """Post a comment on a card."""
        return self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/comments",
                {"connection_id": connection_id, "text": text},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def describe_board(
        self, *, connection_id: str, board_id: str, include_labels: bool | None = None
    ) -> Response[BoardDescription]:
        """Describe a board: its open lists (columns) with the number of cards in each, and its labels."""
        return self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/boards/lists",
                {"connection_id": connection_id, "board_id": board_id, "include_labels": include_labels},
                writes=False,
            )
        )

    def attach_checklist(
        self,
        *,
        card_id: str,
        connection_id: str,
        name: str,
        items: Sequence[str],
        skip_if_present: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[Checklist]:
        """Attach a checklist with its items to a card."""
        return self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/checklists",
                {"connection_id": connection_id, "name": name, "items": items, "skip_if_present": skip_if_present},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )


class AsyncBoards:
    """Trello: Cards, lists, comments and checklists of kanban boards."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    async def create_card(
        self,
        *,
        connection_id: str,
        list_id: str,
        name: str,
        desc: str | None = None,
        due: str | None = None,
        labels: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedCard]:
        """Create a new card in a list of a board, at its bottom."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/boards/cards",
                {
                    "connection_id": connection_id,
                    "list_id": list_id,
                    "name": name,
                    "desc": desc,
                    "due": due,
                    "labels": labels,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def move_card(
        self,
        *,
        card_id: str,
        connection_id: str,
        list_id: str,
        position: Literal["top", "bottom"] | None = None,
        comment: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[MovedCard]:
        """Move a card to another list of its board, to the top or the bottom, optionally with a comment."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/move",
                {"connection_id": connection_id, "list_id": list_id, "position": position, "comment": comment},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def comment_on_card(
        self, *, card_id: str, connection_id: str, text: str, idempotency_key: str | None = None, dry_run: bool = False
    ) -> Response[Comment]:
        """Post a comment on a card."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/comments",
                {"connection_id": connection_id, "text": text},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def describe_board(
        self, *, connection_id: str, board_id: str, include_labels: bool | None = None
    ) -> Response[BoardDescription]:
        """Describe a board: its open lists (columns) with the number of cards in each, and its labels."""
        return await self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/boards/lists",
                {"connection_id": connection_id, "board_id": board_id, "include_labels": include_labels},
                writes=False,
            )
        )

    async def attach_checklist(
        self,
        *,
        card_id: str,
        connection_id: str,
        name: str,
        items: Sequence[str],
        skip_if_present: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[Checklist]:
        """Attach a checklist with its items to a card."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/boards/cards/{RequestSpec.segment(card_id)}/checklists",
                {"connection_id": connection_id, "name": name, "items": items, "skip_if_present": skip_if_present},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )


class Mail:
    """Gmail: Messages, labels and attachments of a mailbox."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def search_messages(
        self,
        *,
        connection_id: str,
        q: str,
        include_body: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Message]:
        """Find and read emails in the mailbox, newest first."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/mail/messages",
                {"connection_id": connection_id, "q": q, "include_body": include_body, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def send_message(
        self,
        *,
        connection_id: str,
        to: Sequence[str],
        subject: str,
        body_html: str,
        thread_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[SentMessage]:
        """Send an email from the connected address, or reply inside a thread."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/mail/messages",
                {
                    "connection_id": connection_id,
                    "to": to,
                    "subject": subject,
                    "body_html": body_html,
                    "thread_id": thread_id,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def change_message_labels(
        self,
        *,
        message_id: str,
        connection_id: str,
        add: Sequence[str] | None = None,
        remove: Sequence[str] | None = None,
        create_missing: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[ChangedLabels]:
        """Apply labels to an email and strip others from it, by their names."""
        return self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/mail/messages/{RequestSpec.segment(message_id)}/labels",
                {"connection_id": connection_id, "add": add, "remove": remove, "create_missing": create_missing},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def fetch_attachment(
        self, *, attachment_id: str, connection_id: str, message_id: str, as_: Literal["link", "base64"] | None = None
    ) -> Response[FetchedAttachment]:
        """Fetch an attachment of an email message, as a short-lived download link or as base64."""
        return self._sending.send(
            RequestSpec(
                "GET",
                f"/v1/connectors/mail/attachments/{RequestSpec.segment(attachment_id)}",
                {"connection_id": connection_id, "message_id": message_id, "as": as_},
                writes=False,
            )
        )

    def create_draft(
        self,
        *,
        connection_id: str,
        to: Sequence[str],
        subject: str,
        body_html: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedDraft]:
        """Save an email as an unsent draft, which a person can check and send."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/mail/drafts",
                {"connection_id": connection_id, "to": to, "subject": subject, "body_html": body_html},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )


class AsyncMail:
    """Gmail: Messages, labels and attachments of a mailbox."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    def search_messages(
        self,
        *,
        connection_id: str,
        q: str,
        include_body: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Message]:
        """Find and read emails in the mailbox, newest first."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/mail/messages",
                {"connection_id": connection_id, "q": q, "include_body": include_body, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    async def send_message(
        self,
        *,
        connection_id: str,
        to: Sequence[str],
        subject: str,
        body_html: str,
        thread_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[SentMessage]:
        """Send an email from the connected address, or reply inside a thread."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/mail/messages",
                {
                    "connection_id": connection_id,
                    "to": to,
                    "subject": subject,
                    "body_html": body_html,
                    "thread_id": thread_id,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def change_message_labels(
        self,
        *,
        message_id: str,
        connection_id: str,
        add: Sequence[str] | None = None,
        remove: Sequence[str] | None = None,
        create_missing: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[ChangedLabels]:
        """Apply labels to an email and strip others from it, by their names."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connectors/mail/messages/{RequestSpec.segment(message_id)}/labels",
                {"connection_id": connection_id, "add": add, "remove": remove, "create_missing": create_missing},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def fetch_attachment(
        self, *, attachment_id: str, connection_id: str, message_id: str, as_: Literal["link", "base64"] | None = None
    ) -> Response[FetchedAttachment]:
        """Fetch an attachment of an email message, as a short-lived download link or as base64."""
        return await self._sending.send(
            RequestSpec(
                "GET",
                f"/v1/connectors/mail/attachments/{RequestSpec.segment(attachment_id)}",
                {"connection_id": connection_id, "message_id": message_id, "as": as_},
                writes=False,
            )
        )

    async def create_draft(
        self,
        *,
        connection_id: str,
        to: Sequence[str],
        subject: str,
        body_html: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedDraft]:
        """Save an email as an unsent draft, which a person can check and send."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/mail/drafts",
                {"connection_id": connection_id, "to": to, "subject": subject, "body_html": body_html},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )


class Chat:
    """Slack: Messages, reactions and channels of a team chat workspace."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def post_message(
        self,
        *,
        connection_id: str,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[PostedMessage]:
        """Send a message to a channel or a person, or a reply in a thread."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/chat/messages",
                {"connection_id": connection_id, "channel": channel, "text": text, "thread_ts": thread_ts},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def edit_message(
        self,
        *,
        message_ts: str,
        connection_id: str,
        channel: str,
        text: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[EditedMessage]:
        """Change the text of a message that was posted through this connection."""
        return self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/chat/messages/{RequestSpec.segment(message_ts)}",
                {"connection_id": connection_id, "channel": channel, "text": text},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def list_channels(
        self, *, connection_id: str, types: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Pages[Channel]:
        """List the channels that the connection can post to, public and private."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/channels",
                {"connection_id": connection_id, "types": types, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def add_reaction(
        self,
        *,
        connection_id: str,
        channel: str,
        message_ts: str,
        emoji: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[AddedReaction]:
        """Add an emoji reaction to a message. An existing reaction is left unchanged."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/chat/reactions",
                {"connection_id": connection_id, "channel": channel, "message_ts": message_ts, "emoji": emoji},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def read_events(
        self,
        *,
        connection_id: str,
        channel: str | None = None,
        since: str | None = None,
        type: Literal["message.keyword", "message.posted"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[ChatEvent]:
        """Read the messages that people wrote in the watched channels, oldest first."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/events",
                {"connection_id": connection_id, "channel": channel, "since": since, "type": type, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def follow_events(
        self,
        *,
        connection_id: str,
        channel: str | None = None,
        since: str | None = None,
        type: Literal["message.keyword", "message.posted"] | None = None,
        poll_seconds: float = 5.0,
    ) -> Events[ChatEvent]:
        """Yield events as they are observed, without an end; each once."""
        return Events(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/events",
                {"connection_id": connection_id, "channel": channel, "since": since, "type": type},
                writes=False,
            ),
            poll_seconds,
        )


class AsyncChat:
    """Slack: Messages, reactions and channels of a team chat workspace."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    async def post_message(
        self,
        *,
        connection_id: str,
        channel: str,
        text: str,
        thread_ts: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[PostedMessage]:
        """Send a message to a channel or a person, or a reply in a thread."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/chat/messages",
                {"connection_id": connection_id, "channel": channel, "text": text, "thread_ts": thread_ts},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def edit_message(
        self,
        *,
        message_ts: str,
        connection_id: str,
        channel: str,
        text: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[EditedMessage]:
        """Change the text of a message that was posted through this connection."""
        return await self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/chat/messages/{RequestSpec.segment(message_ts)}",
                {"connection_id": connection_id, "channel": channel, "text": text},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def list_channels(
        self, *, connection_id: str, types: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncPages[Channel]:
        """List the channels that the connection can post to, public and private."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/channels",
                {"connection_id": connection_id, "types": types, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    async def add_reaction(
        self,
        *,
        connection_id: str,
        channel: str,
        message_ts: str,
        emoji: str,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[AddedReaction]:
        """Add an emoji reaction to a message. An existing reaction is left unchanged."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/chat/reactions",
                {"connection_id": connection_id, "channel": channel, "message_ts": message_ts, "emoji": emoji},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def read_events(
        self,
        *,
        connection_id: str,
        channel: str | None = None,
        since: str | None = None,
        type: Literal["message.keyword", "message.posted"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ChatEvent]:
        """Read the messages that people wrote in the watched channels, oldest first."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/events",
                {"connection_id": connection_id, "channel": channel, "since": since, "type": type, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def follow_events(
        self,
        *,
        connection_id: str,
        channel: str | None = None,
        since: str | None = None,
        type: Literal["message.keyword", "message.posted"] | None = None,
        poll_seconds: float = 5.0,
    ) -> AsyncEvents[ChatEvent]:
        """Yield events as they are observed, without an end; each once."""
        return AsyncEvents(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/chat/events",
                {"connection_id": connection_id, "channel": channel, "since": since, "type": type},
                writes=False,
            ),
            poll_seconds,
        )


class Crm:
    """HubSpot: Contacts, deals and properties of a customer relationship manager."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def create_or_update_contact(
        self,
        *,
        connection_id: str,
        email: str,
        properties: Mapping[str, Any],
        on_conflict: Literal["update", "skip"] | None = None,
        associate_company: str | None = None,
        create_company: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[WrittenContact]:
        """Create a contact, or update the one that matches the email."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/crm/contacts",
                {
                    "connection_id": connection_id,
                    "email": email,
                    "properties": properties,
                    "on_conflict": on_conflict,
                    "associate_company": associate_company,
                    "create_company": create_company,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def look_up_contacts(
        self,
        *,
        connection_id: str,
        email: str | None = None,
        property: str | None = None,
        value: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Contact]:
        """Look up contacts by email, by another property such as their owner, or all of them."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/crm/contacts",
                {"connection_id": connection_id, "email": email, "property": property, "value": value, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def create_deal(
        self,
        *,
        connection_id: str,
        dealname: str,
        pipeline: str,
        dealstage: str,
        amount: float | None = None,
        contact_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedDeal]:
        """Open a new deal in a stage of a pipeline."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/crm/deals",
                {
                    "connection_id": connection_id,
                    "dealname": dealname,
                    "pipeline": pipeline,
                    "dealstage": dealstage,
                    "amount": amount,
                    "contact_id": contact_id,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def update_deal(
        self,
        *,
        deal_id: str,
        connection_id: str,
        dealstage: str | None = None,
        properties: Mapping[str, Any] | None = None,
        note: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedDeal]:
        """Change a deal: move it to another stage, write properties such as its amount, and log a note."""
        return self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/crm/deals/{RequestSpec.segment(deal_id)}",
                {"connection_id": connection_id, "dealstage": dealstage, "properties": properties, "note": note},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def list_properties(
        self,
        *,
        connection_id: str,
        object_type: Literal["contacts", "companies", "deals"],
        custom_only: bool | None = None,
    ) -> Response[list[PropertyDefinition]]:
        """List the properties that contacts, companies or deals have, with their types and options."""
        return self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/crm/properties",
                {"connection_id": connection_id, "object_type": object_type, "custom_only": custom_only},
                writes=False,
            )
        )


class AsyncCrm:
    """HubSpot: Contacts, deals and properties of a customer relationship manager."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    async def create_or_update_contact(
        self,
        *,
        connection_id: str,
        email: str,
        properties: Mapping[str, Any],
        on_conflict: Literal["update", "skip"] | None = None,
        associate_company: str | None = None,
        create_company: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[WrittenContact]:
        """Create a contact, or update the one that matches the email."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/crm/contacts",
                {
                    "connection_id": connection_id,
                    "email": email,
                    "properties": properties,
                    "on_conflict": on_conflict,
                    "associate_company": associate_company,
                    "create_company": create_company,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def look_up_contacts(
        self,
        *,
        connection_id: str,
        email: str | None = None,
        property: str | None = None,
        value: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Contact]:
        """Look up contacts by email, by another property such as their owner, or all of them."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/crm/contacts",
                {"connection_id": connection_id, "email": email, "property": property, "value": value, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    async def create_deal(
        self,
        *,
        connection_id: str,
        dealname: str,
        pipeline: str,
        dealstage: str,
        amount: float | None = None,
        contact_id: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedDeal]:
        """Open a new deal in a stage of a pipeline."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/crm/deals",
                {
                    "connection_id": connection_id,
                    "dealname": dealname,
                    "pipeline": pipeline,
                    "dealstage": dealstage,
                    "amount": amount,
                    "contact_id": contact_id,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def update_deal(
        self,
        *,
        deal_id: str,
        connection_id: str,
        dealstage: str | None = None,
        properties: Mapping[str, Any] | None = None,
        note: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedDeal]:
        """Change a deal: move it to another stage, write properties such as its amount, and log a note."""
        return await self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/crm/deals/{RequestSpec.segment(deal_id)}",
                {"connection_id": connection_id, "dealstage": dealstage, "properties": properties, "note": note},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def list_properties(
        self,
        *,
        connection_id: str,
        object_type: Literal["contacts", "companies", "deals"],
        custom_only: bool | None = None,
    ) -> Response[list[PropertyDefinition]]:
        """List the properties that contacts, companies or deals have, with their types and options."""
        return await self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/crm/properties",
                {"connection_id": connection_id, "object_type": object_type, "custom_only": custom_only},
                writes=False,
            )
        )


class Tables:
    """Airtable: Bases, tables and records of a spreadsheet-style database."""

    def __init__(self, sending: SyncTransport) -> None:
        self._sending = sending

    def read_records(
        self,
        *,
        connection_id: str,
        base_id: str,
        table: str,
        view: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[Record]:
        """Read records (rows) of a table, or of a view with its own filter and order."""
        return Pages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/tables/records",
                {"connection_id": connection_id, "base_id": base_id, "table": table, "view": view, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    def create_records(
        self,
        *,
        connection_id: str,
        base_id: str,
        table: str,
        records: Sequence[Mapping[str, Any]],
        allow_new_options: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedRecords]:
        """Add up to ten new records (rows) to a table, and report the success of each."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/tables/records",
                {
                    "connection_id": connection_id,
                    "base_id": base_id,
                    "table": table,
                    "records": records,
                    "allow_new_options": allow_new_options,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def update_record(
        self,
        *,
        record_id: str,
        connection_id: str,
        base_id: str,
        table: str,
        fields: Mapping[str, Any],
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedRecord]:
        """Set fields of one existing record."""
        return self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/tables/records/{RequestSpec.segment(record_id)}",
                {"connection_id": connection_id, "base_id": base_id, "table": table, "fields": fields},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def attach_file(
        self,
        *,
        connection_id: str,
        record_id: str,
        field: str,
        url: str,
        filename: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[AttachedFile]:
        """Attach a file from a public link to a record, in an attachment field."""
        return self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/tables/attachments",
                {
                    "connection_id": connection_id,
                    "record_id": record_id,
                    "field": field,
                    "url": url,
                    "filename": filename,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    def list_tables(
        self, *, connection_id: str, base_id: str, include_views: bool | None = None
    ) -> Response[list[Table]]:
        """List the tables of a base with their fields (columns), field types and views."""
        return self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/tables/tables",
                {"connection_id": connection_id, "base_id": base_id, "include_views": include_views},
                writes=False,
            )
        )


class AsyncTables:
    """Airtable: Bases, tables and records of a spreadsheet-style database."""

    def __init__(self, sending: AsyncTransport) -> None:
        self._sending = sending

    def read_records(
        self,
        *,
        connection_id: str,
        base_id: str,
        table: str,
        view: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Record]:
        """Read records (rows) of a table, or of a view with its own filter and order."""
        return AsyncPages(
            self._sending,
            RequestSpec(
                "GET",
                "/v1/connectors/tables/records",
                {"connection_id": connection_id, "base_id": base_id, "table": table, "view": view, "limit": limit},
                writes=False,
            ),
            cursor,
        )

    async def create_records(
        self,
        *,
        connection_id: str,
        base_id: str,
        table: str,
        records: Sequence[Mapping[str, Any]],
        allow_new_options: bool | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[CreatedRecords]:
        """Add up to ten new records (rows) to a table, and report the success of each."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/tables/records",
                {
                    "connection_id": connection_id,
                    "base_id": base_id,
                    "table": table,
                    "records": records,
                    "allow_new_options": allow_new_options,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def update_record(
        self,
        *,
        record_id: str,
        connection_id: str,
        base_id: str,
        table: str,
        fields: Mapping[str, Any],
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[UpdatedRecord]:
        """Set fields of one existing record."""
        return await self._sending.send(
            RequestSpec(
                "PATCH",
                f"/v1/connectors/tables/records/{RequestSpec.segment(record_id)}",
                {"connection_id": connection_id, "base_id": base_id, "table": table, "fields": fields},
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def attach_file(
        self,
        *,
        connection_id: str,
        record_id: str,
        field: str,
        url: str,
        filename: str | None = None,
        idempotency_key: str | None = None,
        dry_run: bool = False,
    ) -> Response[AttachedFile]:
        """Attach a file from a public link to a record, in an attachment field."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                "/v1/connectors/tables/attachments",
                {
                    "connection_id": connection_id,
                    "record_id": record_id,
                    "field": field,
                    "url": url,
                    "filename": filename,
                },
                writes=True,
                key=idempotency_key,
                dry_run=dry_run,
            )
        )

    async def list_tables(
        self, *, connection_id: str, base_id: str, include_views: bool | None = None
    ) -> Response[list[Table]]:
        """List the tables of a base with their fields (columns), field types and views."""
        return await self._sending.send(
            RequestSpec(
                "GET",
                "/v1/connectors/tables/tables",
                {"connection_id": connection_id, "base_id": base_id, "include_views": include_views},
                writes=False,
            )
        )


class Operations:
    """Every operation, by connector, and requests to the vendors' APIs."""

    def __init__(self, sending: SyncTransport) -> None:
        self.notes = Notes(sending)
        self.boards = Boards(sending)
        self.mail = Mail(sending)
        self.chat = Chat(sending)
        self.crm = Crm(sending)
        self.tables = Tables(sending)
        self._sending = sending

    def request(
        self,
        *,
        connection_id: str,
        method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        body: Any = None,
        dry_run: bool = False,
    ) -> Response[VendorResponse]:
        """Send one request to the vendor's API with the connection's credentials, and return its response."""
        return self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connections/{RequestSpec.segment(connection_id)}/request",
                {"method": method, "path": path, "query": query, "headers": headers, "body": body},
                writes=False,
                once=True,
                dry_run=dry_run,
            )
        )


class AsyncOperations:
    """Every operation, by connector, and requests to the vendors' APIs."""

    def __init__(self, sending: AsyncTransport) -> None:
        self.notes = AsyncNotes(sending)
        self.boards = AsyncBoards(sending)
        self.mail = AsyncMail(sending)
        self.chat = AsyncChat(sending)
        self.crm = AsyncCrm(sending)
        self.tables = AsyncTables(sending)
        self._sending = sending

    async def request(
        self,
        *,
        connection_id: str,
        method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        body: Any = None,
        dry_run: bool = False,
    ) -> Response[VendorResponse]:
        """Send one request to the vendor's API with the connection's credentials, and return its response."""
        return await self._sending.send(
            RequestSpec(
                "POST",
                f"/v1/connections/{RequestSpec.segment(connection_id)}/request",
                {"method": method, "path": path, "query": query, "headers": headers, "body": body},
                writes=False,
                once=True,
                dry_run=dry_run,
            )
        )
