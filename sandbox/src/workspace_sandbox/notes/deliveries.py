"""The webhook sender, which aggregates changes of an object and posts them to the knob ``events_url``."""

import json
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.webhook_sender import REORDER_DELAY_SECONDS, HookSender, OutgoingHook
from workspace_sandbox.notes.data.state import Change
from workspace_sandbox.notes.data.webhook_event_contents import UNAGGREGATED, aggregate
from workspace_sandbox.notes.data.webhook_subscription import Subscription


class WebhookSender:
    """Sends events to the knob ``events_url`` in the background."""

    def __init__(self, context: EmulatorContext, hooks: HookSender) -> None:
        self._context = context
        self._hooks = hooks
        self._count = 0
        self._windows: dict[str, list[Change]] = {}
        """Pending changes by object id, aggregated while the window is open."""

    def send_verification(self, subscription: Subscription) -> None:
        """Send the verification token of *subscription* to its URL once, unsigned."""
        raw = _encode({"verification_token": subscription.token})
        self._send("", "verification", lambda *_: (raw, {}))

    def deliver(self, subscription: Subscription, change: Change) -> None:
        """Deliver *change*, aggregated with other changes of the object within the window."""
        if not self._context.knobs["events_url"]:
            return
        if change.type in UNAGGREGATED:
            self._deliver(subscription, change)
        else:
            self._hooks.start_task(self._aggregate, subscription, change)

    async def _aggregate(self, subscription: Subscription, change: Change) -> None:
        """Join the object's open window, or open one and deliver its aggregated changes when it ends."""
        window = self._windows.setdefault(change.entity.id, [])
        window.append(change)
        if len(window) > 1:
            return
        try:
            # Most changes of a page are aggregated for a short time first ("Event types & delivery").
            await self._context.clock.sleep(self._context.knobs["webhook_gather_seconds"])
        finally:
            del self._windows[change.entity.id]
        for merged in aggregate(window):
            self._deliver(subscription, merged)

    def _deliver(self, subscription: Subscription, change: Change) -> None:
        # Derived from the time and the count, so that no id is reused after a reset.
        self._count += 1
        event_id = str(UUID(int=Random(f"{change.at} {self._count}").getrandbits(128), version=4))
        knobs = self._context.knobs

        def write(attempt: int, _: str | None) -> tuple[bytes, Mapping[str, str]]:
            raw = _encode(subscription.body(change, event_id, attempt))
            return raw, {"X-Notion-Signature": subscription.signature(raw)}

        self._send(
            event_id,
            change.type,
            write,
            retry_delays=knobs["webhook_retry_seconds"],
            delay_seconds=REORDER_DELAY_SECONDS if knobs["deliver_disordered"] and self._count % 2 else 0.0,
            repeats_success=knobs["deliver_twice"],
        )

    def _send(self, event_id: str, kind: str, write: Any, **options: Any) -> None:
        knobs = self._context.knobs
        create_hook = partial(OutgoingHook, url=knobs["events_url"], ack_seconds=knobs["webhook_ack_seconds"])
        self._hooks.send(create_hook(event_id=event_id, type=kind, write=write, **options))


def _encode(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
