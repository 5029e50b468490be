"""The history of a mailbox."""

from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.api.pagination import create_page_token, page_size, parse_page_token
from workspace_sandbox.mail.data.state import FIRST_HISTORY_ID
from workspace_sandbox.mail.error_responses import invalid, not_found
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody

KINDS = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}


def list_history(_: MailServices, request: ApiRequest) -> ResponseBody:
    """List the changes since a history id."""
    start = require(request.query.get("startHistoryId"), invalid("Missing required parameter: startHistoryId"))
    if not FIRST_HISTORY_ID <= start <= request.mailbox.history_id:
        raise not_found()
    if start < _earliest_id(request):
        # Too old: the client has to do a full sync ("Synchronize clients").
        raise not_found()
    last_id = parse_page_token(request)[0] if request.query.get("pageToken") else start
    records = [
        record for record in request.mailbox.history if int(record["id"]) > last_id and _matches(record, request)
    ]
    limit = page_size(request)
    response: dict[str, Any] = {"history": records[:limit]} if records else {}
    if len(records) > limit:
        response["nextPageToken"] = create_page_token(request, (int(records[limit - 1]["id"]), 0))
    return response | {"historyId": str(request.mailbox.history_id)}


def _earliest_id(request: ApiRequest) -> int:
    """Return the earliest history id from which the history is complete."""
    max_records = request.knobs["history_records"]
    forgotten = (
        [] if max_records is None else request.mailbox.history[: max(0, len(request.mailbox.history) - max_records)]
    )
    return int(forgotten[-1]["id"]) if forgotten else FIRST_HISTORY_ID


def _matches(record: dict[str, Any], request: ApiRequest) -> bool:
    kinds = [KINDS[kind] for kind in request.query.get("historyTypes", KINDS)]
    changes = [change for kind in kinds for change in record.get(kind, [])]
    label_id = request.query.get("labelId")
    return any(label_id is None or label_id in change["message"].get("labelIds", []) for change in changes)
