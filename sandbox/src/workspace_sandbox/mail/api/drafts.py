"""The methods of drafts."""

from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.api.message_json import short
from workspace_sandbox.mail.api.messages import read_content, read_format, send
from workspace_sandbox.mail.api.pagination import build_filter, matching_messages, page
from workspace_sandbox.mail.data.state import Mailbox, Message
from workspace_sandbox.mail.error_responses import invalid, not_found
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody


def list_drafts(services: MailServices, request: ApiRequest) -> ResponseBody:
    """List drafts."""
    is_match = build_filter(request, services.transport.now())
    names = {message.id: draft_id for draft_id, message in request.mailbox.drafts.items()}

    def to_json(message: Message) -> dict[str, Any]:
        return {"id": names[message.id], "message": {"id": message.id, "threadId": message.thread_id}}

    return page(
        request,
        "drafts",
        matching_messages(request, lambda message: message.id in names and is_match(message)),
        to_json,
    )


def create_draft(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Store a message as a new draft."""
    fields = request.body.get("message", {})
    raw = services.transport.prepare(request.mailbox, read_content(request, fields))
    thread_id = services.transport.resolve_thread(request.mailbox, raw, fields.get("threadId"))
    return _store_draft(services, request.mailbox, services.transport.new_draft_id(), raw, thread_id)


def get_draft(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a draft and its message."""
    return {
        "id": request.ids["id"],
        "message": services.resources.message(_draft(request, request.ids["id"]), *read_format(request)),
    }


def update_draft(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Replace the message of a draft. The draft keeps its id, and the message gets a new one."""
    draft, fields = _draft(request, request.ids["id"]), request.body.get("message", {})
    raw = services.transport.prepare(request.mailbox, read_content(request, fields))
    thread_id = services.transport.resolve_thread(request.mailbox, raw, fields.get("threadId")) or draft.thread_id
    request.mailbox.remove(draft)
    return _store_draft(services, request.mailbox, request.ids["id"], raw, thread_id)


def send_draft(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Send a draft and delete it. Its thread stays the same, and its message gets a new id."""
    if not request.body.get("id"):
        raise invalid("Invalid draft")
    draft, fields = _draft(request, request.body["id"]), request.body.get("message", {})
    replaced = request.media is not None or "raw" in fields
    raw = services.transport.prepare(request.mailbox, read_content(request, fields)) if replaced else draft.raw
    sent = send(services, request.mailbox, raw, draft.thread_id)
    request.mailbox.remove(draft)
    return short(sent)


def delete_draft(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a draft permanently."""
    request.mailbox.remove(_draft(request, request.ids["id"]))
    return None


def _store_draft(
    services: MailServices, mailbox: Mailbox, draft_id: str, raw: bytes, thread_id: str | None
) -> ResponseBody:
    message = mailbox.add(raw, ["DRAFT"], services.transport.now_ms(), thread_id)
    mailbox.drafts[draft_id] = message
    return {"id": draft_id, "message": short(message)}


def _draft(request: ApiRequest, draft_id: str) -> Message:
    return require(request.mailbox.drafts.get(draft_id), not_found())
