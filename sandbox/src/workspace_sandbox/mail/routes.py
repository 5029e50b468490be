"""The routes that the emulator serves.

Prices, scopes and parameters of the methods follow the vendor's discovery document.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from workspace_sandbox.kit.routes import Route, page
from workspace_sandbox.mail import body_schemas
from workspace_sandbox.mail.access import CONSENT_PATH, FULL, GoogleOAuth
from workspace_sandbox.mail.api import batch, drafts, history, labels, messages, profile, threads, uploads, watches
from workspace_sandbox.mail.api.settings import SETTINGS
from workspace_sandbox.mail.body_schemas import BOOL, STRING, UINT32, UINT64, Kind
from workspace_sandbox.mail.request import ApiRoute, Operation, gmail_scopes
from workspace_sandbox.mail.request import define_method as _method

READ = gmail_scopes("modify", "readonly")
READ_METADATA = gmail_scopes("metadata", "modify", "readonly")
MODIFY = gmail_scopes("modify")
DELETE = frozenset({FULL})
INSERT = gmail_scopes("insert", "modify")
SEND = gmail_scopes("compose", "modify", "send")
DRAFT = gmail_scopes("compose", "modify")
READ_DRAFT = gmail_scopes("compose", "modify", "readonly")
PROFILE = gmail_scopes("compose", "metadata", "modify", "readonly")
LIST_LABELS = gmail_scopes("labels", "metadata", "modify", "readonly")
LABELS = gmail_scopes("labels", "modify")

PAGED: Mapping[str, Kind] = {"maxResults": UINT32, "pageToken": STRING}
SEARCH: Mapping[str, Kind] = {**PAGED, "q": STRING, "includeSpamTrash": BOOL}
FILTERED: Mapping[str, Kind] = {**SEARCH, "labelIds": [STRING]}
READING: Mapping[str, Kind] = {"format": body_schemas.FORMATS, "metadataHeaders": [STRING]}
THREAD_READING: Mapping[str, Kind] = {"format": ("full", "metadata", "minimal"), "metadataHeaders": [STRING]}
HISTORY: Mapping[str, Kind] = {
    **PAGED,
    "startHistoryId": UINT64,
    "labelId": STRING,
    "historyTypes": [body_schemas.HISTORY_TYPES],
}
INSERTION: Mapping[str, Kind] = {"deleted": BOOL, "internalDateSource": body_schemas.DATE_SOURCES}
IMPORT: Mapping[str, Kind] = {**INSERTION, "neverMarkSpam": BOOL, "processForCalendar": BOOL}


_M, _T, _D, _L, _N = (
    body_schemas.MESSAGE,
    body_schemas.THREAD,
    body_schemas.DRAFT,
    body_schemas.LABEL,
    body_schemas.NOTHING,
)
METHODS: Sequence[ApiRoute] = (
    _method("getProfile GET /profile GetProfile 1", profile.get_profile, PROFILE, body_schemas.PROFILE),
    _method(
        "messages.list GET /messages ListMessages 5",
        messages.list_messages,
        READ_METADATA,
        body_schemas.MESSAGES,
        params=FILTERED,
    ),
    _method(
        "messages.send POST /messages/send SendMessage 100", messages.send_message, SEND, _M, body=_M, uploads=True
    ),
    _method(
        "messages.insert POST /messages InsertMessage 25",
        messages.insert_message,
        INSERT,
        _M,
        body=_M,
        params=INSERTION,
        uploads=True,
    ),
    _method(
        "messages.import POST /messages/import ImportMessage 25",
        messages.insert_message,
        INSERT,
        _M,
        body=_M,
        params=IMPORT,
        uploads=True,
        unsupported="neverMarkSpam and processForCalendar have no effect",
    ),
    _method(
        "messages.batchModify POST /messages/batchModify BatchModifyMessages 50",
        messages.batch_modify,
        MODIFY,
        _N,
        body=body_schemas.BATCH_MODIFICATION,
    ),
    _method(
        "messages.batchDelete POST /messages/batchDelete BatchDeleteMessages 50",
        messages.batch_delete,
        DELETE,
        _N,
        body=body_schemas.BATCH_DELETION,
    ),
    _method("messages.get GET /messages/{id} GetMessage 20", messages.get_message, READ_METADATA, _M, params=READING),
    _method("messages.delete DELETE /messages/{id} DeleteMessage 10", messages.delete_message, DELETE, _N),
    _method(
        "messages.modify POST /messages/{id}/modify ModifyMessage 5",
        messages.modify_message,
        MODIFY,
        _M,
        body=body_schemas.MODIFICATION,
    ),
    _method("messages.trash POST /messages/{id}/trash TrashMessage 20", messages.trash_message, MODIFY, _M, body=_N),
    _method(
        "messages.untrash POST /messages/{id}/untrash UntrashMessage 5", messages.untrash_message, MODIFY, _M, body=_N
    ),
    _method(
        "messages.attachments.get GET /messages/{messageId}/attachments/{id} GetAttachment 20",
        messages.get_attachment,
        READ,
        body_schemas.PART_BODY,
    ),
    _method(
        "threads.list GET /threads ListThreads 10",
        threads.list_threads,
        READ_METADATA,
        body_schemas.THREADS,
        params=FILTERED,
    ),
    _method("threads.get GET /threads/{id} GetThread 40", threads.get_thread, READ_METADATA, _T, params=THREAD_READING),
    _method(
        "threads.modify POST /threads/{id}/modify ModifyThread 10",
        threads.modify_thread,
        MODIFY,
        _T,
        body=body_schemas.MODIFICATION,
    ),
    _method("threads.trash POST /threads/{id}/trash TrashThread 20", threads.trash_thread, MODIFY, _T, body=_N),
    _method("threads.untrash POST /threads/{id}/untrash UntrashThread 20", threads.untrash_thread, MODIFY, _T, body=_N),
    _method("threads.delete DELETE /threads/{id} DeleteThread 20", threads.delete_thread, DELETE, _N),
    _method("drafts.list GET /drafts ListDrafts 5", drafts.list_drafts, READ_DRAFT, body_schemas.DRAFTS, params=SEARCH),
    _method("drafts.create POST /drafts CreateDraft 10", drafts.create_draft, DRAFT, _D, body=_D, uploads=True),
    _method("drafts.send POST /drafts/send SendDraft 100", drafts.send_draft, DRAFT, _M, body=_D, uploads=True),
    _method(
        "drafts.get GET /drafts/{id} GetDraft 20",
        drafts.get_draft,
        READ_DRAFT,
        _D,
        params={"format": body_schemas.FORMATS},
    ),
    _method("drafts.update PUT /drafts/{id} UpdateDraft 15", drafts.update_draft, DRAFT, _D, body=_D, uploads=True),
    _method("drafts.delete DELETE /drafts/{id} DeleteDraft 10", drafts.delete_draft, DRAFT, _N),
    _method("labels.list GET /labels ListLabels 1", labels.list_labels, LIST_LABELS, body_schemas.LABELS),
    _method("labels.create POST /labels CreateLabel 5", labels.create_label, LABELS, _L, body=_L),
    _method("labels.get GET /labels/{id} GetLabel 1", labels.get_label, LIST_LABELS, _L),
    _method("labels.update PUT /labels/{id} UpdateLabel 5", labels.update_label, LABELS, _L, body=_L),
    _method("labels.patch PATCH /labels/{id} PatchLabel 5", labels.update_label, LABELS, _L, body=_L),
    _method("labels.delete DELETE /labels/{id} DeleteLabel 5", labels.delete_label, LABELS, _N),
    _method(
        "history.list GET /history ListHistory 2",
        history.list_history,
        READ_METADATA,
        body_schemas.HISTORY,
        params=HISTORY,
    ),
    _method(
        "watch POST /watch Watch 100",
        watches.watch,
        READ_METADATA,
        body_schemas.WATCHED,
        body=body_schemas.WATCHING,
        unsupported="the topic's existence and permissions are not checked",
    ),
    _method("stop POST /stop Stop 50", watches.stop, READ_METADATA, _N),
    *SETTINGS,
)
UPLOADS: Sequence[Route[Operation]] = tuple(
    Route(method=verb, path=prefix + method.path, handler=method.handler)
    for prefix in uploads.PREFIXES
    for method in METHODS
    if method.uploads
    for verb in dict.fromkeys((method.method, "PUT"))
)
"""The upload routes: each method that takes uploads, and the pieces of resumable ones."""


class Batch(Route[None]):
    """The route of a batch of requests."""


BATCHES = tuple(Batch(method="POST", path=path, handler=None) for path in batch.PATHS)

NO_IDENTITY = "ID tokens are not described"
CONSENT = (
    page(f"GET {CONSENT_PATH}", GoogleOAuth.authorize),
    page(f"POST {CONSENT_PATH}", GoogleOAuth.authorize),
    page("POST /token", GoogleOAuth.token),
    page("POST /revoke", GoogleOAuth.revoke),
    page("GET /tokeninfo", GoogleOAuth.inspect, NO_IDENTITY),
    page("POST /tokeninfo", GoogleOAuth.inspect, NO_IDENTITY),
)

ROUTES: Sequence[Route[Any]] = (*METHODS, *UPLOADS, *BATCHES, *CONSENT)
"""All routes."""

_PATTERNS = [(method.method, method.pattern, method) for method in METHODS]


def resolve(verb: str, path: str) -> tuple[ApiRoute, dict[str, str]] | None:
    """Return the method with that path and the identifiers in the path."""
    for method_verb, pattern, method in _PATTERNS:
        match = pattern.fullmatch(path) if method_verb == verb else None
        if match:
            return method, match.groupdict()
    return None
