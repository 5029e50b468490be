"""The vendor's wire: one method per request; the vendor numbers no versions.

Sources of methods stand below docs.slack.dev/reference/methods/, and were read 2026-11.
"""

from __future__ import annotations  # functions are made in each call (decision 45)

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.errors import (
    DONE_BEFORE,
    ERRORS,
    EVIDENCE_ERROR_MAP,
    THROTTLES,
    Refusals,
    code_of,
    require_accepted,
    response_status,
    unwrap,
)
from connector_gateway.kit.errors import MessageNotFound, OutcomeUnknown, ThreadNotFound
from connector_gateway.kit.pagination import PageIterator, with_smaller_pages
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import DEFAULT_PAUSE_SECONDS, UpstreamClient, retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

ADDRESS = "https://slack.com"

POSTS = Budget(300, per_seconds=60)
"""Posts of a workspace; the vendor says several hundred a minute. Source: as below."""

POSTS_OF_A_CHANNEL = Budget(1, per_seconds=1)
"""Posts of one channel; the vendor forgives short bursts, but does not say how long. Source: as below."""

IDENTITY = Budget(300, per_seconds=60)
"""Questions whose the token is, which reads of events send as well; the vendor says hundreds a minute.

Source: docs.slack.dev/reference/methods/auth.test, read 2026-11.
"""

TIER_2 = Budget(20, per_seconds=60)
TIER_3 = Budget(50, per_seconds=60)
"""Each method has a budget of its own in each workspace, the size of its tier.

Of an application that is sold outside the vendor's marketplace, the two methods that read messages are cut to one call
a minute; the vendor's own answers then set the pace.
Source: docs.slack.dev/apis/web-api/rate-limits, read 2026-11.
"""

BUDGETS: Mapping[str, Budget] = {
    "posts": POSTS,
    "posts of a channel": POSTS_OF_A_CHANNEL,
    "edits": TIER_3,
    "reactions": TIER_3,
    "channels": TIER_2,
    "own channels": TIER_2,
    "channel info": TIER_3,
    "conversations": TIER_3,
    "history": TIER_3,
    "replies": TIER_3,
    "identity": IDENTITY,
}
"""By the name that charges use; no two methods share one."""

PAGE_SIZE = 200
"""What the vendor advises at most."""

CHANNEL_PAGES = 10
"""Pages of a list of channels that are read; the vendor lets twenty be read in a minute."""

MESSAGE_PAGES = 50
"""Pages of messages that are read of one channel, or of one thread."""

CHANNELS = "public_channel,private_channel"
JSON = {"Content-Type": "application/json; charset=utf-8"}
"""Without the charset the vendor complains in every answer."""

SETTLE_SECONDS = 60.0
"""How long a request may still be carried out after it was sent.

The vendor names no limit; its own libraries give a request up after thirty seconds, and this is twice that.
Source: slackapi/python-slack-sdk slack_sdk/web/base_client.py, read 2026-11.
"""

MARK = "gateway_post"
"""The type of the metadata by which our own posts are found again; everyone in the channel may read it."""

L = TypeVar("L", bound=wire.Listing)
Scopes = frozenset[str]

ENDED = (b"token_expired", b"token_revoked")
"""Codes of refusal that say that a token has ended: by its time, or because two newer ones have been issued."""


def throttled(answer: UpstreamResponse) -> float | None:
    """Seconds to wait when the vendor throttles: by status, whatever the body, or in a body of status 200."""
    # A throttle of a post may come with status 200, in either of two spellings.
    if answer.status != 429 and code_of(response_status(answer)) not in THROTTLES:
        return None
    return retry_after(answer, DEFAULT_PAUSE_SECONDS)


def expired(answer: UpstreamResponse) -> bool:
    """Whether an answer says that a token which rotates has ended."""
    # Every answer comes here, and hardly any holds such a word: none is read twice for it.
    return any(code in answer.body for code in ENDED) and code_of(response_status(answer)).encode() in ENDED


class ChatClient:
    """The vendor's requests that the operations are made of."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def auth_test(self) -> tuple[wire.Identity, Scopes]:
        """Whose the token is, and where; and the token's scopes. Source: auth.test."""
        answer = await self._read("auth.test", "identity", {})
        return unwrap(answer, wire.Identity), scopes_of(answer)

    async def post_message(self, channel_id: str, text: str, thread_ts: str | None, marker: str) -> wire.Posted:
        """A new message, with a *marker* that it can be found by. Source: chat.postMessage."""
        # The vendor has no idempotency key. Metadata is the place for a mark, and edits keep it (decision 22).
        metadata = {"event_type": MARK, "event_payload": {"k": marker}}
        body = {"channel": channel_id, "text": text, "metadata": metadata}
        thread = {"thread_ts": thread_ts} if thread_ts else {}
        charges = (Charge("posts"), Charge("posts of a channel", scope_key=channel_id))
        return unwrap(await self._write("chat.postMessage", body | thread, *charges), wire.Posted)

    async def update_message(self, channel_id: str, ts: str, text: str) -> wire.Updated:
        """A message with a new body. Source: chat.update."""
        body = {"channel": channel_id, "ts": ts, "text": text}
        return unwrap(await self._write("chat.update", body, Charge("edits")), wire.Updated)

    async def add_reaction(self, channel_id: str, ts: str, name: str) -> bool:
        """React to a message; whether the app had done so before. Source: reactions.add."""
        body = {"channel": channel_id, "timestamp": ts, "name": name}
        answer = await self._write("reactions.add", body, Charge("reactions"))
        if ERRORS.reason(answer).code == DONE_BEFORE:
            return True
        require_accepted(answer)
        return False

    async def open_conversation(self, user_id: str) -> wire.Place:
        """The conversation with a person, opened once however often that is asked. Source: conversations.open."""
        # Not a write to us, since opening again changes nothing: it may be resent freely.
        path, charge = "/api/conversations.open", Charge("conversations")
        answer = await self._upstream.send("POST", path, charge, writes=False, json={"users": user_id}, headers=JSON)
        return unwrap(answer, wire.Opened).channel

    async def require_channel(self, channel_id: str) -> None:
        """Refuse a conversation that there is not, or that the app may not see. Source: conversations.info."""
        require_accepted(await self._read("conversations.info", "channel info", {"channel": channel_id}))

    async def list_conversations(self, types: str, limit: int, cursor: str | None) -> tuple[wire.Conversations, Scopes]:
        """A page of what the app sees, without archived ones, and its permissions. Source: conversations.list."""
        # The vendor filters after it has cut a page: short and empty pages come before the last.
        query = {"types": types, "exclude_archived": "true"} | _from(cursor)

        async def fetch(size: int) -> UpstreamResponse:
            return await self._read("conversations.list", "channels", {**query, "limit": size})

        answer = await with_smaller_pages(fetch, limit)
        return unwrap(answer, wire.Conversations), scopes_of(answer)

    async def channels(self) -> tuple[Sequence[wire.Conversation], bool]:
        """The channels the app is in, then those it sees, archived ones too; and whether these are all."""
        own = self.own_conversations(CHANNELS)
        query = {"types": CHANNELS}
        seen = self._pages("conversations.list", "channels", query, wire.Conversations, most=CHANNEL_PAGES)
        found = [channel for pages in (own, seen) async for page in pages for channel in page.channels]
        return found, seen.complete

    def own_conversations(self, types: str) -> PageIterator[wire.Conversations]:
        """Pages of what the app is in, archived or not; any may be short or empty. Source: users.conversations."""
        return self._pages(
            "users.conversations", "own channels", {"types": types}, wire.Conversations, most=CHANNEL_PAGES
        )

    def history_pages(self, channel_id: str) -> PageIterator[wire.Messages]:
        """Pages of the messages of a channel, newest first, without replies. Source: conversations.history."""
        return self._pages(
            "conversations.history", "history", {"channel": channel_id}, wire.Messages, most=MESSAGE_PAGES
        )

    def reply_pages(self, channel_id: str, ts: str, oldest: str) -> PageIterator[wire.Messages]:
        """Pages of a thread: its first message, then replies after *oldest*. Source: conversations.replies."""
        query = {"channel": channel_id, "ts": ts, "oldest": oldest}
        return self._pages("conversations.replies", "replies", query, wire.Messages, most=MESSAGE_PAGES)

    def history(self, channel_id: str, oldest: float) -> AsyncIterator[wire.Message]:
        """The messages of a channel since an instant, newest first, without replies. Source: conversations.history."""
        query = {"channel": channel_id} | _since(oldest)
        return self._messages("conversations.history", "history", query)

    def replies(self, channel_id: str, ts: str, oldest: float) -> AsyncIterator[wire.Message]:
        """A thread's first message, then its replies since an instant; of a reply, that alone. Source: as above."""
        query = {"channel": channel_id, "ts": ts} | _since(oldest)
        return self._messages("conversations.replies", "replies", query)

    async def retrieve_message(self, channel_id: str, ts: str) -> wire.Message:
        """One message, in a thread or not; ``OutcomeUnknown`` if it cannot be read. Source: as above."""
        answer = await self._read("conversations.replies", "replies", {"channel": channel_id, "ts": ts, "limit": 1})
        page = unwrap(answer, wire.Messages, {**EVIDENCE_ERROR_MAP, "thread_not_found": MessageNotFound})
        for message in page.messages:
            if message.ts == ts:
                return message
        raise ERRORS.create_error(answer, MessageNotFound)

    async def thread_root(self, channel_id: str, ts: str) -> str:
        """The message that begins the thread of another; ``OutcomeUnknown`` if it cannot be read. Source: as above."""
        answer = await self._read("conversations.replies", "replies", {"channel": channel_id, "ts": ts, "limit": 1})
        page = unwrap(answer, wire.Messages, {**EVIDENCE_ERROR_MAP, "message_not_found": ThreadNotFound})
        if not page.messages:
            raise ERRORS.create_error(answer, ThreadNotFound)
        return page.messages[0].thread_ts or page.messages[0].ts

    async def _messages(self, method: str, budget: str, query: Mapping[str, Any]) -> AsyncIterator[wire.Message]:
        """The messages of a list with all their metadata; ``OutcomeUnknown`` if there are too many to read."""
        whole = {**query, "include_all_metadata": "true"}
        pages = self._pages(method, budget, whole, wire.Messages, most=MESSAGE_PAGES, refusals=EVIDENCE_ERROR_MAP)
        async for page in pages:
            for message in page.messages:
                yield message
        if not pages.complete:
            raise OutcomeUnknown("Too much was written in the channel since to look through all of it.")

    def _pages(
        self,
        method: str,
        budget: str,
        query: Mapping[str, Any],
        shape: type[L],
        *,
        most: int,
        refusals: Refusals | None = None,
    ) -> PageIterator[L]:
        """The pages of a list, at most so many, since the vendor lets few be read in a minute."""

        async def ask(cursor: str | None, size: int) -> UpstreamResponse:
            return await self._read(method, budget, {**query, "limit": size} | _from(cursor))

        async def fetch(cursor: str | None) -> tuple[L, str | None]:
            page = unwrap(await with_smaller_pages(partial(ask, cursor), PAGE_SIZE), shape, refusals)
            return page, next_cursor(page)

        return PageIterator(fetch, most=most)

    async def _read(self, method: str, budget: str, query: Mapping[str, Any]) -> UpstreamResponse:
        return await self._upstream.send("GET", f"/api/{method}", Charge(budget), writes=False, query=query)

    async def _write(self, method: str, body: Mapping[str, Any], *charges: Charge) -> UpstreamResponse:
        return await self._upstream.send("POST", f"/api/{method}", *charges, writes=True, json=body, headers=JSON)


def scopes_of(answer: UpstreamResponse) -> Scopes:
    """The permissions that the token of a request has, as its answer tells them."""
    told = answer.headers.get("X-OAuth-Scopes", "")
    return frozenset(filter(None, (scope.strip() for scope in told.split(","))))


def next_cursor(page: wire.Listing) -> str | None:
    """Where the next page of a list begins; None after the last."""
    return None if page.response_metadata is None else page.response_metadata.next_cursor or None


def _from(cursor: str | None) -> dict[str, str]:
    return {"cursor": cursor} if cursor else {}


def _since(oldest: float) -> dict[str, str]:
    return {"oldest": f"{oldest:.6f}"}
