"""The vendor's API: one method per request, version v1.

Sources of methods are below developers.google.com/workspace/gmail/api/reference/rest/v1/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

import binascii
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic_core import to_json

from connector_gateway.connectors.mail import vendor_models
from connector_gateway.connectors.mail.vendor_errors import get_error_reason, raise_error, unwrap
from connector_gateway.kit import errors
from connector_gateway.kit.pagination import iter_items
from connector_gateway.kit.passthrough import CustomRequest, Passthrough, has_safe_method
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import UnexpectedShape, decode_json

BASE_URL = "https://gmail.googleapis.com"
CONSENT_URL = "https://accounts.google.com"
TOKENS_URL = "https://oauth2.googleapis.com"
PREFIX = "/gmail/v1/users/me"

USER_BUDGET = Budget(6_000, per_seconds=60)
"""Quota units per minute for one user of one project.

Source: developers.google.com/workspace/gmail/api/reference/quota, read 2026-11.
"""

SENDING_BUDGET = Budget(2_000, per_seconds=24 * 60 * 60)
"""Messages per day that large accounts may send. For smaller accounts, the vendor's errors apply.

Source: support.google.com/a/answer/166852, read 2026-11.
"""

SENDING = Charge("sending")

MAX_UNITS, MAX_READ_UNITS = 100, 40
"""Units of the most expensive requests: to send a message, and to read a thread."""


def charge_request(request: CustomRequest) -> Sequence[Charge]:
    """Return the charges of a request that a caller has written. Its units are those of the most expensive one."""
    if has_safe_method(request):
        return (_units(MAX_READ_UNITS),)
    sends = request.method == "POST" and request.path.endswith("/send")
    return (_units(MAX_UNITS), SENDING) if sends else (_units(MAX_UNITS),)


PASSTHROUGH = Passthrough(charges=charge_request, credential_parameters=frozenset({"key", "bearer_token"}))
"""Source: cloud.google.com/apis/docs/system-parameters, read 2026-11."""

MAX_CONCURRENT_REQUESTS = 8
"""Concurrent requests per mailbox. The vendor rejects slightly more than this.

The vendor publishes no number. Measurements that users published in 2026 came to about ten.
"""

MAX_CONCURRENT_READS = MAX_CONCURRENT_REQUESTS
"""The maximum number of messages that one call reads concurrently."""

BACKOFF_SECONDS = 1.0
"""Seconds to wait if the vendor states no delay, for example after too many concurrent requests."""

DAILY_BACKOFF_SECONDS = 3600.0
"""Seconds to wait when the project's daily quota is used up."""

MAX_READ_BACKOFF_SECONDS = 3600.0
"""The maximum delay that also applies to reads. A longer one means that the daily sending limit is used up."""

THROTTLING_REASONS = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"})
"""Reasons of a 403 that mean throttling."""

RETRY_AFTER = re.compile(r"Retry after (\d{4}-\d\d-\d\dT[\d:.]+Z)")
"""The retry time, which the vendor states only in the error message."""

PAGE_SIZE = 100
MAX_PAGES = 20
"""Upstream pages after which a listing is considered endless."""

SETTLE_SECONDS = 60.0
"""Seconds during which a request may still take effect after it was sent.

The vendor documents no limit. This is the default timeout of its library.
Source: googleapis/google-api-python-client googleapiclient/http.py, read 2026-11.
"""

MAX_JSON_BYTES = 1_000_000
"""Maximum bytes of base64 of a message in a JSON body. Larger messages go to the vendor's upload URL."""

BOUNDARY = b"=_connector_gateway_upload"
"""The boundary of uploads. It cannot occur in our messages, because their bodies are base64."""

MARKER = "X-Connector-Gateway-Attempt"
"""The header that identifies our drafts and the messages that they become.

The vendor preserves it but replaces ``Message-ID``.
"""

THREADING_HEADERS = ("Subject", "Message-ID", "Message-Id", "Message-id", "References", "In-Reply-To", MARKER)
"""The headers of a thread, in all common spellings, because the vendor does not promise to ignore case."""


W = TypeVar("W")


def parse_throttle(response: UpstreamResponse) -> ThrottleDelay | None:
    """Return the delay if *response* is a 429, or a 403 that means throttling."""
    if response.status not in {403, 429}:
        return None
    reason = get_error_reason(response)
    # Only the reason distinguishes throttling from a missing permission.
    if response.status == 403 and reason not in THROTTLING_REASONS:
        return None
    if reason == "dailyLimitExceeded":
        return ThrottleDelay(DAILY_BACKOFF_SECONDS, {"user"})
    until = _parse_retry_time(response)
    if until is None:
        return ThrottleDelay(parse_retry_after(response, BACKOFF_SECONDS), {"user"})
    seconds = max(BACKOFF_SECONDS, (until - (response.date or datetime.now(UTC))).total_seconds())
    # The errors of the daily sending limit and of the limit per minute differ only in their delay.
    return ThrottleDelay(seconds, {"sending"} if seconds > MAX_READ_BACKOFF_SECONDS else {"user"})


class MailClient:
    """The vendor's requests used by the operations."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def list_messages(self, query: Mapping[str, Any], page_token: str | None = None) -> vendor_models.MessageList:
        """Return a page of identifiers, newest first. Source: users.messages/list."""
        paged = {**query} | ({"pageToken": page_token} if page_token else {})
        response = await self._read("/messages", 5, paged)
        return unwrap(
            response, vendor_models.MessageList, errors.InvalidCursor if page_token else None, named=bool(page_token)
        )

    def list_all_messages(self, query: Mapping[str, Any]) -> AsyncIterator[vendor_models.Listed]:
        """Yield the identifiers of all messages that match *query*, newest first. Source: users.messages/list."""

        async def fetch(page_token: str | None) -> tuple[Sequence[vendor_models.Listed], str | None]:
            page = await self.list_messages({**query, "maxResults": PAGE_SIZE}, page_token)
            return page.messages, page.next_page_token

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def get_message(self, message_id: str, fields: str = "") -> vendor_models.Message:
        """Return a message with its parts. Source: users.messages/get."""
        return await self._get_message(message_id, "full", vendor_models.Message, fields)

    async def get_message_headers(self, message_id: str) -> vendor_models.Message:
        """Return a message without its parts. Source: users.messages/get."""
        return await self._get_message(message_id, "metadata", vendor_models.Message)

    async def get_message_labels(self, message_id: str) -> vendor_models.Labelled:
        """Return the labels of a message. Source: users.messages/get."""
        return await self._get_message(message_id, "minimal", vendor_models.Labelled)

    async def stream_attachment(
        self, message_id: str, attachment_id: str, *, buffered: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a part. The last ones are withheld until the response is complete.

        *buffered* is as in ``UpstreamClient.stream``.
        Source: users.messages.attachments/get.
        """
        path = f"{PREFIX}/messages/{_quoted(message_id)}/attachments/{_quoted(attachment_id)}"
        async with self._upstream.stream(path, _units(20), buffered=buffered) as response:
            if not response.is_success:
                raise_error(response, errors.AttachmentNotFound, named=True)
            content, pending = Base64JsonReader(), b""
            async for piece in response.pieces:
                if pending:
                    yield pending
                # Otherwise a truncated response could be mistaken for a complete file.
                pending = content.decode(piece)
            content.finish()
            yield pending

    async def modify_message(
        self, message_id: str, add: Sequence[str], remove: Sequence[str]
    ) -> vendor_models.Labelled:
        """Change the labels of a message. Source: users.messages/modify."""
        body = {"addLabelIds": add, "removeLabelIds": remove}
        response = await self._write(f"/messages/{_quoted(message_id)}/modify", 5, body)
        return unwrap(response, vendor_models.Labelled, errors.MessageNotFound)

    async def get_thread(self, thread_id: str) -> vendor_models.Thread:
        """Return a thread with the headers that replies need. Source: users.threads/get."""
        query = [("format", "metadata"), *(("metadataHeaders", name) for name in THREADING_HEADERS)]
        response = await self._read(f"/threads/{_quoted(thread_id)}", 40, query)
        return unwrap(response, vendor_models.Thread, errors.ThreadNotFound, named=True)

    async def list_labels(self) -> Sequence[vendor_models.Label]:
        """Return all labels. Source: users.labels/list."""
        return unwrap(await self._read("/labels", 1), vendor_models.LabelList).labels

    async def create_label(self, name: str) -> vendor_models.Label | None:
        """Create a label. Returns None if one of that name exists. Source: users.labels/create."""
        body = {"name": name, "labelListVisibility": "labelShow", "messageListVisibility": "show"}
        response = await self._write("/labels", 5, body)
        # Another request has created it, or its name differs only in case. The caller searches again.
        return None if response.status == 409 else unwrap(response, vendor_models.Label)

    async def get_profile(self) -> vendor_models.Profile:
        """Return the profile of the account.

        Source: developers.google.com/workspace/gmail/api, users.getProfile, read 2026-11.
        """
        return unwrap(await self._read("/profile", 1), vendor_models.Profile)

    async def list_send_as(self) -> Sequence[vendor_models.SendAs]:
        """Return the addresses that the account sends from. Source: users.settings.sendAs/list."""
        return unwrap(await self._read("/settings/sendAs", 1), vendor_models.SendAsList).send_as

    async def create_draft(self, message: bytes, thread_id: str | None) -> vendor_models.Draft:
        """Create a draft. A large one is uploaded. Source: users.drafts/create, and the discovery document v1."""
        raw = urlsafe_b64encode(message).decode()
        thread = {"threadId": thread_id} if thread_id else {}
        # Large JSON bodies are rejected at undocumented sizes, but uploads may have up to 35 MiB.
        if len(raw) > MAX_JSON_BYTES:
            response = await self._upload("/drafts", 10, {"message": thread}, message)
        else:
            response = await self._write("/drafts", 10, {"message": {"raw": raw} | thread})
        return unwrap(response, vendor_models.Draft, errors.ThreadNotFound if thread_id else None)

    async def send_draft(self, draft_id: str) -> vendor_models.Threaded | None:
        """Send a draft. Returns its message, or None if the draft no longer exists. Source: users.drafts/send."""
        response = await self._write("/drafts/send", 100, {"id": draft_id}, SENDING)
        return None if response.status == 404 else unwrap(response, vendor_models.Threaded)

    async def get_draft(self, draft_id: str) -> vendor_models.Draft | None:
        """Return a draft, or None if it no longer exists. Source: users.drafts/get."""
        response = await self._read(f"/drafts/{_quoted(draft_id)}", 20, {"format": "minimal"})
        return None if response.status == 404 else unwrap(response, vendor_models.Draft)

    async def delete_draft(self, draft_id: str) -> None:
        """Delete a draft permanently. Source: users.drafts/delete."""
        path = f"{PREFIX}/drafts/{_quoted(draft_id)}"
        response = await self._upstream.send("DELETE", path, _units(10), writes=True)
        if not response.is_success and response.status != 404:
            raise_error(response)

    def list_drafts(self) -> AsyncIterator[vendor_models.Draft]:
        """Yield all drafts, newest first. Source: users.drafts/list."""

        async def fetch(page_token: str | None) -> tuple[Sequence[vendor_models.Draft], str | None]:
            query = {"maxResults": PAGE_SIZE} | ({"pageToken": page_token} if page_token else {})
            page = unwrap(await self._read("/drafts", 5, query), vendor_models.DraftList)
            return page.drafts, page.next_page_token

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def _get_message(self, message_id: str, form: str, shape: type[W], fields: str = "") -> W:
        query = {"format": form} | ({"fields": fields} if fields else {})
        response = await self._read(f"/messages/{_quoted(message_id)}", 20, query)
        return unwrap(response, shape, errors.MessageNotFound, named=True)

    async def _read(
        self, path: str, units: int, query: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()
    ) -> UpstreamResponse:
        return await self._upstream.send("GET", PREFIX + path, _units(units), writes=False, query=query)

    async def _write(self, path: str, units: int, body: Mapping[str, Any], *more: Charge) -> UpstreamResponse:
        return await self._upstream.send("POST", PREFIX + path, _units(units), *more, writes=True, json=body)

    async def _upload(self, path: str, units: int, metadata: Mapping[str, Any], message: bytes) -> UpstreamResponse:
        parts = [(b"application/json", to_json(metadata)), (b"message/rfc822", message)]
        opened = [b"--%b\r\nContent-Type: %b\r\n\r\n%b\r\n" % (BOUNDARY, kind, part) for kind, part in parts]
        return await self._upstream.send(
            "POST",
            f"/upload{PREFIX}{path}",
            _units(units),
            writes=True,
            query={"uploadType": "multipart"},
            content=b"".join([*opened, b"--%b--\r\n" % BOUNDARY]),
            headers={"Content-Type": f'multipart/related; boundary="{BOUNDARY.decode()}"'},
        )


def _units(units: int) -> Charge:
    return Charge("user", units=units)


def requests(*units: int) -> Requests:
    """Return requests of so many *units* each."""
    return tuple((_units(each),) for each in units)


SEND_REQUEST: Requests = ((_units(100), SENDING),)


def _quoted(identifier: str) -> str:
    return quote(identifier, safe="")


def _parse_retry_time(response: UpstreamResponse) -> datetime | None:
    """Return the retry time in the error message, or None if it contains none. Earlier requests prolong it."""
    match = RETRY_AFTER.search(response.text)
    try:
        return None if match is None else datetime.fromisoformat(match[1])
    except ValueError:
        return None


OUTLINE = "id,threadId,labelIds,internalDate,payload({})".format(
    reduce(
        lambda deeper, _: f"partId,mimeType,filename,headers,body(size,attachmentId),parts({deeper})",
        range(5),
        "partId,mimeType,filename,headers,body,parts",
    )
)
"""The fields of a message without its bodies. Parts below the fifth level have their bodies."""


BEGIN = re.compile(rb'"data"\s*:\s*"')
NOT_BASE64 = re.compile(rb"[^A-Za-z0-9_\-+/]")
TO_STANDARD = bytes.maketrans(b"-_", b"+/")
MAX_FRAME_BYTES = 64 * 1024
"""Maximum bytes around the content."""


class Base64JsonReader:
    """Decodes the base64 under ``data`` of a JSON response without buffering all of it."""

    def __init__(self) -> None:
        self._started = False
        self._finished = False
        self._buffer = b""

    def decode(self, piece: bytes) -> bytes:
        """Add *piece* of the response, and return the bytes that can be decoded now."""
        self._buffer += piece
        if not self._started:
            self._begin()
        if not self._started or self._finished:
            self._check_frame_size()
            return b""
        end = NOT_BASE64.search(self._buffer)
        # Base64 decodes four characters at a time. The remainder belongs to the next piece.
        length = end.start() if end else len(self._buffer) // 4 * 4
        encoded, self._buffer, self._finished = self._buffer[:length], self._buffer[length:], bool(end)
        return _decode_base64(encoded)

    def finish(self) -> None:
        """Check that the response is complete. Raises ``UpstreamError`` if it was truncated."""
        if self._finished and b'"' in self._buffer:
            return
        if self._started or not _is_empty_content(self._buffer):
            raise errors.UpstreamError(
                "The vendor's response was truncated or has no content.", private=repr(self._buffer[:500])
            )

    def _begin(self) -> None:
        match = BEGIN.search(self._buffer)
        if match:
            self._started, self._buffer = True, self._buffer[match.end() :]

    def _check_frame_size(self) -> None:
        if len(self._buffer) > MAX_FRAME_BYTES:
            raise errors.UpstreamError("The vendor's response has no content.", private=repr(self._buffer[:500]))


def _decode_base64(encoded: bytes) -> bytes:
    """Decode base64 in either alphabet, with or without padding."""
    try:
        return binascii.a2b_base64(encoded.translate(TO_STANDARD) + b"=" * (-len(encoded) % 4))
    except binascii.Error as error:
        raise errors.UpstreamError("The vendor's content cannot be decoded.", private=str(error)) from error


def _is_empty_content(text: bytes) -> bool:
    try:
        content = decode_json(text, vendor_models.Content)
    except UnexpectedShape:
        return False
    # Only a missing, empty or null ``data`` is empty content.
    return content.size == 0 and bytes(content.data) in {b"", b"null"}
