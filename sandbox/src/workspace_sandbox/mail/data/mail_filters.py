"""Filters of a mailbox, which add and remove labels of incoming messages."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.mail.data import search_query
from workspace_sandbox.mail.data.state import Mailbox, Message

CRITERIA = {"from": "from:({})", "to": "to:({})", "subject": "subject:({})", "query": "({})", "negatedQuery": "-({})"}
"""The search operator of each filter criterion. Filters are evaluated as search queries."""


def apply_filters(mailbox: Mailbox, raw: bytes, label_ids: list[str], at: int) -> list[str]:
    """Return the labels of an incoming message after the filters of *mailbox* have been applied."""
    message = Message("", "", raw, label_ids, at, 0)
    actions = [rule["action"] for rule in mailbox.filters.values() if _matches(rule["criteria"], mailbox, message)]
    removed = {label_id for action in actions for label_id in action.get("removeLabelIds", ())}
    added = [label_id for action in actions for label_id in action.get("addLabelIds", ())]
    if {"TRASH", "SPAM"} & set(added):
        removed.add("INBOX")
    remaining = [label_id for label_id in label_ids if label_id not in removed]
    return list(dict.fromkeys([*remaining, *(label_id for label_id in added if label_id in mailbox.labels)]))


def _matches(criteria: Mapping[str, Any], mailbox: Mailbox, message: Message) -> bool:
    terms = [form.format(criteria[name]) for name, form in CRITERIA.items() if criteria.get(name)]
    if criteria.get("hasAttachment"):
        terms.append("has:attachment")
    if "size" in criteria:
        terms.append(f"{criteria.get('sizeComparison', 'larger')}:{criteria['size']}")
    return search_query.read(" ".join(terms), mailbox, message.internal_date / 1000).matches(message)
