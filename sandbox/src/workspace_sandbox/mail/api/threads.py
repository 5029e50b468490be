"""The methods of threads."""

from typing import Any

from workspace_sandbox.mail.api.message_json import short
from workspace_sandbox.mail.api.messages import get_existing, read_format, read_label_changes
from workspace_sandbox.mail.api.pagination import build_filter, matching_messages, page
from workspace_sandbox.mail.data.state import Message
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody


def list_threads(services: MailServices, request: ApiRequest) -> ResponseBody:
    """List threads, ordered by the newest message of each that matches."""
    is_match = build_filter(request, services.transport.now())

    def newest(message: Message) -> bool:
        later = (member for member in request.mailbox.threads[message.thread_id] if member.key > message.key)
        return is_match(message) and not any(map(is_match, later))

    def to_json(message: Message) -> dict[str, Any]:
        members = request.mailbox.threads[message.thread_id]
        history_id = max(member.history_id for member in members)
        return {"id": message.thread_id, "snippet": members[-1].snippet, "historyId": str(history_id)}

    return page(request, "threads", matching_messages(request, newest), to_json)


def get_thread(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a thread with all its messages."""
    return services.resources.thread(request.mailbox, _thread(request), *read_format(request))


def modify_thread(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Change the labels of every message in a thread."""
    return _relabel_thread(request, *read_label_changes(request))


def trash_thread(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Move a thread to the trash."""
    return _relabel_thread(request, ["TRASH"], [])


def untrash_thread(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Take a thread out of the trash."""
    return _relabel_thread(request, [], ["TRASH"])


def delete_thread(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a thread permanently."""
    for message in list(request.mailbox.threads[_thread(request)]):
        request.mailbox.remove(message)
    return None


def _thread(request: ApiRequest) -> str:
    return get_existing(request.mailbox.threads, request.ids["id"])[0].thread_id


def _relabel_thread(request: ApiRequest, add: list[str], remove: list[str]) -> ResponseBody:
    thread_id = _thread(request)
    members = request.mailbox.threads[thread_id]
    for message in members:
        if not message.has_label("DRAFT"):
            request.mailbox.relabel(message, add, remove)
    return {"id": thread_id, "messages": [short(message) for message in members]}
