"""Topics of the message service: what is published there of the mailboxes that are watched."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.clock import has_passed, instant
from workspace_sandbox.mail.state import Mailbox

APART = 1.0
"""Seconds between two notifications of one mailbox; what comes sooner is dropped ("Configure push notifications")."""


@dataclass(slots=True)
class Watch:
    """What of one mailbox is told to a topic, and until when."""

    topic: str
    label_ids: frozenset[str]
    excludes: bool
    until: float
    told_at: float = float("-inf")

    def wants(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the history is about labels that it looks at."""
        changes = [change for changes in record.values() if isinstance(changes, list) for change in changes]
        held = {
            label_id
            for change in changes
            for label_id in (*change.get("labelIds", ()), *change.get("message", {}).get("labelIds", ()))
        }
        return not self.label_ids or held.isdisjoint(self.label_ids) == self.excludes


@dataclass(slots=True)
class Topics:
    """The topics of the message service, and who writes to them."""

    watches: dict[str, Watch] = field(default_factory=dict)
    """By the address of the mailbox; a new one takes the place of the old."""

    messages: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """By topic, those that nobody has taken yet."""

    published: int = 0

    def hear(self, mailbox: Mailbox, record: Mapping[str, Any], now: float, *, limited: bool) -> None:
        """Tell the topic of *mailbox* of a record of its history, if somebody watches it."""
        watch = self.watches.get(mailbox.address)
        if watch is None or now >= watch.until or (limited and not has_passed(APART, watch.told_at, now)):
            return
        if watch.wants(record):
            watch.told_at = now
            self.publish(watch.topic, mailbox, now)

    def publish(self, topic: str, mailbox: Mailbox, now: float) -> None:
        """Put a notification into *topic*: the address and the newest history id, and nothing more."""
        about = {"emailAddress": mailbox.address, "historyId": mailbox.history_id}
        self.published += 1
        self.messages.setdefault(topic, []).append(
            {
                "data": b64encode(json.dumps(about, separators=(",", ":")).encode()).decode(),
                "messageId": str(2_070_443_601_311_540 + self.published),
                "publishTime": instant(now).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            }
        )

    def pull(self, topic: str | None) -> list[dict[str, str]]:
        """Take what waits in *topic*, or in all."""
        taken = [topic] if topic else list(self.messages)
        return [message for one in taken for message in self.messages.pop(one, [])]
