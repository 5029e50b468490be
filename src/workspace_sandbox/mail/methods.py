"""The vendor's methods: address, price, scopes and parameters of each, as its discovery document lists them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workspace_sandbox.mail import schema
from workspace_sandbox.mail.refusals import invalid_value, unknown_parameter
from workspace_sandbox.mail.schema import BOOL, STRING, UINT32, UINT64, Kind, Shape

AUTH = "https://www.googleapis.com/auth/"
FULL = "https://mail.google.com/"
PREFIX = "/gmail/v1/users/{userId}"
STANDARD = frozenset(
    {
        "$.xgafv",
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "uploadType",
        "upload_id",
        "upload_protocol",
    }
)
"""Parameters that every method takes."""

MAX_UPLOAD_BYTES = 36_700_160
"""What discovery allows for an uploaded message: 35 MiB."""

Query = dict[str, Any]
"""Parameters by name, in their own types; a repeated one is a list."""


@dataclass(frozen=True)
class Method:
    """One method of the API."""

    id: str
    address: str
    """Verb and path, as below the user."""
    rpc: str
    """What the vendor calls it on its own side."""
    units: int
    scopes: frozenset[str]
    answer: Shape
    body: Shape | None = None
    params: Mapping[str, Kind] = field(default_factory=dict)
    uploads: bool = False
    support: str = "full"

    @cached_property
    def verb(self) -> str:
        """The HTTP method."""
        return self.address.partition(" ")[0]

    @cached_property
    def path(self) -> str:
        """The whole path, with names in braces."""
        return PREFIX + self.address.partition(" ")[2]

    @property
    def pattern(self) -> re.Pattern[str]:
        """What the path of a request looks like."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))

    def read(self, given: Iterable[tuple[str, str]]) -> Query:
        """The parameters of a request in their own types; an unknown one is refused."""
        query: Query = {}
        for name, value in given:
            kind = self.params.get(name)
            if kind is None and name not in STANDARD:
                raise unknown_parameter(name)
            if isinstance(kind, list):
                query.setdefault(name, []).append(_typed(name, value, kind[0]))
            else:
                query[name] = _typed(name, value, kind or STRING)
        return query


def _typed(name: str, value: str, kind: Kind) -> str | int | bool:
    snake = re.sub(r"([A-Z])", lambda capital: f"_{capital[1].lower()}", name)
    if kind == BOOL:
        if value.lower() not in BOOLEANS:
            raise invalid_value(snake, BOOL, f'"{value}"')
        return BOOLEANS[value.lower()]
    if kind in {UINT32, UINT64}:
        limit = 1 << (32 if kind == UINT32 else 64)
        if not (value.isascii() and value.isdigit() and int(value[:21]) < limit):
            raise invalid_value(snake, str(kind), f'"{value}"')
        return int(value)
    if isinstance(kind, tuple) and value.lower() not in {choice.lower() for choice in kind}:
        raise invalid_value(snake, "enum", f'"{value}"')
    return value.lower() if kind is schema.FORMATS else value


BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": True}


def _scopes(*names: str) -> frozenset[str]:
    return frozenset({FULL, *(f"{AUTH}gmail.{name}" for name in names)})


READ = _scopes("modify", "readonly")
READ_METADATA = _scopes("metadata", "modify", "readonly")
MODIFY = _scopes("modify")
DELETE = frozenset({FULL})
INSERT = _scopes("insert", "modify")
SEND = _scopes("compose", "modify", "send")
DRAFT = _scopes("compose", "modify")
READ_DRAFT = _scopes("compose", "modify", "readonly")
PROFILE = _scopes("compose", "metadata", "modify", "readonly")
LIST_LABELS = _scopes("labels", "metadata", "modify", "readonly")
LABELS = _scopes("labels", "modify")
SETTINGS = _scopes("modify", "readonly", "settings.basic")

PAGED: Mapping[str, Kind] = {"maxResults": UINT32, "pageToken": STRING}
SEARCH: Mapping[str, Kind] = {**PAGED, "q": STRING, "includeSpamTrash": BOOL}
FILTERED: Mapping[str, Kind] = {**SEARCH, "labelIds": [STRING]}
READING: Mapping[str, Kind] = {"format": schema.FORMATS, "metadataHeaders": [STRING]}
THREAD_READING: Mapping[str, Kind] = {"format": ("full", "metadata", "minimal"), "metadataHeaders": [STRING]}
HISTORY: Mapping[str, Kind] = {
    **PAGED,
    "startHistoryId": UINT64,
    "labelId": STRING,
    "historyTypes": [schema.HISTORY_TYPES],
}
INSERTION: Mapping[str, Kind] = {"deleted": BOOL, "internalDateSource": schema.DATE_SOURCES}
IMPORT: Mapping[str, Kind] = {**INSERTION, "neverMarkSpam": BOOL, "processForCalendar": BOOL}


_M, _T, _D, _L, _N = schema.MESSAGE, schema.THREAD, schema.DRAFT, schema.LABEL, schema.NOTHING
METHODS: Sequence[Method] = (
    Method("getProfile", "GET /profile", "GetProfile", 1, PROFILE, schema.PROFILE),
    Method("messages.list", "GET /messages", "ListMessages", 5, READ_METADATA, schema.MESSAGES, params=FILTERED),
    Method("messages.send", "POST /messages/send", "SendMessage", 100, SEND, _M, _M, uploads=True),
    Method("messages.insert", "POST /messages", "InsertMessage", 25, INSERT, _M, _M, params=INSERTION, uploads=True),
    Method(
        "messages.import",
        "POST /messages/import",
        "ImportMessage",
        25,
        INSERT,
        _M,
        _M,
        params=IMPORT,
        uploads=True,
        support="partly",
    ),
    Method(
        "messages.batchModify",
        "POST /messages/batchModify",
        "BatchModifyMessages",
        50,
        MODIFY,
        _N,
        schema.BATCH_MODIFICATION,
    ),
    Method(
        "messages.batchDelete",
        "POST /messages/batchDelete",
        "BatchDeleteMessages",
        50,
        DELETE,
        _N,
        schema.BATCH_DELETION,
    ),
    Method("messages.get", "GET /messages/{id}", "GetMessage", 20, READ_METADATA, _M, params=READING),
    Method("messages.delete", "DELETE /messages/{id}", "DeleteMessage", 10, DELETE, _N),
    Method(
        "messages.modify",
        "POST /messages/{id}/modify",
        "ModifyMessage",
        5,
        MODIFY,
        _M,
        schema.MODIFICATION,
    ),
    Method("messages.trash", "POST /messages/{id}/trash", "TrashMessage", 20, MODIFY, _M, _N),
    Method("messages.untrash", "POST /messages/{id}/untrash", "UntrashMessage", 5, MODIFY, _M, _N),
    Method(
        "messages.attachments.get",
        "GET /messages/{messageId}/attachments/{id}",
        "GetAttachment",
        20,
        READ,
        schema.PART_BODY,
    ),
    Method("threads.list", "GET /threads", "ListThreads", 10, READ_METADATA, schema.THREADS, params=FILTERED),
    Method("threads.get", "GET /threads/{id}", "GetThread", 40, READ_METADATA, _T, params=THREAD_READING),
    Method("threads.modify", "POST /threads/{id}/modify", "ModifyThread", 10, MODIFY, _T, schema.MODIFICATION),
    Method("threads.trash", "POST /threads/{id}/trash", "TrashThread", 20, MODIFY, _T, _N),
    Method("threads.untrash", "POST /threads/{id}/untrash", "UntrashThread", 20, MODIFY, _T, _N),
    Method("threads.delete", "DELETE /threads/{id}", "DeleteThread", 20, DELETE, _N),
    Method("drafts.list", "GET /drafts", "ListDrafts", 5, READ_DRAFT, schema.DRAFTS, params=SEARCH),
    Method("drafts.create", "POST /drafts", "CreateDraft", 10, DRAFT, _D, _D, uploads=True),
    Method("drafts.send", "POST /drafts/send", "SendDraft", 100, DRAFT, _M, _D, uploads=True),
    Method("drafts.get", "GET /drafts/{id}", "GetDraft", 20, READ_DRAFT, _D, params={"format": schema.FORMATS}),
    Method("drafts.update", "PUT /drafts/{id}", "UpdateDraft", 15, DRAFT, _D, _D, uploads=True),
    Method("drafts.delete", "DELETE /drafts/{id}", "DeleteDraft", 10, DRAFT, _N),
    Method("labels.list", "GET /labels", "ListLabels", 1, LIST_LABELS, schema.LABELS),
    Method("labels.create", "POST /labels", "CreateLabel", 5, LABELS, _L, _L),
    Method("labels.get", "GET /labels/{id}", "GetLabel", 1, LIST_LABELS, _L),
    Method("labels.update", "PUT /labels/{id}", "UpdateLabel", 5, LABELS, _L, _L),
    Method("labels.patch", "PATCH /labels/{id}", "PatchLabel", 5, LABELS, _L, _L),
    Method("labels.delete", "DELETE /labels/{id}", "DeleteLabel", 5, LABELS, _N),
    Method(
        "history.list",
        "GET /history",
        "ListHistory",
        2,
        READ_METADATA,
        schema.HISTORY,
        params=HISTORY,
        support="partly",
    ),
    Method("settings.sendAs.list", "GET /settings/sendAs", "ListSendAs", 1, SETTINGS, schema.SEND_AS, support="partly"),
)

_PATTERNS = [(method.verb, method.pattern, method) for method in METHODS]


def resolve(verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
    """The method at that address with the identifiers in it."""
    for known, pattern, method in _PATTERNS:
        found = pattern.fullmatch(path) if known == verb else None
        if found:
            return method, found.groupdict()
    return None


UPLOADS: Sequence[tuple[str, str]] = tuple(
    dict.fromkeys((verb, method.path) for method in METHODS if method.uploads for verb in (method.verb, "PUT"))
)
"""Verb and path below ``/upload`` of each method that takes uploads, and of the pieces of resumable ones."""
