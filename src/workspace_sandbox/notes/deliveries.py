"""The sender of webhooks: gathers changes of an object, and tells them to the knob ``events_url``."""

import json
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from workspace_sandbox.kit.hooks import HOLD_SECONDS, HookSender, OutgoingHook
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.notes.events import APART, gathered
from workspace_sandbox.notes.state import Change
from workspace_sandbox.notes.subscription import Subscription


class Deliverer:
    """Sends to the knob ``events_url``, in the background."""

    def __init__(self, stage: EmulatorContext, hooks: HookSender) -> None:
        self._stage = stage
        self._hooks = hooks
        self._count = 0
        self._windows: dict[str, list[Change]] = {}
        """Changes of objects whose first change is still waiting for others, by their ids."""

    def hand_over(self, subscription: Subscription) -> None:
        """Send the token of *subscription* to its address: once, and unsigned."""
        raw = _encoded({"verification_token": subscription.token})
        self._send("", "verification", lambda *_: (raw, {}))

    def tell(self, subscription: Subscription, change: Change) -> None:
        """Deliver *change*, with what else happens to the same object within the window."""
        if not self._stage.knobs["events_url"]:
            return
        if change.type in APART:
            self._deliver(subscription, change)
        else:
            self._hooks.begin(self._gather, subscription, change)

    async def _gather(self, subscription: Subscription, change: Change) -> None:
        """Join the window of the object, or open it and tell at its end what is left to tell."""
        window = self._windows.setdefault(change.entity.id, [])
        window.append(change)
        if len(window) > 1:
            return
        try:
            # Most changes of a page are gathered for a short while first ("Event types & delivery").
            await self._stage.clock.sleep(self._stage.knobs["webhook_gather_seconds"])
        finally:
            del self._windows[change.entity.id]
        for left in gathered(window):
            self._deliver(subscription, left)

    def _deliver(self, subscription: Subscription, change: Change) -> None:
        # Made of the instant and the count, so that no id returns after a reset.
        self._count += 1
        event_id = str(UUID(int=Random(f"{change.at} {self._count}").getrandbits(128), version=4))
        knobs = self._stage.knobs

        def write(attempt: int, _: str | None) -> tuple[bytes, Mapping[str, str]]:
            raw = _encoded(subscription.body(change, event_id, attempt))
            return raw, {"X-Notion-Signature": subscription.signature(raw)}

        self._send(
            event_id,
            change.type,
            write,
            pauses=knobs["webhook_retry_seconds"],
            held=HOLD_SECONDS if knobs["deliver_disordered"] and self._count % 2 else 0.0,
            twice=knobs["deliver_twice"],
        )

    def _send(self, event_id: str, kind: str, write: Any, **more: Any) -> None:
        knobs = self._stage.knobs
        letter = partial(OutgoingHook, url=knobs["events_url"], ack_seconds=knobs["webhook_ack_seconds"])
        self._hooks.send(letter(event_id=event_id, type=kind, write=write, **more))


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
