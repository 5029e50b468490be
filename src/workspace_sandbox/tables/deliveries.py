"""Webhooks hear of changes: a payload to fetch, and a signed ping that says so, tried again after pauses."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.hooks import Delivery, HookSender, OutgoingHook
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.tables import times
from workspace_sandbox.tables.changes import Comparison
from workspace_sandbox.tables.state import Base, User
from workspace_sandbox.tables.webhooks import Webhook

TAKEN = frozenset({200, 204})


@dataclass(frozen=True, slots=True)
class Action:
    """Who changed a base, and by what: ``client`` is the application, ``publicApi`` a program."""

    base: Base
    source: str
    user: User
    permission: str

    def shape(self) -> dict[str, Any]:
        """As payloads tell it."""
        user = {**self.user.shape(), "permissionLevel": self.permission}
        return {"source": self.source, "sourceMetadata": {"user": user}}


class Deliverer:
    """Keeps payloads and sends pings."""

    def __init__(self, stage: EmulatorContext, hooks: HookSender) -> None:
        self._stage = stage
        self._hooks = hooks

    def tell(self, webhooks: Mapping[str, Webhook], action: Action, compared: Comparison) -> None:
        """Let those of *webhooks* that listen to the base know what changed in it."""
        now = self._stage.clock.now()
        for webhook in list(webhooks.values()):
            listens = webhook.base_id == action.base.id and webhook.is_enabled(now) and webhook.hears(action.source)
            seen = compared.told(webhook.wanted) if listens else {}
            if seen:
                about = {"baseTransactionNumber": action.base.transactions, "payloadFormat": "v0"}
                webhook.keep({"timestamp": times.written(now), **about, "actionMetadata": action.shape(), **seen}, now)
                self.ping(webhooks, webhook)

    def ping(self, webhooks: Mapping[str, Webhook], webhook: Webhook) -> None:
        """Ping *webhook*, if it wants that; after the last failure it is pinged no more until somebody turns it on."""
        if webhook.url is None or not webhook.notifies:
            return
        knobs = self._stage.knobs
        pauses = tuple(knobs["webhook_retry_seconds"])

        def tried(delivery: Delivery) -> bool:
            self._note(webhook, delivery, is_last=delivery.attempt > len(pauses))
            return webhooks.get(webhook.id) is webhook and webhook.notifies

        self._hooks.send(
            OutgoingHook(
                event_id=webhook.id,
                type="ping",
                url=webhook.url,
                write=lambda *_: self._written(webhook),
                pauses=pauses,
                ack_seconds=knobs["webhook_ack_seconds"],
                tried=tried,
            )
        )

    def _written(self, webhook: Webhook) -> tuple[bytes, Mapping[str, str]]:
        ids = {"base": {"id": webhook.base_id}, "webhook": {"id": webhook.id}}
        raw = json.dumps({**ids, "timestamp": times.written(self._stage.clock.now())}, separators=(",", ":")).encode()
        digest = hmac.new(webhook.secret, raw, hashlib.sha256).hexdigest()
        return raw, {"X-Airtable-Content-MAC": f"hmac-sha256={digest}"}

    def _note(self, webhook: Webhook, delivery: Delivery, *, is_last: bool) -> None:
        now = self._stage.clock.now()
        about = {"completionTimestamp": times.written(now), "durationMs": 1.0, "retryNumber": delivery.attempt - 1}
        if delivery.status in TAKEN:
            webhook.last_success_at = now
            webhook.last_result = {"success": True, **about}
            return
        reason = delivery.reason if delivery.status is None else f"The address answered with {delivery.status}"
        # Any other success of HTTP is none to the vendor, and is not tried again here.
        again = delivery.reason is not None and not is_last
        webhook.last_result = {"success": False, "error": {"message": reason}, **about, "willBeRetried": again}
        webhook.notifies = webhook.notifies and not is_last
