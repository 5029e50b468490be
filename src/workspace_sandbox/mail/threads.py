"""Threads."""

from typing import Any

from workspace_sandbox.mail.listing import filter_of, matching, page
from workspace_sandbox.mail.messages import changes, existing, reading
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.resources import short
from workspace_sandbox.mail.state import Message


def list_threads(desk: MailServices, ask: Ask) -> Answer:
    """A page of threads, in the order of the newest message of each that matches."""
    chosen = filter_of(ask, desk.office.now())

    def newest(message: Message) -> bool:
        later = (member for member in ask.mailbox.threads[message.thread_id] if member.key > message.key)
        return chosen(message) and not any(map(chosen, later))

    def shown(message: Message) -> dict[str, Any]:
        members = ask.mailbox.threads[message.thread_id]
        history_id = max(member.history_id for member in members)
        return {"id": message.thread_id, "snippet": members[-1].snippet, "historyId": str(history_id)}

    return page(ask, "threads", matching(ask, newest), shown)


def get_thread(desk: MailServices, ask: Ask) -> Answer:
    """A thread with all its messages."""
    return desk.resources.thread(ask.mailbox, _thread(ask), *reading(ask))


def modify_thread(_: MailServices, ask: Ask) -> Answer:
    """Change the labels of every message of a thread."""
    return _relabel_thread(ask, *changes(ask))


def trash_thread(_: MailServices, ask: Ask) -> Answer:
    """Move a thread to the trash."""
    return _relabel_thread(ask, ["TRASH"], [])


def untrash_thread(_: MailServices, ask: Ask) -> Answer:
    """Take a thread out of the trash."""
    return _relabel_thread(ask, [], ["TRASH"])


def delete_thread(_: MailServices, ask: Ask) -> Answer:
    """Delete a thread for good."""
    for message in list(ask.mailbox.threads[_thread(ask)]):
        ask.mailbox.remove(message)
    return None


def _thread(ask: Ask) -> str:
    return existing(ask.mailbox.threads, ask.ids["id"])[0].thread_id


def _relabel_thread(ask: Ask, add: list[str], remove: list[str]) -> Answer:
    thread_id = _thread(ask)
    members = ask.mailbox.threads[thread_id]
    for message in members:
        if not message.has("DRAFT"):
            ask.mailbox.relabel(message, add, remove)
    return {"id": thread_id, "messages": [short(message) for message in members]}
