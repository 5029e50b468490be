"""The lists: which messages, threads, drafts and changes are on a page, and the tokens between pages."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from workspace_sandbox.mail.refusals import invalid, metadata_scope, not_found
from workspace_sandbox.mail.request import Ask
from workspace_sandbox.mail.search import read
from workspace_sandbox.mail.state import FIRST_HISTORY_ID, Key, Message

DEFAULT_RESULTS = 100
MAX_RESULTS = 500
ESTIMATE = 201
"""What the vendor says whenever there is more than it cares to count."""

KINDS = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}
Chosen = Callable[[Message], bool]


def list_messages(ask: Ask, now: float) -> dict[str, Any]:
    """A page of messages."""
    chosen = _filter(ask, now)
    return _page(ask, "messages", _matching(ask, chosen), lambda found: {"id": found.id, "threadId": found.thread_id})


def list_threads(ask: Ask, now: float) -> dict[str, Any]:
    """A page of threads, in the order of the newest message of each that matches."""
    chosen = _filter(ask, now)

    def newest(message: Message) -> bool:
        later = (member for member in ask.mailbox.threads[message.thread_id] if member.key > message.key)
        return chosen(message) and not any(map(chosen, later))

    def shown(message: Message) -> dict[str, Any]:
        members = ask.mailbox.threads[message.thread_id]
        history_id = max(member.history_id for member in members)
        return {"id": message.thread_id, "snippet": members[-1].snippet, "historyId": str(history_id)}

    return _page(ask, "threads", _matching(ask, newest), shown)


def list_drafts(ask: Ask, now: float) -> dict[str, Any]:
    """A page of drafts."""
    chosen = _filter(ask, now)
    names = {message.id: draft_id for draft_id, message in ask.mailbox.drafts.items()}

    def shown(message: Message) -> dict[str, Any]:
        return {"id": names[message.id], "message": {"id": message.id, "threadId": message.thread_id}}

    return _page(ask, "drafts", _matching(ask, lambda message: message.id in names and chosen(message)), shown)


def list_history(ask: Ask) -> dict[str, Any]:
    """What changed since a history id."""
    start = ask.query.get("startHistoryId")
    if start is None:
        raise invalid("Missing required parameter: startHistoryId")
    if not FIRST_HISTORY_ID <= start <= ask.mailbox.history_id:
        raise not_found()
    after = _position(ask)[0] if ask.query.get("pageToken") else start
    records = [record for record in ask.mailbox.history if int(record["id"]) > after and _concerns(record, ask)]
    limit = _limit(ask)
    page: dict[str, Any] = {"history": records[:limit]} if records else {}
    if len(records) > limit:
        page["nextPageToken"] = _token(ask, (int(records[limit - 1]["id"]), 0))
    return page | {"historyId": str(ask.mailbox.history_id)}


def _concerns(record: dict[str, Any], ask: Ask) -> bool:
    kinds = [KINDS[kind] for kind in ask.query.get("historyTypes", KINDS)]
    changes = [change for kind in kinds for change in record.get(kind, [])]
    label_id = ask.query.get("labelId")
    return any(label_id is None or label_id in change["message"].get("labelIds", []) for change in changes)


def _filter(ask: Ask, now: float) -> Chosen:
    q = ask.query.get("q", "").strip()
    if q and ask.metadata_only:
        raise metadata_scope("'q' parameter")
    label_ids = ask.query.get("labelIds", [])
    unknown = next((label_id for label_id in label_ids if label_id not in ask.mailbox.labels), None)
    if unknown is not None:
        raise invalid(f"Invalid label: {unknown}")
    query = read(q, ask.mailbox, now)
    everything = bool(ask.query.get("includeSpamTrash")) or not {"SPAM", "TRASH"}.isdisjoint(label_ids)
    indexed_until = (now - ask.knobs["index_lag_seconds"]) * 1000 if q else float("inf")

    def chosen(message: Message) -> bool:
        carries_all = all(message.has(label_id) for label_id in label_ids)
        return carries_all and message.internal_date <= indexed_until and query.shows(message, everything=everything)

    return chosen


def _matching(ask: Ask, chosen: Chosen) -> Iterator[Message]:
    before = _position(ask) if ask.query.get("pageToken") else None
    return filter(chosen, ask.mailbox.newest(before))


def _page(
    ask: Ask, name: str, matching: Iterator[Message], shown: Callable[[Message], dict[str, Any]]
) -> dict[str, Any]:
    limit = _limit(ask)
    found = [message for _, message in zip(range(limit + 1), matching, strict=False)]
    if not found:
        return {"resultSizeEstimate": 0}
    page: dict[str, Any] = {name: [shown(message) for message in found[:limit]]}
    if len(found) > limit:
        page["nextPageToken"] = _token(ask, found[limit - 1].key)
    return page | {"resultSizeEstimate": ESTIMATE if len(found) > limit else len(found)}


def _limit(ask: Ask) -> int:
    return min(ask.query.get("maxResults") or DEFAULT_RESULTS, MAX_RESULTS)


def _token(ask: Ask, key: Key) -> str:
    position = f"{key[0]:014d}{key[1]:08d}"
    return _seal(ask, position) + position


def _position(ask: Ask) -> Key:
    token = ask.query["pageToken"]
    seal, position = token[:10], token[10:]
    if len(token) != 32 or not (token.isascii() and token.isdigit()) or seal != _seal(ask, position):
        raise invalid("Invalid pageToken")
    return int(position[:14]), int(position[14:])


def _seal(ask: Ask, position: str) -> str:
    names = ("q", "labelIds", "includeSpamTrash", "startHistoryId", "historyTypes", "labelId")
    about = [ask.method.id, ask.mailbox.address, position, *(str(ask.query.get(name, "")) for name in names)]
    return f"{int.from_bytes(blake2b(repr(about).encode(), digest_size=8).digest()) % 10**10:010d}"
