"""Every route of the vendor's that is played.

The methods of the API have price, scopes and parameters as the vendor's discovery document lists them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from workspace_sandbox.kit.routes import Page, Route
from workspace_sandbox.mail import batch, drafts, history, labels, messages, profile, schema, threads, uploads, watches
from workspace_sandbox.mail.access import CONSENT_PATH, FULL, Grants
from workspace_sandbox.mail.methods import Method, Operation, scopes_of
from workspace_sandbox.mail.methods import method as _method
from workspace_sandbox.mail.schema import BOOL, STRING, UINT32, UINT64, Kind
from workspace_sandbox.mail.settings_routes import SETTINGS

READ = scopes_of("modify", "readonly")
READ_METADATA = scopes_of("metadata", "modify", "readonly")
MODIFY = scopes_of("modify")
DELETE = frozenset({FULL})
INSERT = scopes_of("insert", "modify")
SEND = scopes_of("compose", "modify", "send")
DRAFT = scopes_of("compose", "modify")
READ_DRAFT = scopes_of("compose", "modify", "readonly")
PROFILE = scopes_of("compose", "metadata", "modify", "readonly")
LIST_LABELS = scopes_of("labels", "metadata", "modify", "readonly")
LABELS = scopes_of("labels", "modify")

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
    _method(profile.get_profile, "getProfile", "GET /profile", "GetProfile", 1, scopes=PROFILE, answer=schema.PROFILE),
    _method(
        messages.list_messages,
        "messages.list",
        "GET /messages",
        "ListMessages",
        5,
        scopes=READ_METADATA,
        answer=schema.MESSAGES,
        params=FILTERED,
    ),
    _method(
        messages.send_message,
        "messages.send",
        "POST /messages/send",
        "SendMessage",
        100,
        scopes=SEND,
        answer=_M,
        body=_M,
        uploads=True,
    ),
    _method(
        messages.insert_message,
        "messages.insert",
        "POST /messages",
        "InsertMessage",
        25,
        scopes=INSERT,
        answer=_M,
        body=_M,
        params=INSERTION,
        uploads=True,
    ),
    _method(
        messages.insert_message,
        "messages.import",
        "POST /messages/import",
        "ImportMessage",
        25,
        scopes=INSERT,
        answer=_M,
        body=_M,
        params=IMPORT,
        uploads=True,
        lacks="neverMarkSpam and processForCalendar change nothing",
    ),
    _method(
        messages.batch_modify,
        "messages.batchModify",
        "POST /messages/batchModify",
        "BatchModifyMessages",
        50,
        scopes=MODIFY,
        answer=_N,
        body=schema.BATCH_MODIFICATION,
    ),
    _method(
        messages.batch_delete,
        "messages.batchDelete",
        "POST /messages/batchDelete",
        "BatchDeleteMessages",
        50,
        scopes=DELETE,
        answer=_N,
        body=schema.BATCH_DELETION,
    ),
    _method(
        messages.get_message,
        "messages.get",
        "GET /messages/{id}",
        "GetMessage",
        20,
        scopes=READ_METADATA,
        answer=_M,
        params=READING,
    ),
    _method(
        messages.delete_message,
        "messages.delete",
        "DELETE /messages/{id}",
        "DeleteMessage",
        10,
        scopes=DELETE,
        answer=_N,
    ),
    _method(
        messages.modify_message,
        "messages.modify",
        "POST /messages/{id}/modify",
        "ModifyMessage",
        5,
        scopes=MODIFY,
        answer=_M,
        body=schema.MODIFICATION,
    ),
    _method(
        messages.trash_message,
        "messages.trash",
        "POST /messages/{id}/trash",
        "TrashMessage",
        20,
        scopes=MODIFY,
        answer=_M,
        body=_N,
    ),
    _method(
        messages.untrash_message,
        "messages.untrash",
        "POST /messages/{id}/untrash",
        "UntrashMessage",
        5,
        scopes=MODIFY,
        answer=_M,
        body=_N,
    ),
    _method(
        messages.get_attachment,
        "messages.attachments.get",
        "GET /messages/{messageId}/attachments/{id}",
        "GetAttachment",
        20,
        scopes=READ,
        answer=schema.PART_BODY,
    ),
    _method(
        threads.list_threads,
        "threads.list",
        "GET /threads",
        "ListThreads",
        10,
        scopes=READ_METADATA,
        answer=schema.THREADS,
        params=FILTERED,
    ),
    _method(
        threads.get_thread,
        "threads.get",
        "GET /threads/{id}",
        "GetThread",
        40,
        scopes=READ_METADATA,
        answer=_T,
        params=THREAD_READING,
    ),
    _method(
        threads.modify_thread,
        "threads.modify",
        "POST /threads/{id}/modify",
        "ModifyThread",
        10,
        scopes=MODIFY,
        answer=_T,
        body=schema.MODIFICATION,
    ),
    _method(
        threads.trash_thread,
        "threads.trash",
        "POST /threads/{id}/trash",
        "TrashThread",
        20,
        scopes=MODIFY,
        answer=_T,
        body=_N,
    ),
    _method(
        threads.untrash_thread,
        "threads.untrash",
        "POST /threads/{id}/untrash",
        "UntrashThread",
        20,
        scopes=MODIFY,
        answer=_T,
        body=_N,
    ),
    _method(
        threads.delete_thread, "threads.delete", "DELETE /threads/{id}", "DeleteThread", 20, scopes=DELETE, answer=_N
    ),
    _method(
        drafts.list_drafts,
        "drafts.list",
        "GET /drafts",
        "ListDrafts",
        5,
        scopes=READ_DRAFT,
        answer=schema.DRAFTS,
        params=SEARCH,
    ),
    _method(
        drafts.create_draft,
        "drafts.create",
        "POST /drafts",
        "CreateDraft",
        10,
        scopes=DRAFT,
        answer=_D,
        body=_D,
        uploads=True,
    ),
    _method(
        drafts.send_draft,
        "drafts.send",
        "POST /drafts/send",
        "SendDraft",
        100,
        scopes=DRAFT,
        answer=_M,
        body=_D,
        uploads=True,
    ),
    _method(
        drafts.get_draft,
        "drafts.get",
        "GET /drafts/{id}",
        "GetDraft",
        20,
        scopes=READ_DRAFT,
        answer=_D,
        params={"format": schema.FORMATS},
    ),
    _method(
        drafts.update_draft,
        "drafts.update",
        "PUT /drafts/{id}",
        "UpdateDraft",
        15,
        scopes=DRAFT,
        answer=_D,
        body=_D,
        uploads=True,
    ),
    _method(drafts.delete_draft, "drafts.delete", "DELETE /drafts/{id}", "DeleteDraft", 10, scopes=DRAFT, answer=_N),
    _method(
        labels.list_labels, "labels.list", "GET /labels", "ListLabels", 1, scopes=LIST_LABELS, answer=schema.LABELS
    ),
    _method(labels.create_label, "labels.create", "POST /labels", "CreateLabel", 5, scopes=LABELS, answer=_L, body=_L),
    _method(labels.get_label, "labels.get", "GET /labels/{id}", "GetLabel", 1, scopes=LIST_LABELS, answer=_L),
    _method(
        labels.update_label, "labels.update", "PUT /labels/{id}", "UpdateLabel", 5, scopes=LABELS, answer=_L, body=_L
    ),
    _method(
        labels.update_label, "labels.patch", "PATCH /labels/{id}", "PatchLabel", 5, scopes=LABELS, answer=_L, body=_L
    ),
    _method(labels.delete_label, "labels.delete", "DELETE /labels/{id}", "DeleteLabel", 5, scopes=LABELS, answer=_N),
    _method(
        history.list_history,
        "history.list",
        "GET /history",
        "ListHistory",
        2,
        scopes=READ_METADATA,
        answer=schema.HISTORY,
        params=HISTORY,
    ),
    _method(
        watches.watch,
        "watch",
        "POST /watch",
        "Watch",
        100,
        scopes=READ_METADATA,
        answer=schema.WATCHED,
        body=schema.WATCHING,
        lacks="whether the topic is there and may be written to is not asked",
    ),
    _method(watches.stop, "stop", "POST /stop", "Stop", 50, scopes=READ_METADATA, answer=_N),
    *SETTINGS,
)
UPLOADS: Sequence[Route[Operation]] = tuple(
    Route(method=verb, path=prefix + method.path, handler=method.handler)
    for prefix in uploads.PREFIXES
    for method in METHODS
    if method.uploads
    for verb in dict.fromkeys((method.method, "PUT"))
)
"""Each method that takes uploads, and the pieces of resumable ones."""


class Batch(Route[None]):
    """Several requests in one."""


BATCHES = tuple(Batch(method="POST", path=path, handler=None) for path in batch.PATHS)

NO_IDENTITY = "identity tokens are not told of"
CONSENT = (
    Page(method="GET", path=CONSENT_PATH, handler=Grants.authorize),
    Page(method="POST", path=CONSENT_PATH, handler=Grants.authorize),
    Page(method="POST", path="/token", handler=Grants.token),
    Page(method="POST", path="/revoke", handler=Grants.revoke),
    Page(method="GET", path="/tokeninfo", handler=Grants.inspect, lacks=NO_IDENTITY),
    Page(method="POST", path="/tokeninfo", handler=Grants.inspect, lacks=NO_IDENTITY),
)

ROUTES: Sequence[Route[Any]] = (*METHODS, *UPLOADS, *BATCHES, *CONSENT)
"""All of them."""

_PATTERNS = [(method.method, method.pattern, method) for method in METHODS]


def resolve(verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
    """The method at that address with the identifiers in it."""
    for known, pattern, method in _PATTERNS:
        found = pattern.fullmatch(path) if known == verb else None
        if found:
            return method, found.groupdict()
    return None
