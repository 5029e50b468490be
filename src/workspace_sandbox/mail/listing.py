"""What lists have in common: which messages are on a page, and the tokens between pages."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.mail.methods import Ask
from workspace_sandbox.mail.refusals import invalid, metadata_scope
from workspace_sandbox.mail.search import read
from workspace_sandbox.mail.state import Key, Message

DEFAULT_RESULTS = 100
MAX_RESULTS = 500
ESTIMATE = 201
"""What the vendor says whenever there is more than it cares to count."""

Chosen = Callable[[Message], bool]


def filter_of(ask: Ask, now: float) -> Chosen:
    """Which messages a list is asked for."""
    q = ask.query.get("q", "").strip()
    if q and ask.metadata_only:
        raise metadata_scope("'q' parameter")
    label_ids = ask.query.get("labelIds", [])
    unknown = next((label_id for label_id in label_ids if label_id not in ask.mailbox.labels), None)
    if unknown is not None:
        raise invalid(f"Invalid label: {unknown}")
    query = read(q, ask.mailbox, now)
    everything = bool(ask.query.get("includeSpamTrash")) or not {"SPAM", "TRASH"}.isdisjoint(label_ids)
    # Only a search goes through the index. A list without a query sees everything at once.
    lag = ask.knobs["index_lag_seconds"] if q else 0.0

    def chosen(message: Message) -> bool:
        carries_all = all(message.has(label_id) for label_id in label_ids)
        is_indexed = has_passed(lag, message.internal_date / 1000, now)
        return carries_all and is_indexed and query.shows(message, everything=everything)

    return chosen


def matching(ask: Ask, chosen: Chosen) -> Iterator[Message]:
    """The messages that are to be listed, from the page's beginning on."""
    before = position(ask) if ask.query.get("pageToken") else None
    return filter(chosen, ask.mailbox.newest(before))


def page(
    ask: Ask, name: str, matching: Iterator[Message], shown: Callable[[Message], dict[str, Any]]
) -> dict[str, Any]:
    """A page of what matches, as it is *shown*."""
    limit = limit_of(ask)
    # One more than are shown tells whether there is another page.
    found = [message for _, message in zip(range(limit + 1), matching, strict=False)]
    if not found:
        # No empty list: the key is missing, which breaks clients that expect one.
        return {"resultSizeEstimate": 0}
    # Drafts and sent mail are among the messages, as they are in Gmail.
    told: dict[str, Any] = {name: [shown(message) for message in found[:limit]]}
    if len(found) > limit:
        told["nextPageToken"] = token(ask, found[limit - 1].key)
    return told | {"resultSizeEstimate": ESTIMATE if len(found) > limit else len(found)}


def limit_of(ask: Ask) -> int:
    """How many a page may have."""
    # Cut without a word. That Google does not refuse is what users saw; the reference names only the maximum.
    return min(ask.query.get("maxResults") or DEFAULT_RESULTS, MAX_RESULTS)


def token(ask: Ask, key: Key) -> str:
    """What leads to the page behind that place."""
    place = f"{key[0]:014d}{key[1]:08d}"
    return _seal(ask, place) + place


def position(ask: Ask) -> Key:
    """The place that a page token leads to."""
    given = ask.query["pageToken"]
    seal, place = given[:10], given[10:]
    if len(given) != 32 or not (given.isascii() and given.isdigit()) or seal != _seal(ask, place):
        raise invalid("Invalid pageToken")
    return int(place[:14]), int(place[14:])


def _seal(ask: Ask, place: str) -> str:
    # A page token holds for one query. With another, the vendor refuses it, and so must a stand-in.
    names = ("q", "labelIds", "includeSpamTrash", "startHistoryId", "historyTypes", "labelId")
    about = [ask.method.id, ask.mailbox.address, place, *(str(ask.query.get(name, "")) for name in names)]
    return f"{int.from_bytes(blake2b(repr(about).encode(), digest_size=8).digest()) % 10**10:010d}"
