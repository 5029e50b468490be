"""The vendor's message types: the allowed fields of JSON bodies and of ``fields`` masks."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, TypeAlias

from workspace_sandbox.kit.strict_json import parse_json
from workspace_sandbox.mail.error_responses import bad_mask, invalid_value, unknown_name, unparsable

Kind: TypeAlias = "str | tuple[str, ...] | Mapping[str, Kind] | list[Kind]"
Shape: TypeAlias = Mapping[str, Kind]
Mask: TypeAlias = dict[str, Any]
"""The selected names, each with the mask below it, or ``None`` for all fields."""

STRING, BYTES, BOOL, INT32, UINT32, UINT64 = (
    "TYPE_STRING",
    "TYPE_BYTES",
    "TYPE_BOOL",
    "TYPE_INT32",
    "TYPE_UINT32",
    "TYPE_UINT64",
)
FORMATS = ("minimal", "full", "raw", "metadata")
HISTORY_TYPES = ("messageAdded", "messageDeleted", "labelAdded", "labelRemoved")
DATE_SOURCES = ("receivedTime", "dateHeader")

HEADER: Shape = {"name": STRING, "value": STRING}
PART_BODY: Shape = {"attachmentId": STRING, "size": INT32, "data": BYTES}
PART: dict[str, Kind] = {
    "partId": STRING,
    "mimeType": STRING,
    "filename": STRING,
    "headers": [HEADER],
    "body": PART_BODY,
}
PART["parts"] = [PART]
MESSAGE: Shape = {
    "id": STRING,
    "threadId": STRING,
    "labelIds": [STRING],
    "snippet": STRING,
    "historyId": UINT64,
    "internalDate": UINT64,
    "payload": PART,
    "sizeEstimate": INT32,
    "raw": BYTES,
}
MESSAGES: Shape = {"messages": [MESSAGE], "nextPageToken": STRING, "resultSizeEstimate": UINT32}
THREAD: Shape = {"id": STRING, "snippet": STRING, "historyId": UINT64, "messages": [MESSAGE]}
THREADS: Shape = {"threads": [THREAD], "nextPageToken": STRING, "resultSizeEstimate": UINT32}
DRAFT: Shape = {"id": STRING, "message": MESSAGE}
DRAFTS: Shape = {"drafts": [DRAFT], "nextPageToken": STRING, "resultSizeEstimate": UINT32}
LABEL: Shape = {
    "id": STRING,
    "name": STRING,
    "messageListVisibility": ("show", "hide"),
    "labelListVisibility": ("labelShow", "labelShowIfUnread", "labelHide"),
    "type": ("system", "user"),
    "messagesTotal": INT32,
    "messagesUnread": INT32,
    "threadsTotal": INT32,
    "threadsUnread": INT32,
    "color": {"textColor": STRING, "backgroundColor": STRING},
}
LABELS: Shape = {"labels": [LABEL]}
PROFILE: Shape = {"emailAddress": STRING, "messagesTotal": INT32, "threadsTotal": INT32, "historyId": UINT64}
CHANGE: Shape = {"message": MESSAGE, "labelIds": [STRING]}
HISTORY: Shape = {
    "history": [
        {
            "id": UINT64,
            "messages": [MESSAGE],
            "messagesAdded": [{"message": MESSAGE}],
            "messagesDeleted": [{"message": MESSAGE}],
            "labelsAdded": [CHANGE],
            "labelsRemoved": [CHANGE],
        }
    ],
    "historyId": UINT64,
    "nextPageToken": STRING,
}
MODIFICATION: Shape = {"addLabelIds": [STRING], "removeLabelIds": [STRING]}
BATCH_MODIFICATION: Shape = {"ids": [STRING], **MODIFICATION}
BATCH_DELETION: Shape = {"ids": [STRING]}
SEND_AS: Shape = {
    "sendAsEmail": STRING,
    "displayName": STRING,
    "replyToAddress": STRING,
    "signature": STRING,
    "isPrimary": BOOL,
    "isDefault": BOOL,
    "treatAsAlias": BOOL,
    "verificationStatus": ("verificationStatusUnspecified", "accepted", "pending"),
}
SEND_AS_LIST: Shape = {"sendAs": [SEND_AS]}
DISPOSITION = ("dispositionUnspecified", "leaveInInbox", "archive", "trash", "markRead")
AUTO_FORWARDING: Shape = {"enabled": BOOL, "emailAddress": STRING, "disposition": DISPOSITION}
IMAP: Shape = {
    "enabled": BOOL,
    "autoExpunge": BOOL,
    "expungeBehavior": ("expungeBehaviorUnspecified", "archive", "trash", "deleteForever"),
    "maxFolderSize": INT32,
}
LANGUAGE: Shape = {"displayLanguage": STRING}
POP: Shape = {
    "accessWindow": ("accessWindowUnspecified", "disabled", "fromNowOn", "allMail"),
    "disposition": DISPOSITION,
}
VACATION: Shape = {
    "enableAutoReply": BOOL,
    "responseSubject": STRING,
    "responseBodyPlainText": STRING,
    "responseBodyHtml": STRING,
    "restrictToContacts": BOOL,
    "restrictToDomain": BOOL,
    "startTime": UINT64,
    "endTime": UINT64,
}
FORWARDING: Shape = {
    "forwardingEmail": STRING,
    "verificationStatus": ("verificationStatusUnspecified", "accepted", "pending"),
}
FORWARDING_LIST: Shape = {"forwardingAddresses": [FORWARDING]}
FILTER: Shape = {
    "id": STRING,
    "criteria": {
        "from": STRING,
        "to": STRING,
        "subject": STRING,
        "query": STRING,
        "negatedQuery": STRING,
        "hasAttachment": BOOL,
        "excludeChats": BOOL,
        "size": INT32,
        "sizeComparison": ("unspecified", "smaller", "larger"),
    },
    "action": {"addLabelIds": [STRING], "removeLabelIds": [STRING], "forward": STRING},
}
FILTER_LIST: Shape = {"filter": [FILTER]}
BEHAVIOURS = ("include", "exclude", "INCLUDE", "EXCLUDE")
WATCHING: Shape = {
    "topicName": STRING,
    "labelIds": [STRING],
    "labelFilterBehavior": BEHAVIOURS,
    "labelFilterAction": BEHAVIOURS,
}
WATCHED: Shape = {"historyId": UINT64, "expiration": UINT64}
NOTHING: Shape = {}

URLSAFE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
MASK_TOKEN = re.compile(r"[A-Za-z0-9_$-]+|[*,/()]")
INTEGER = re.compile(r"-?\d{1,20}")
NUMERIC = {INT32, UINT32, UINT64}


def encode(content: bytes) -> str:
    """Return *content* in the vendor's base64: URL-safe alphabet, padded."""
    return urlsafe_b64encode(content).decode("ascii")


def decode(value: str, path: str) -> bytes:
    """Decode a URL-safe base64 *value*, padded or not. Any other alphabet is rejected."""
    bare = value.encode("ascii", "replace").rstrip(b"=")
    if bare.translate(None, URLSAFE) or len(bare) % 4 == 1:
        excerpt = json.dumps(value[:64])
        raise invalid_value(path, BYTES, f"Base64 decoding failed for {excerpt}")
    return urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


def read_json(content: bytes, shape: Shape) -> dict[str, Any]:
    """Parse the JSON object in *content* and check it against *shape*. An empty body is an empty object."""
    if not content.strip():
        return {}
    try:
        raw = parse_json(content)
    except (ValueError, RecursionError):
        raise unparsable("Unexpected token.") from None
    if not isinstance(raw, dict):
        raise unparsable('Unknown name "": Root element must be a message.')
    return _object(raw, shape, "")


def _object(raw: dict[str, Any], shape: Shape, path: str) -> dict[str, Any]:
    unknown = next((name for name in raw if name not in shape), None)
    if unknown is not None:
        raise unknown_name(unknown, path)
    prefix = f"{path}." if path else ""
    return {name: _value(value, shape[name], prefix + _snake(name)) for name, value in raw.items() if value is not None}


def _value(value: Any, kind: Kind, path: str) -> Any:
    if isinstance(kind, list):
        if not isinstance(value, list):
            value = [value]
        return [_value(item, kind[0], f"{path}[{at}]") for at, item in enumerate(value)]
    if isinstance(kind, Mapping):
        if not isinstance(value, dict):
            raise invalid_value(path, "type.googleapis.com/gmail.v1.Message", json.dumps(value))
        return _object(value, kind, path)
    if isinstance(kind, tuple):
        return text_value(value, path) if value in kind else _reject(value, "enum", path)
    if kind == BYTES:
        return decode(value, path) if isinstance(value, str) else _reject(value, BYTES, path)
    if kind in NUMERIC:
        return value if isinstance(value, int) or INTEGER.fullmatch(str(value)) else _reject(value, kind, path)
    if kind == BOOL:
        return value if isinstance(value, bool) else _reject(value, kind, path)
    return text_value(value, path)


def text_value(value: Any, path: str) -> str:
    """Return *value* if it is a string that can be encoded as UTF-8."""
    if not isinstance(value, str):
        _reject(value, STRING, path)
    try:
        value.encode()
    except UnicodeEncodeError:
        _reject("\\ufffd", STRING, path)
    return str(value)


def _reject(value: Any, kind: str, path: str) -> Any:
    raise invalid_value(path, kind, json.dumps(value))


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda capital: f"_{capital[1].lower()}", name)


def read_mask(fields: str, shape: Shape) -> Mask:
    """Return the tree of fields that *fields* selects from a response of *shape*."""
    tokens = MASK_TOKEN.findall(fields)
    if "".join(tokens) != re.sub(r"\s", "", fields):
        raise bad_mask(fields)
    mask = _selection(tokens, fields)
    if tokens:
        raise bad_mask(fields)
    _check(mask, shape, fields)
    return mask


def _selection(tokens: list[str], fields: str) -> Mask:
    mask: Mask = {}
    while True:
        name, below = _item(tokens, fields)
        existing = mask.get(name, {})
        mask[name] = None if below is None or existing is None else existing | below
        if not tokens or tokens[0] != ",":
            return mask
        tokens.pop(0)


def _item(tokens: list[str], fields: str) -> tuple[str, Mask | None]:
    if not tokens or tokens[0] in ",/()":
        raise bad_mask(fields)
    name = tokens.pop(0)
    if not tokens or tokens[0] not in "/(":
        return name, None
    if tokens.pop(0) == "/":
        inner, below = _item(tokens, fields)
        return name, {inner: below}
    selection = _selection(tokens, fields)
    if not tokens or tokens.pop(0) != ")":
        raise bad_mask(fields)
    return name, selection


def _check(mask: Mask, shape: Shape, fields: str) -> None:
    for name, below in mask.items():
        kinds = list(shape.values()) if name == "*" else [shape[name]] if name in shape else []
        if not kinds:
            raise bad_mask(name)
        if below is not None:
            inner = [kind for kind in map(_element, kinds) if isinstance(kind, Mapping)]
            if not inner:
                raise bad_mask(fields)
            for kind in inner:
                _check(below, kind, fields)


def _element(kind: Kind) -> Kind:
    return kind[0] if isinstance(kind, list) else kind


def apply_mask(value: Any, mask: Mask | None) -> Any:
    """Return the fields of a response that *mask* selects."""
    if mask is None:
        return value
    if isinstance(value, list):
        return [apply_mask(item, mask) for item in value]
    if not isinstance(value, dict):
        return value
    selected = {name: mask.get(name, mask.get("*", ...)) for name in value}
    return {name: apply_mask(value[name], below) for name, below in selected.items() if below is not ...}
