"""Drafts."""

from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.listing import filter_of, matching, page
from workspace_sandbox.mail.messages import content, reading, send
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.refusals import invalid, not_found
from workspace_sandbox.mail.resources import short
from workspace_sandbox.mail.state import Mailbox, Message


def list_drafts(desk: MailServices, ask: Ask) -> Answer:
    """A page of drafts."""
    chosen = filter_of(ask, desk.office.now())
    names = {message.id: draft_id for draft_id, message in ask.mailbox.drafts.items()}

    def shown(message: Message) -> dict[str, Any]:
        return {"id": names[message.id], "message": {"id": message.id, "threadId": message.thread_id}}

    return page(ask, "drafts", matching(ask, lambda message: message.id in names and chosen(message)), shown)


def create_draft(desk: MailServices, ask: Ask) -> Answer:
    """Keep a message for later."""
    given = ask.body.get("message", {})
    raw = desk.office.prepared(ask.mailbox, content(ask, given))
    thread_id = desk.office.thread_for(ask.mailbox, raw, given.get("threadId"))
    return _keep_draft(desk, ask.mailbox, desk.office.new_draft_id(), raw, thread_id)


def get_draft(desk: MailServices, ask: Ask) -> Answer:
    """A draft and its message."""
    return {"id": ask.ids["id"], "message": desk.resources.message(_draft(ask, ask.ids["id"]), *reading(ask))}


def update_draft(desk: MailServices, ask: Ask) -> Answer:
    """Replace the message of a draft: the draft keeps its id, the message gets a new one."""
    held, given = _draft(ask, ask.ids["id"]), ask.body.get("message", {})
    raw = desk.office.prepared(ask.mailbox, content(ask, given))
    thread_id = desk.office.thread_for(ask.mailbox, raw, given.get("threadId")) or held.thread_id
    ask.mailbox.remove(held)
    return _keep_draft(desk, ask.mailbox, ask.ids["id"], raw, thread_id)


def send_draft(desk: MailServices, ask: Ask) -> Answer:
    """Send a draft, which then is one no more; its thread stays, its message gets a new id."""
    if not ask.body.get("id"):
        raise invalid("Invalid draft")
    held, given = _draft(ask, ask.body["id"]), ask.body.get("message", {})
    replaced = ask.media is not None or "raw" in given
    raw = desk.office.prepared(ask.mailbox, content(ask, given)) if replaced else held.raw
    sent = send(desk, ask.mailbox, raw, held.thread_id)
    ask.mailbox.remove(held)
    return short(sent)


def delete_draft(_: MailServices, ask: Ask) -> Answer:
    """Delete a draft for good."""
    ask.mailbox.remove(_draft(ask, ask.ids["id"]))
    return None


def _keep_draft(desk: MailServices, mailbox: Mailbox, draft_id: str, raw: bytes, thread_id: str | None) -> Answer:
    message = mailbox.add(raw, ["DRAFT"], desk.office.now_ms(), thread_id)
    mailbox.drafts[draft_id] = message
    return {"id": draft_id, "message": short(message)}


def _draft(ask: Ask, draft_id: str) -> Message:
    return require(ask.mailbox.drafts.get(draft_id), not_found())
