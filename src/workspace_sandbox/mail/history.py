"""The history of a mailbox: what changed since when."""

from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.listing import limit_of, position, token
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.refusals import invalid, not_found
from workspace_sandbox.mail.state import FIRST_HISTORY_ID

KINDS = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}


def list_history(_: MailServices, ask: Ask) -> Answer:
    """What changed since a history id."""
    start = require(ask.query.get("startHistoryId"), invalid("Missing required parameter: startHistoryId"))
    if not FIRST_HISTORY_ID <= start <= ask.mailbox.history_id:
        raise not_found()
    if start < _oldest(ask):
        # Too old: a client has to read the mailbox anew ("Synchronize clients").
        raise not_found()
    after = position(ask)[0] if ask.query.get("pageToken") else start
    records = [record for record in ask.mailbox.history if int(record["id"]) > after and _concerns(record, ask)]
    limit = limit_of(ask)
    told: dict[str, Any] = {"history": records[:limit]} if records else {}
    if len(records) > limit:
        told["nextPageToken"] = token(ask, (int(records[limit - 1]["id"]), 0))
    return told | {"historyId": str(ask.mailbox.history_id)}


def _oldest(ask: Ask) -> int:
    """The first history id from which everything is still known."""
    kept = ask.knobs["history_records"]
    forgotten = [] if kept is None else ask.mailbox.history[: max(0, len(ask.mailbox.history) - kept)]
    return int(forgotten[-1]["id"]) if forgotten else FIRST_HISTORY_ID


def _concerns(record: dict[str, Any], ask: Ask) -> bool:
    kinds = [KINDS[kind] for kind in ask.query.get("historyTypes", KINDS)]
    changes = [change for kind in kinds for change in record.get(kind, [])]
    label_id = ask.query.get("labelId")
    return any(label_id is None or label_id in change["message"].get("labelIds", []) for change in changes)
