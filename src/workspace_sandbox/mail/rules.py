"""Filters of a mailbox: which arrivals they concern, and which labels those get and lose."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.mail import search
from workspace_sandbox.mail.state import Mailbox, Message

CRITERIA = {"from": "from:({})", "to": "to:({})", "subject": "subject:({})", "query": "({})", "negatedQuery": "-({})"}
"""How each is said in the search language, which is what filters go by."""


def labels_of(mailbox: Mailbox, raw: bytes, label_ids: list[str], at: int) -> list[str]:
    """The labels that a message arrives with, once the filters of *mailbox* have seen it."""
    message = Message("", "", raw, label_ids, at, 0)
    actions = [rule["action"] for rule in mailbox.filters.values() if _concerns(rule["criteria"], mailbox, message)]
    removed = {label_id for action in actions for label_id in action.get("removeLabelIds", ())}
    added = [label_id for action in actions for label_id in action.get("addLabelIds", ())]
    if {"TRASH", "SPAM"} & set(added):
        removed.add("INBOX")
    kept = [label_id for label_id in label_ids if label_id not in removed]
    return list(dict.fromkeys([*kept, *(label_id for label_id in added if label_id in mailbox.labels)]))


def _concerns(criteria: Mapping[str, Any], mailbox: Mailbox, message: Message) -> bool:
    said = [form.format(criteria[name]) for name, form in CRITERIA.items() if criteria.get(name)]
    if criteria.get("hasAttachment"):
        said.append("has:attachment")
    if "size" in criteria:
        said.append(f"{criteria.get('sizeComparison', 'larger')}:{criteria['size']}")
    return search.read(" ".join(said), mailbox, message.internal_date / 1000).matches(message)
