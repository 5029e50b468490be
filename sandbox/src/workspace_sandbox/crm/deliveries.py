"""Webhook deliveries, with their events, signatures and retries."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.kit.clock import underlying_time
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.webhook_sender import HookSender, OutgoingHook

SUBSCRIBED_TYPES = frozenset({"contact", "company", "deal", "ticket", "product", "line_item"})
"""The object types that classic subscriptions support."""

EventIds = Mapping[str, int]
"""``portalId`` and ``appId`` of an event."""

FIRST_SUBSCRIPTION = 4_210_000


class WebhookSender:
    """Sends events to the URL in the app's settings, if there is one."""

    def __init__(self, context: EmulatorContext, hooks: HookSender) -> None:
        self._context = context
        self._hooks = hooks
        self._count = 0

    def deliver(self, base_fields: EventIds, url: str, event_type: str, record: Record, **more: Any) -> None:
        """Send an event about *record*. Association changes include the IDs of both records."""
        if not url or record.kind.singular not in SUBSCRIBED_TYPES:
            return
        self._count += 1
        kind = f"{record.kind.singular}.{event_type}"
        event = {
            "eventId": self._count,
            "subscriptionId": FIRST_SUBSCRIPTION + sorted(SUBSCRIBED_TYPES).index(record.kind.singular),
            **base_fields,
            "occurredAt": int(self._context.clock.now() * 1000),
            "subscriptionType": kind,
            **({} if event_type == "associationChange" else {"objectId": record.id}),
            **more,
        }

        def write(attempt: int, _: str | None) -> tuple[bytes, Mapping[str, str]]:
            # HubSpot counts attempts from 0.
            raw = json.dumps([event | {"attemptNumber": attempt - 1}], ensure_ascii=False).encode()
            return raw, self._signed(url, raw)

        self._hooks.send(
            OutgoingHook(
                event_id=str(self._count),
                type=kind,
                url=url,
                write=write,
                retry_delays=self._context.knobs["webhook_retry_seconds"],
                ack_seconds=self._context.knobs["webhook_ack_seconds"],
            )
        )

    def _signed(self, url: str, raw: bytes) -> dict[str, str]:
        secret: str = self._context.knobs["client_secret"]
        # Receivers compare it with their own clock, which testers cannot change.
        timestamp = str(int(underlying_time(self._context.clock) * 1000))
        signed = f"POST{url}".encode() + raw + timestamp.encode()
        third = base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
        return {
            "X-HubSpot-Signature": hashlib.sha256(secret.encode() + raw).hexdigest(),
            "X-HubSpot-Signature-Version": "v1",
            "X-HubSpot-Signature-v3": third,
            "X-HubSpot-Request-Timestamp": timestamp,
        }
