"""Filters, pages and page tokens that all lists share."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.mail.data.search_query import read
from workspace_sandbox.mail.data.state import Key, Message
from workspace_sandbox.mail.error_responses import invalid, metadata_scope
from workspace_sandbox.mail.request import ApiRequest

DEFAULT_RESULTS = 100
MAX_RESULTS = 500
ESTIMATE = 201
"""The estimate that the vendor reports if there is another page."""

MessageFilter = Callable[[Message], bool]


def build_filter(request: ApiRequest, now: float) -> MessageFilter:
    """Return the filter of a list request."""
    q = request.query.get("q", "").strip()
    if q and request.metadata_only:
        raise metadata_scope("'q' parameter")
    label_ids = request.query.get("labelIds", [])
    unknown = next((label_id for label_id in label_ids if label_id not in request.mailbox.labels), None)
    if unknown is not None:
        raise invalid(f"Invalid label: {unknown}")
    query = read(q, request.mailbox, now)
    everything = bool(request.query.get("includeSpamTrash")) or not {"SPAM", "TRASH"}.isdisjoint(label_ids)
    # Only a search uses the index. A list without a query includes new messages immediately.
    lag = request.knobs["index_lag_seconds"] if q else 0.0

    def is_match(message: Message) -> bool:
        carries_all = all(message.has_label(label_id) for label_id in label_ids)
        is_indexed = has_passed(lag, message.internal_date / 1000, now)
        return carries_all and is_indexed and query.includes(message, everything=everything)

    return is_match


def matching_messages(request: ApiRequest, is_match: MessageFilter) -> Iterator[Message]:
    """Return the messages that match, starting at the position of the page token."""
    before = parse_page_token(request) if request.query.get("pageToken") else None
    return filter(is_match, request.mailbox.newest(before))


def page(
    request: ApiRequest, name: str, matching: Iterator[Message], render: Callable[[Message], dict[str, Any]]
) -> dict[str, Any]:
    """Return a page of the messages that match, each rendered by *render*."""
    limit = page_size(request)
    # One message more than the limit is read, to see whether there is another page.
    messages = [message for _, message in zip(range(limit + 1), matching, strict=False)]
    if not messages:
        # Gmail omits the empty list. The missing key breaks clients that expect one.
        return {"resultSizeEstimate": 0}
    # Drafts and sent mail are among the messages, as in Gmail.
    response: dict[str, Any] = {name: [render(message) for message in messages[:limit]]}
    if len(messages) > limit:
        response["nextPageToken"] = create_page_token(request, messages[limit - 1].key)
    return response | {"resultSizeEstimate": ESTIMATE if len(messages) > limit else len(messages)}


def page_size(request: ApiRequest) -> int:
    """Return the page size."""
    # Larger values are capped silently, as users report. The reference only names the maximum.
    return min(request.query.get("maxResults") or DEFAULT_RESULTS, MAX_RESULTS)


def create_page_token(request: ApiRequest, key: Key) -> str:
    """Return the token of the page after *key*."""
    encoded = f"{key[0]:014d}{key[1]:08d}"
    return _sign(request, encoded) + encoded


def parse_page_token(request: ApiRequest) -> Key:
    """Return the position that a page token encodes."""
    page_token = request.query["pageToken"]
    signature, encoded = page_token[:10], page_token[10:]
    if (
        len(page_token) != 32
        or not (page_token.isascii() and page_token.isdigit())
        or signature != _sign(request, encoded)
    ):
        raise invalid("Invalid pageToken")
    return int(encoded[:14]), int(encoded[14:])


def _sign(request: ApiRequest, encoded: str) -> str:
    # A page token is valid for one query only. The vendor rejects it with another one.
    names = ("q", "labelIds", "includeSpamTrash", "startHistoryId", "historyTypes", "labelId")
    parts = [request.method.id, request.mailbox.address, encoded, *(str(request.query.get(name, "")) for name in names)]
    return f"{int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest()) % 10**10:010d}"
