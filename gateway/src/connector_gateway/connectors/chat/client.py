"""The vendor's API: one method per request. The vendor has no version numbers.

Sources of methods are below docs.slack.dev/reference/methods/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.vendor_errors import (
    ALREADY_DONE,
    ERRORS,
    EVIDENCE_ERROR_MAP,
    THROTTLES,
    ErrorMap,
    check_accepted,
    get_error_code,
    response_status,
    unwrap,
)
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import MessageNotFound, OutcomeUnknown, ThreadNotFound
from connector_gateway.kit.pagination import PageIterator, with_smaller_pages
from connector_gateway.kit.passthrough import CustomRequest, Passthrough
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import DEFAULT_BACKOFF_SECONDS, UpstreamClient, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

BASE_URL = "https://slack.com"

POSTS_BUDGET = Budget(300, per_seconds=60)
"""Posts per workspace. The vendor documents "several hundred" a minute.

Source: docs.slack.dev/apis/web-api/rate-limits, read 2026-11.
"""

CHANNEL_POSTS_BUDGET = Budget(1, per_seconds=1)
"""Posts per channel. The vendor tolerates short bursts of undocumented length.

Source: docs.slack.dev/apis/web-api/rate-limits, read 2026-11.
"""

IDENTITY_BUDGET = Budget(300, per_seconds=60)
"""Identity checks, which reads of events need as well. The vendor documents "hundreds" a minute.

Source: docs.slack.dev/reference/methods/auth.test, read 2026-11.
"""

TIER_2_BUDGET = Budget(20, per_seconds=60)
TIER_3_BUDGET = Budget(50, per_seconds=60)
"""Requests per method and workspace, by the method's tier.

For an app that is distributed outside the vendor's marketplace, the two methods that read messages are limited to
one call a minute. The vendor's throttling responses then set the pace.
Source: docs.slack.dev/apis/web-api/rate-limits, read 2026-11.
"""

BUDGETS: Mapping[str, Budget] = {
    "posts": POSTS_BUDGET,
    "posts of a channel": CHANNEL_POSTS_BUDGET,
    "edits": TIER_3_BUDGET,
    "reactions": TIER_3_BUDGET,
    "channels": TIER_2_BUDGET,
    "own channels": TIER_2_BUDGET,
    "channel info": TIER_3_BUDGET,
    "conversations": TIER_3_BUDGET,
    "history": TIER_3_BUDGET,
    "replies": TIER_3_BUDGET,
    "identity": IDENTITY_BUDGET,
    "other methods": TIER_2_BUDGET,
}
"""Budgets by the names that charges use. No two methods share one."""

METHOD_BUDGETS = {
    "auth.test": "identity",
    "chat.update": "edits",
    "conversations.history": "history",
    "conversations.info": "channel info",
    "conversations.list": "channels",
    "conversations.open": "conversations",
    "conversations.replies": "replies",
    "reactions.add": "reactions",
    "users.conversations": "own channels",
}
"""The budgets of the methods that operations use, except posts."""

READ_METHODS = re.compile(
    r"[a-zA-Z.]+\.(list|info|history|replies|members|test|get|getPresence|getPermalink|lookupByEmail|conversations"
    r"|teamInfo)|search\.(all|files|messages)"
)
"""Methods that change nothing. The vendor's methods are in the path, and ``GET`` carries out all of them.

Source: docs.slack.dev/reference/methods, read 2026-11.
"""


def is_read(request: CustomRequest) -> bool:
    """Return True if a request that a caller has written changes nothing."""
    return READ_METHODS.fullmatch(request.path.removeprefix("/api/")) is not None


def charge_request(request: CustomRequest) -> Sequence[Charge]:
    """Return the charges of a request that a caller has written. Other methods are charged to a slow tier each."""
    method = request.path.removeprefix("/api/")
    if method == "chat.postMessage":
        channel = str(request.parameter("channel") or "")
        return Charge("posts"), Charge("posts of a channel", scope_key=channel)
    budget = METHOD_BUDGETS.get(method)
    return [Charge(budget) if budget else Charge("other methods", scope_key=method)]


PASSTHROUGH = Passthrough(charges=charge_request, is_read=is_read)
POST_REQUEST: Requests = ((Charge("posts"), Charge("posts of a channel")),)


def requests(*budgets: str) -> Requests:
    """Return a request charged to each of *budgets*."""
    return tuple((Charge(budget),) for budget in budgets)


PAGE_SIZE = 200
"""The maximum page size that the vendor recommends."""

MAX_CHANNEL_PAGES = 10
"""Maximum number of pages of a channel list. The vendor allows twenty per minute."""

MAX_MESSAGE_PAGES = 50
"""Maximum number of pages of messages per channel or thread."""

CHANNELS = "public_channel,private_channel"
JSON_HEADERS = {"Content-Type": "application/json; charset=utf-8"}
"""The content type. Without the charset, every response contains a warning."""

SETTLE_SECONDS = 60.0
"""Seconds during which a request may still take effect after it was sent.

The vendor documents no limit. Its own libraries time out after thirty seconds, and this is twice that.
Source: slackapi/python-slack-sdk slack_sdk/web/base_client.py, read 2026-11.
"""

MARKER_EVENT_TYPE = "gateway_post"
"""The type of the metadata that identifies our posts. Everyone in the channel can read it."""

L = TypeVar("L", bound=vendor_models.Listing)
Scopes = frozenset[str]

ENDED_TOKEN_CODES = (b"token_expired", b"token_revoked")
"""Error codes of a token that expired, or that was revoked because two newer ones were issued."""


def parse_throttle(response: UpstreamResponse) -> float | None:
    """Return the delay in seconds if the vendor throttles, by status 429 or in a body with status 200."""
    # The throttling of a post may have status 200 and either of two codes.
    if response.status != 429 and get_error_code(response_status(response)) not in THROTTLES:
        return None
    return parse_retry_after(response, DEFAULT_BACKOFF_SECONDS)


def is_token_expired(response: UpstreamResponse) -> bool:
    """Return True if a response means that a rotating token has ended."""
    # Every response is checked but few contain such a code, so the body is searched before it is decoded.
    return (
        any(code in response.body for code in ENDED_TOKEN_CODES)
        and get_error_code(response_status(response)).encode() in ENDED_TOKEN_CODES
    )


class ChatClient:
    """The vendor's requests used by the operations."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    @property
    def skew(self) -> float:
        """The seconds by which the vendor's clock is ahead of ours."""
        return self._upstream.skew

    async def auth_test(self) -> tuple[vendor_models.Identity, Scopes]:
        """Return the identity and the scopes of the token. Source: auth.test."""
        response = await self._read("auth.test", "identity", {})
        return unwrap(response, vendor_models.Identity), parse_scopes(response)

    async def post_message(
        self, channel_id: str, text: str, thread_ts: str | None, marker: str
    ) -> vendor_models.Posted:
        """Post a message with a *marker* that evidence searches for. Source: chat.postMessage."""
        # The vendor has no idempotency key. Metadata can contain a marker, and edits preserve it.
        metadata = {"event_type": MARKER_EVENT_TYPE, "event_payload": {"k": marker}}
        body = {"channel": channel_id, "text": text, "metadata": metadata}
        thread = {"thread_ts": thread_ts} if thread_ts else {}
        charges = (Charge("posts"), Charge("posts of a channel", scope_key=channel_id))
        return unwrap(await self._write("chat.postMessage", body | thread, *charges), vendor_models.Posted)

    async def update_message(self, channel_id: str, ts: str, text: str) -> vendor_models.Updated:
        """Replace the body of a message. Source: chat.update."""
        body = {"channel": channel_id, "ts": ts, "text": text}
        return unwrap(await self._write("chat.update", body, Charge("edits")), vendor_models.Updated)

    async def add_reaction(self, channel_id: str, ts: str, name: str) -> bool:
        """React to a message. Returns whether the app had already reacted. Source: reactions.add."""
        body = {"channel": channel_id, "timestamp": ts, "name": name}
        response = await self._write("reactions.add", body, Charge("reactions"))
        if ERRORS.reason(response).code == ALREADY_DONE:
            return True
        check_accepted(response)
        return False

    async def open_conversation(self, user_id: str) -> vendor_models.ConversationRef:
        """Open the conversation with a person. Repeated requests return the same one. Source: conversations.open."""
        # Not marked as a write, because opening again changes nothing, so it may be retried freely.
        path, charge = "/api/conversations.open", Charge("conversations")
        response = await self._upstream.send(
            "POST", path, charge, writes=False, json={"users": user_id}, headers=JSON_HEADERS
        )
        return unwrap(response, vendor_models.Opened).channel

    async def check_channel(self, channel_id: str) -> None:
        """Raise an error unless the conversation exists and the app can see it. Source: conversations.info."""
        check_accepted(await self._read("conversations.info", "channel info", {"channel": channel_id}))

    async def list_conversations(
        self, types: str, limit: int, cursor: str | None
    ) -> tuple[vendor_models.Conversations, Scopes]:
        """Return a page of visible conversations, without archived ones, and the scopes. Source: conversations.list."""
        # The vendor filters after paging, so short and empty pages may precede the last.
        query = {"types": types, "exclude_archived": "true"} | _from(cursor)

        async def fetch(size: int) -> UpstreamResponse:
            return await self._read("conversations.list", "channels", {**query, "limit": size})

        response = await with_smaller_pages(fetch, limit)
        return unwrap(response, vendor_models.Conversations), parse_scopes(response)

    async def channels(self) -> tuple[Sequence[vendor_models.Conversation], bool]:
        """Return the app's channels, then the others it sees, including archived ones.

        Also returns whether these are all.
        """
        own = self.own_conversations(CHANNELS)
        query = {"types": CHANNELS}
        visible = self._pages(
            "conversations.list", "channels", query, vendor_models.Conversations, most=MAX_CHANNEL_PAGES
        )
        channels, others = await gather_pair(_read_channels(own), _read_channels(visible))
        return [*channels, *others], visible.complete

    def own_conversations(self, types: str) -> PageIterator[vendor_models.Conversations]:
        """Return pages of the app's conversations, including archived ones. Any page may be short or empty.

        Source: users.conversations.
        """
        return self._pages(
            "users.conversations", "own channels", {"types": types}, vendor_models.Conversations, most=MAX_CHANNEL_PAGES
        )

    def history_pages(self, channel_id: str) -> PageIterator[vendor_models.Messages]:
        """Return pages of the messages of a channel, newest first, without replies. Source: conversations.history."""
        return self._pages(
            "conversations.history", "history", {"channel": channel_id}, vendor_models.Messages, most=MAX_MESSAGE_PAGES
        )

    def reply_pages(self, channel_id: str, ts: str, oldest: str) -> PageIterator[vendor_models.Messages]:
        """Return pages of a thread: its first message, then replies after *oldest*. Source: conversations.replies."""
        query = {"channel": channel_id, "ts": ts, "oldest": oldest}
        return self._pages("conversations.replies", "replies", query, vendor_models.Messages, most=MAX_MESSAGE_PAGES)

    def history(self, channel_id: str, oldest: float) -> AsyncIterator[vendor_models.Message]:
        """Yield a channel's messages since *oldest*, newest first, without replies. Source: conversations.history."""
        query = {"channel": channel_id} | _since(oldest)
        return self._messages("conversations.history", "history", query)

    def replies(self, channel_id: str, ts: str, oldest: float) -> AsyncIterator[vendor_models.Message]:
        """Yield a thread's first message and its replies since *oldest*.

        For the *ts* of a reply, the vendor returns only that reply. Source: conversations.replies.
        """
        query = {"channel": channel_id, "ts": ts} | _since(oldest)
        return self._messages("conversations.replies", "replies", query)

    async def retrieve_message(self, channel_id: str, ts: str) -> vendor_models.Message:
        """Return one message, in a thread or not. Raises ``OutcomeUnknown`` if it cannot be read.

        Source: conversations.replies.
        """
        response = await self._read("conversations.replies", "replies", {"channel": channel_id, "ts": ts, "limit": 1})
        page = unwrap(response, vendor_models.Messages, {**EVIDENCE_ERROR_MAP, "thread_not_found": MessageNotFound})
        for message in page.messages:
            if message.ts == ts:
                return message
        raise ERRORS.create_error(response, MessageNotFound)

    async def thread_root(self, channel_id: str, ts: str) -> str:
        """Return the *ts* of the first message of a thread. Raises ``OutcomeUnknown`` if it cannot be read.

        Source: conversations.replies.
        """
        response = await self._read("conversations.replies", "replies", {"channel": channel_id, "ts": ts, "limit": 1})
        page = unwrap(response, vendor_models.Messages, {**EVIDENCE_ERROR_MAP, "message_not_found": ThreadNotFound})
        if not page.messages:
            raise ERRORS.create_error(response, ThreadNotFound)
        return page.messages[0].thread_ts or page.messages[0].ts

    async def _messages(
        self, method: str, budget: str, query: Mapping[str, Any]
    ) -> AsyncIterator[vendor_models.Message]:
        """Yield the messages of a list with their metadata. Raises ``OutcomeUnknown`` if there are too many."""
        full_query = {**query, "include_all_metadata": "true"}
        pages = self._pages(
            method, budget, full_query, vendor_models.Messages, most=MAX_MESSAGE_PAGES, error_map=EVIDENCE_ERROR_MAP
        )
        async for page in pages:
            for message in page.messages:
                yield message
        if not pages.complete:
            raise OutcomeUnknown("The channel has more new messages than can be searched.")

    def _pages(
        self,
        method: str,
        budget: str,
        query: Mapping[str, Any],
        shape: type[L],
        *,
        most: int,
        error_map: ErrorMap | None = None,
    ) -> PageIterator[L]:
        """Return the pages of a list, at most *most*, because the vendor allows few per minute."""

        async def fetch_page(cursor: str | None, size: int) -> UpstreamResponse:
            return await self._read(method, budget, {**query, "limit": size} | _from(cursor))

        async def fetch(cursor: str | None) -> tuple[L, str | None]:
            page = unwrap(await with_smaller_pages(partial(fetch_page, cursor), PAGE_SIZE), shape, error_map)
            return page, next_cursor(page)

        return PageIterator(fetch, max_pages=most)

    async def _read(self, method: str, budget: str, query: Mapping[str, Any]) -> UpstreamResponse:
        return await self._upstream.send("GET", f"/api/{method}", Charge(budget), writes=False, query=query)

    async def _write(self, method: str, body: Mapping[str, Any], *charges: Charge) -> UpstreamResponse:
        return await self._upstream.send(
            "POST", f"/api/{method}", *charges, writes=True, json=body, headers=JSON_HEADERS
        )


async def _read_channels(pages: PageIterator[vendor_models.Conversations]) -> Sequence[vendor_models.Conversation]:
    return [channel async for page in pages for channel in page.channels]


def parse_scopes(response: UpstreamResponse) -> Scopes:
    """Return the scopes of the token of a request, which its response contains."""
    header = response.headers.get("X-OAuth-Scopes", "")
    return frozenset(filter(None, (scope.strip() for scope in header.split(","))))


def next_cursor(page: vendor_models.Listing) -> str | None:
    """Return the cursor of the next page, or None after the last."""
    return None if page.response_metadata is None else page.response_metadata.next_cursor or None


def _from(cursor: str | None) -> dict[str, str]:
    return {"cursor": cursor} if cursor else {}


def _since(oldest: float) -> dict[str, str]:
    return {"oldest": f"{oldest:.6f}"}
