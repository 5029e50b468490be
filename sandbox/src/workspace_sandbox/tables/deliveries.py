"""Webhook notifications: stored payloads, and signed pings with retries."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.webhook_sender import HookAttempt, HookSender, OutgoingHook
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.state import Base, User
from workspace_sandbox.tables.data.webhook_payloads import Comparison
from workspace_sandbox.tables.data.webhooks import Webhook

ACCEPTED_STATUSES = frozenset({200, 204})


@dataclass(frozen=True, slots=True)
class WebhookAction:
    """The author and source of a change: ``client`` is the Airtable app, ``publicApi`` a program."""

    base: Base
    source: str
    user: User
    permission: str

    def to_json(self) -> dict[str, Any]:
        """Return the action in the format of payloads."""
        user = {**self.user.to_json(), "permissionLevel": self.permission}
        return {"source": self.source, "sourceMetadata": {"user": user}}


class WebhookSender:
    """Stores payloads and sends pings."""

    def __init__(self, context: EmulatorContext, hooks: HookSender) -> None:
        self._context = context
        self._hooks = hooks

    def notify(self, webhooks: Mapping[str, Webhook], action: WebhookAction, comparison: Comparison) -> None:
        """Notify those *webhooks* that listen to the base of its changes."""
        now = self._context.clock.now()
        for webhook in list(webhooks.values()):
            listens = (
                webhook.base_id == action.base.id and webhook.is_enabled(now) and webhook.listens_to(action.source)
            )
            changes = comparison.payload(webhook.change_filter) if listens else {}
            if changes:
                metadata = {"baseTransactionNumber": action.base.transactions, "payloadFormat": "v0"}
                webhook.add_payload(
                    {"timestamp": dates.format_time(now), **metadata, "actionMetadata": action.to_json(), **changes},
                    now,
                )
                self.ping(webhooks, webhook)

    def ping(self, webhooks: Mapping[str, Webhook], webhook: Webhook) -> None:
        """Ping *webhook* if notifications are on. After the last failed retry they are turned off."""
        if webhook.url is None or not webhook.pings_enabled:
            return
        knobs = self._context.knobs
        pauses = tuple(knobs["webhook_retry_seconds"])

        def on_attempt(delivery: HookAttempt) -> bool:
            self._record_attempt(webhook, delivery, is_last=delivery.attempt > len(pauses))
            return webhooks.get(webhook.id) is webhook and webhook.pings_enabled

        self._hooks.send(
            OutgoingHook(
                event_id=webhook.id,
                type="ping",
                url=webhook.url,
                write=lambda *_: self._signed_ping(webhook),
                retry_delays=pauses,
                ack_seconds=knobs["webhook_ack_seconds"],
                on_attempt=on_attempt,
            )
        )

    def _signed_ping(self, webhook: Webhook) -> tuple[bytes, Mapping[str, str]]:
        ids = {"base": {"id": webhook.base_id}, "webhook": {"id": webhook.id}}
        raw = json.dumps(
            {**ids, "timestamp": dates.format_time(self._context.clock.now())}, separators=(",", ":")
        ).encode()
        digest = hmac.new(webhook.secret, raw, hashlib.sha256).hexdigest()
        return raw, {"X-Airtable-Content-MAC": f"hmac-sha256={digest}"}

    def _record_attempt(self, webhook: Webhook, delivery: HookAttempt, *, is_last: bool) -> None:
        now = self._context.clock.now()
        attempt = {
            "completionTimestamp": dates.format_time(now),
            "durationMs": 1.0,
            "retryNumber": delivery.attempt - 1,
        }
        if delivery.status in ACCEPTED_STATUSES:
            webhook.last_success_at = now
            webhook.last_result = {"success": True, **attempt}
            return
        reason = delivery.reason if delivery.status is None else f"The address answered with {delivery.status}"
        # The vendor accepts only certain success codes. Other 2xx responses are failures without retry here.
        will_retry = delivery.reason is not None and not is_last
        webhook.last_result = {"success": False, "error": {"message": reason}, **attempt, "willBeRetried": will_retry}
        webhook.pings_enabled = webhook.pings_enabled and not is_last
