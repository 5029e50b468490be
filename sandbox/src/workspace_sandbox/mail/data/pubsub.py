"""Pub/Sub topics, to which changes of watched mailboxes are published."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.clock import has_passed, to_datetime
from workspace_sandbox.mail.data.state import Mailbox

MIN_INTERVAL_SECONDS = 1.0
"""The minimum seconds between two notifications of one mailbox.

Earlier ones are dropped ("Configure push notifications").
"""


@dataclass(slots=True)
class Watch:
    """A watch: the topic, the labels and the expiry of one mailbox's notifications."""

    topic: str
    label_ids: frozenset[str]
    excludes: bool
    expires_at: float
    notified_at: float = float("-inf")

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Return True if a history record concerns the watched labels."""
        changes = [change for changes in record.values() if isinstance(changes, list) for change in changes]
        changed_labels = {
            label_id
            for change in changes
            for label_id in (*change.get("labelIds", ()), *change.get("message", {}).get("labelIds", ()))
        }
        return not self.label_ids or changed_labels.isdisjoint(self.label_ids) == self.excludes


@dataclass(slots=True)
class Topics:
    """The Pub/Sub topics and the watches that publish to them."""

    watches: dict[str, Watch] = field(default_factory=dict)
    """The watches by mailbox address. A new one replaces the old."""

    messages: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """The unpulled messages by topic."""

    published: int = 0

    def notify(self, mailbox: Mailbox, record: Mapping[str, Any], now: float, *, limited: bool) -> None:
        """Publish a history record of *mailbox* if the mailbox is watched."""
        watch = self.watches.get(mailbox.address)
        if (
            watch is None
            or now >= watch.expires_at
            or (limited and not has_passed(MIN_INTERVAL_SECONDS, watch.notified_at, now))
        ):
            return
        if watch.matches(record):
            watch.notified_at = now
            self.publish(watch.topic, mailbox, now)

    def publish(self, topic: str, mailbox: Mailbox, now: float) -> None:
        """Publish a notification to *topic*. It contains only the address and the newest history id."""
        payload = {"emailAddress": mailbox.address, "historyId": mailbox.history_id}
        self.published += 1
        self.messages.setdefault(topic, []).append(
            {
                "data": b64encode(json.dumps(payload, separators=(",", ":")).encode()).decode(),
                "messageId": str(2_070_443_601_311_540 + self.published),
                "publishTime": to_datetime(now).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            }
        )

    def pull(self, topic: str | None) -> list[dict[str, str]]:
        """Remove and return the messages of *topic*, or of all topics."""
        names = [topic] if topic else list(self.messages)
        return [message for name in names for message in self.messages.pop(name, [])]
