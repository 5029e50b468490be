"""The methods of threads."""

from typing import Any

from workspace_sandbox.mail.listing import filter_of, matching, page
from workspace_sandbox.mail.messages import changes, existing, reading
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.resources import short
from workspace_sandbox.mail.state import Message


def list_threads(services: MailServices, request: Ask) -> Answer:
    """List threads, ordered by the newest message of each that matches."""
    is_match = filter_of(request, services.office.now())

    def newest(message: Message) -> bool:
        later = (member for member in request.mailbox.threads[message.thread_id] if member.key > message.key)
        return is_match(message) and not any(map(is_match, later))

    def to_json(message: Message) -> dict[str, Any]:
        members = request.mailbox.threads[message.thread_id]
        history_id = max(member.history_id for member in members)
        return {"id": message.thread_id, "snippet": members[-1].snippet, "historyId": str(history_id)}

    return page(request, "threads", matching(request, newest), to_json)


def get_thread(services: MailServices, request: Ask) -> Answer:
    """Return a thread with all its messages."""
    return services.resources.thread(request.mailbox, _thread(request), *reading(request))


def modify_thread(_: MailServices, request: Ask) -> Answer:
    """Change the labels of every message in a thread."""
    return _relabel_thread(request, *changes(request))


def trash_thread(_: MailServices, request: Ask) -> Answer:
    """Move a thread to the trash."""
    return _relabel_thread(request, ["TRASH"], [])


def untrash_thread(_: MailServices, request: Ask) -> Answer:
    """Take a thread out of the trash."""
    return _relabel_thread(request, [], ["TRASH"])


def delete_thread(_: MailServices, request: Ask) -> Answer:
    """Delete a thread permanently."""
    for message in list(request.mailbox.threads[_thread(request)]):
        request.mailbox.remove(message)
    return None


def _thread(request: Ask) -> str:
    return existing(request.mailbox.threads, request.ids["id"])[0].thread_id


def _relabel_thread(request: Ask, add: list[str], remove: list[str]) -> Answer:
    thread_id = _thread(request)
    members = request.mailbox.threads[thread_id]
    for message in members:
        if not message.has("DRAFT"):
            request.mailbox.relabel(message, add, remove)
    return {"id": thread_id, "messages": [short(message) for message in members]}
