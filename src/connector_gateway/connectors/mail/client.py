"""The vendor's wire: one method per request, version v1.

Sources of methods stand below developers.google.com/workspace/gmail/api/reference/rest/v1/, and were read 2026-11.
"""

from __future__ import annotations  # functions are made in each call (decision 45)

import binascii
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic_core import to_json

from connector_gateway.connectors.mail import wire
from connector_gateway.connectors.mail.errors import reason_of, refuse, unwrap
from connector_gateway.kit import errors
from connector_gateway.kit.pagination import iter_items
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire import UnexpectedShape, decode_json

ADDRESS = "https://gmail.googleapis.com"
CONSENT_ADDRESS = "https://accounts.google.com"
TOKENS_ADDRESS = "https://oauth2.googleapis.com"
PREFIX = "/gmail/v1/users/me"

USER_BUDGET = Budget(6_000, per_seconds=60)
"""Quota units a minute for one user of one project.

Source: developers.google.com/workspace/gmail/api/reference/quota, read 2026-11.
"""

SENDING_BUDGET = Budget(2_000, per_seconds=24 * 60 * 60)
"""Messages a day that the larger accounts may send; smaller ones are told so by the vendor.

Source: support.google.com/a/answer/166852, read 2026-11.
"""

SENDING = Charge("sending")

AT_ONCE = 8
"""How many requests of one mailbox are under way at once; the vendor refuses somewhat above that.

No page of the vendor's has the number. Measurements that users published in 2026 came to about ten.
"""

READERS = AT_ONCE
"""How many messages one call reads at once."""

PAUSE_SECONDS = 1.0
"""How long to rest where the vendor does not say; it counts units by the minute, but requests at once by the moment."""

DAILY_PAUSE_SECONDS = 3600.0
"""How long to rest when the project's day is used up."""

LONGEST_REST_SECONDS = 3600.0
"""A longer rest is that of an account which may send no more today; reading goes on."""

THROTTLES = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"})
"""Reasons of a 403 that mean "later" and not "no"."""

RETRY_AFTER = re.compile(r"Retry after (\d{4}-\d\d-\d\dT[\d:.]+Z)")
"""The only place where the vendor tells when to come back."""

PAGE_SIZE = 100
MAX_PAGES = 20
"""Upstream pages of one listing before it is given up as endless."""

SETTLE_SECONDS = 60.0
"""How long a request may still be carried out after it was sent.

The vendor names no limit; its own library waits that long for an answer unless told otherwise.
Source: googleapis/google-api-python-client googleapiclient/http.py, read 2026-11.
"""

MAX_JSON_BYTES = 1_000_000
"""How long a message may be, in base64, to travel inside JSON; the vendor wants larger ones at its upload address."""

BOUNDARY = b"=_connector_gateway_upload"
"""Between the parts of an upload; no line of our messages begins like that, whose bodies are base64."""

MARKER = "X-Connector-Gateway-Attempt"
"""Header by which a draft of ours is recognised, and the message that it becomes.

The vendor keeps it, and replaces the header that is meant to identify a message.
"""

THREADING_HEADERS = ("Subject", "Message-ID", "Message-Id", "Message-id", "References", "In-Reply-To", MARKER)
"""In every spelling that is about, since nobody promises that case does not matter."""


W = TypeVar("W")


def throttled(answer: UpstreamResponse) -> ThrottleDelay | None:
    """How long to rest when the vendor throttles, which it says with 429 and with some of its 403."""
    if answer.status not in {403, 429}:
        return None
    reason = reason_of(answer)
    # The vendor throttles with 403 as well; only the reason tells it from a refusal.
    if answer.status == 403 and reason not in THROTTLES:
        return None
    if reason == "dailyLimitExceeded":
        return ThrottleDelay(DAILY_PAUSE_SECONDS, {"user"})
    until = _resting_until(answer)
    if until is None:
        return ThrottleDelay(retry_after(answer, PAUSE_SECONDS), {"user"})
    seconds = max(PAUSE_SECONDS, (until - (answer.date or datetime.now(UTC))).total_seconds())
    # The day of sending and the minute of reading are refused in the same words. Only the length tells them apart.
    return ThrottleDelay(seconds, {"sending"} if seconds > LONGEST_REST_SECONDS else {"user"})


class MailClient:
    """The vendor's requests that the operations are made of."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def list_messages(self, query: Mapping[str, Any], page_token: str | None = None) -> wire.MessageList:
        """A page of identifiers, newest first. Source: users.messages/list."""
        paged = {**query} | ({"pageToken": page_token} if page_token else {})
        answer = await self._read("/messages", 5, paged)
        return unwrap(answer, wire.MessageList, errors.InvalidCursor if page_token else None, named=bool(page_token))

    def every_message(self, query: Mapping[str, Any]) -> AsyncIterator[wire.Listed]:
        """Every message that *query* lists, newest first, by its identifiers. Source: as of ``list_messages``."""

        async def fetch(page_token: str | None) -> tuple[Sequence[wire.Listed], str | None]:
            page = await self.list_messages({**query, "maxResults": PAGE_SIZE}, page_token)
            return page.messages, page.next_page_token

        return iter_items(fetch, most=MAX_PAGES)

    async def get_message(self, message_id: str, fields: str = "") -> wire.Message:
        """A message with its parts. Source: users.messages/get."""
        return await self._get_message(message_id, "full", wire.Message, fields)

    async def get_message_headers(self, message_id: str) -> wire.Message:
        """A message without its parts. Source: users.messages/get."""
        return await self._get_message(message_id, "metadata", wire.Message)

    async def get_message_labels(self, message_id: str) -> wire.Labelled:
        """The labels of a message. Source: users.messages/get."""
        return await self._get_message(message_id, "minimal", wire.Labelled)

    async def stream_attachment(
        self, message_id: str, attachment_id: str, *, at_once: bool
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a part, the last ones only once all are known to have come; *at_once* as in ``Upstream.stream``.

        Source: users.messages.attachments/get.
        """
        path = f"{PREFIX}/messages/{_quoted(message_id)}/attachments/{_quoted(attachment_id)}"
        async with self._upstream.stream(path, _units(20), at_once=at_once) as answer:
            if not answer.is_success:
                refuse(answer, errors.AttachmentNotFound, named=True)
            content, ready = Base64JsonReader(), b""
            async for piece in answer.pieces:
                if ready:
                    yield ready
                # One piece is held back, so that an answer which breaks off is never taken for a whole file.
                ready = content.take(piece)
            content.finish()
            yield ready

    async def modify_message(self, message_id: str, add: Sequence[str], remove: Sequence[str]) -> wire.Labelled:
        """A message after a change of its labels. Source: users.messages/modify."""
        body = {"addLabelIds": add, "removeLabelIds": remove}
        answer = await self._write(f"/messages/{_quoted(message_id)}/modify", 5, body)
        return unwrap(answer, wire.Labelled, errors.MessageNotFound)

    async def get_thread(self, thread_id: str) -> wire.Thread:
        """A thread with the headers that replies follow. Source: users.threads/get."""
        query = [("format", "metadata"), *(("metadataHeaders", name) for name in THREADING_HEADERS)]
        answer = await self._read(f"/threads/{_quoted(thread_id)}", 40, query)
        return unwrap(answer, wire.Thread, errors.ThreadNotFound, named=True)

    async def list_labels(self) -> Sequence[wire.Label]:
        """All labels. Source: users.labels/list."""
        return unwrap(await self._read("/labels", 1), wire.LabelList).labels

    async def create_label(self, name: str) -> wire.Label | None:
        """A new label, or None where one of that name exists. Source: users.labels/create."""
        body = {"name": name, "labelListVisibility": "labelShow", "messageListVisibility": "show"}
        answer = await self._write("/labels", 5, body)
        # Somebody made it meanwhile, or it differs in case only: the caller then looks for it once more.
        return None if answer.status == 409 else unwrap(answer, wire.Label)

    async def get_profile(self) -> wire.Profile:
        """The account itself. Source: developers.google.com/workspace/gmail/api, users.getProfile, read 2026-11."""
        return unwrap(await self._read("/profile", 1), wire.Profile)

    async def list_send_as(self) -> Sequence[wire.SendAs]:
        """The addresses that the account sends from. Source: users.settings.sendAs/list."""
        return unwrap(await self._read("/settings/sendAs", 1), wire.SendAsList).send_as

    async def create_draft(self, letter: bytes, thread_id: str | None) -> wire.Draft:
        """A new draft; a large one is uploaded. Source: users.drafts/create, and the discovery document v1."""
        raw = urlsafe_b64encode(letter).decode()
        thread = {"threadId": thread_id} if thread_id else {}
        # Large JSON bodies are refused at sizes that no page tells; uploads go up to 35 MiB.
        if len(raw) > MAX_JSON_BYTES:
            answer = await self._upload("/drafts", 10, {"message": thread}, letter)
        else:
            answer = await self._write("/drafts", 10, {"message": {"raw": raw} | thread})
        return unwrap(answer, wire.Draft, errors.ThreadNotFound if thread_id else None)

    async def send_draft(self, draft_id: str) -> wire.Threaded | None:
        """The message that a draft became, or None where there is no such draft any more. Source: users.drafts/send."""
        answer = await self._write("/drafts/send", 100, {"id": draft_id}, SENDING)
        return None if answer.status == 404 else unwrap(answer, wire.Threaded)

    async def get_draft(self, draft_id: str) -> wire.Draft | None:
        """A draft, or None where there is no such draft any more. Source: users.drafts/get."""
        answer = await self._read(f"/drafts/{_quoted(draft_id)}", 20, {"format": "minimal"})
        return None if answer.status == 404 else unwrap(answer, wire.Draft)

    async def delete_draft(self, draft_id: str) -> None:
        """Delete a draft for good. Source: users.drafts/delete."""
        path = f"{PREFIX}/drafts/{_quoted(draft_id)}"
        answer = await self._upstream.send("DELETE", path, _units(10), writes=True)
        if not answer.is_success and answer.status != 404:
            refuse(answer)

    def list_drafts(self) -> AsyncIterator[wire.Draft]:
        """Every draft, newest first. Source: users.drafts/list."""

        async def fetch(page_token: str | None) -> tuple[Sequence[wire.Draft], str | None]:
            query = {"maxResults": PAGE_SIZE} | ({"pageToken": page_token} if page_token else {})
            page = unwrap(await self._read("/drafts", 5, query), wire.DraftList)
            return page.drafts, page.next_page_token

        return iter_items(fetch, most=MAX_PAGES)

    async def _get_message(self, message_id: str, form: str, shape: type[W], fields: str = "") -> W:
        query = {"format": form} | ({"fields": fields} if fields else {})
        answer = await self._read(f"/messages/{_quoted(message_id)}", 20, query)
        return unwrap(answer, shape, errors.MessageNotFound, named=True)

    async def _read(
        self, path: str, units: int, query: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()
    ) -> UpstreamResponse:
        return await self._upstream.send("GET", PREFIX + path, _units(units), writes=False, query=query)

    async def _write(self, path: str, units: int, body: Mapping[str, Any], *more: Charge) -> UpstreamResponse:
        return await self._upstream.send("POST", PREFIX + path, _units(units), *more, writes=True, json=body)

    async def _upload(self, path: str, units: int, metadata: Mapping[str, Any], letter: bytes) -> UpstreamResponse:
        parts = [(b"application/json", to_json(metadata)), (b"message/rfc822", letter)]
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


def _quoted(identifier: str) -> str:
    return quote(identifier, safe="")


def _resting_until(answer: UpstreamResponse) -> datetime | None:
    """The moment that a throttled request is told to wait for; None where none is told that can be read."""
    # There is no header: the time stands within the message alone, and whoever comes sooner is made to wait longer.
    told = RETRY_AFTER.search(answer.text)
    try:
        return None if told is None else datetime.fromisoformat(told[1])
    except ValueError:
        return None


# The shape of a message without its texts


OUTLINE = "id,threadId,labelIds,internalDate,payload({})".format(
    reduce(
        lambda deeper, _: f"partId,mimeType,filename,headers,body(size,attachmentId),parts({deeper})",
        range(5),
        "partId,mimeType,filename,headers,body,parts",
    )
)
"""Leaves out the texts of all but absurdly nested messages, which come whole where the vendor does not heed it."""


# Bytes within JSON

BEGIN = re.compile(rb'"data"\s*:\s*"')
NOT_BASE64 = re.compile(rb"[^A-Za-z0-9_\-+/]")
TO_STANDARD = bytes.maketrans(b"-_", b"+/")
MAX_FRAME_BYTES = 64 * 1024
"""How much there may be around the content."""


class Base64JsonReader:
    """Reads the bytes that a JSON answer carries as base64 under ``data``, without ever holding all of it."""

    def __init__(self) -> None:
        self._begun = False
        self._ended = False
        self._rest = b""

    def take(self, piece: bytes) -> bytes:
        """The bytes that can be told once *piece* of the answer has come."""
        self._rest += piece
        if not self._begun:
            self._begin()
        if not self._begun or self._ended:
            self._require_room()
            return b""
        end = NOT_BASE64.search(self._rest)
        # Base64 decodes four characters at a time; what is left over belongs to the next piece.
        length = end.start() if end else len(self._rest) // 4 * 4
        encoded, self._rest, self._ended = self._rest[:length], self._rest[length:], bool(end)
        return _bytes_of(encoded)

    def finish(self) -> None:
        """Make sure that nothing is missing; ``UpstreamError`` if the answer broke off."""
        if self._ended and b'"' in self._rest:
            return
        if self._begun or not _says_empty(self._rest):
            raise errors.UpstreamError(
                "The application's answer broke off or holds no content.", private=repr(self._rest[:500])
            )

    def _begin(self) -> None:
        found = BEGIN.search(self._rest)
        if found:
            self._begun, self._rest = True, self._rest[found.end() :]

    def _require_room(self) -> None:
        if len(self._rest) > MAX_FRAME_BYTES:
            raise errors.UpstreamError("The application's answer holds no content.", private=repr(self._rest[:500]))


def _bytes_of(encoded: bytes) -> bytes:
    """What *encoded* means, in whichever of the two alphabets, with or without padding."""
    try:
        return binascii.a2b_base64(encoded.translate(TO_STANDARD) + b"=" * (-len(encoded) % 4))
    except binascii.Error as fault:
        raise errors.UpstreamError("The application's content cannot be decoded.", private=str(fault)) from fault


def _says_empty(text: bytes) -> bool:
    try:
        content = decode_json(text, wire.Content)
    except UnexpectedShape:
        return False
    # What stands under ``data`` was not looked at: a text would have been read as content, and a number is none.
    return content.size == 0 and bytes(content.data) in {b"", b"null"}
