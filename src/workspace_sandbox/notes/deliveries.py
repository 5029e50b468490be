"""The sender of webhooks: gathers, signs, sends, waits briefly, tries again, and writes down how it went."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import aiohttp

from workspace_sandbox.kit.journal import Journal
from workspace_sandbox.kit.sending import HOLD_SECONDS, JOURNAL_LENGTH, Background
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.notes.events import APART, gathered
from workspace_sandbox.notes.state import Change
from workspace_sandbox.notes.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Event:
    """What is sent under one id, however often it has to be."""

    id: str
    subscription: Subscription
    change: Change


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt: the answer's status, and why it failed, if it did."""

    event_id: str
    type: str
    attempt: int
    status: int | None
    reason: str | None


class Deliverer:
    """Sends to the knob ``events_url``, in the background."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._windows: dict[str, list[Change]] = {}
        """What has happened to objects whose first change is still waiting for others, by their ids."""
        self.background = Background(self._windows.clear, headers={"Content-Type": "application/json"})
        self.forget()

    def forget(self) -> None:
        """Drop what is under way, and begin the count and the journal again."""
        self._count = 0
        self.journal: Journal[Delivery] = Journal(JOURNAL_LENGTH)
        self.background.drop()

    def hand_over(self, subscription: Subscription) -> None:
        """Send the token of *subscription* to its address: once, and unsigned."""
        self.background.begin(self._hand_over, subscription)

    def tell(self, subscription: Subscription, change: Change) -> None:
        """Deliver *change*, with what else happens to the same object within the window."""
        if self._stage.knobs["events_url"]:
            self.background.begin(self._deliver if change.type in APART else self._gather, subscription, change)

    async def _hand_over(self, subscription: Subscription) -> None:
        raw = _encoded({"verification_token": subscription.token})
        await self._send(raw, {}, event_id="", type="verification", attempt=1)

    async def _gather(self, subscription: Subscription, change: Change) -> None:
        """Join the window of the object, or open it and tell at its end what is left to tell."""
        window = self._windows.setdefault(change.entity.id, [])
        window.append(change)
        if len(window) > 1:
            return
        # Most changes of a page are gathered for a short while first ("Event types & delivery").
        await self._stage.clock.sleep(self._stage.knobs["webhook_gather_seconds"])
        del self._windows[change.entity.id]
        for left in gathered(window):
            self.background.spawn(self._deliver, subscription, left)

    async def _deliver(self, subscription: Subscription, change: Change) -> None:
        event = Event(self._new_id(change.at), subscription, change)
        if self._stage.knobs["deliver_disordered"] and self._count % 2:
            await self._stage.clock.sleep(HOLD_SECONDS)
        tried = await self._attempt(event, 1)
        if self._stage.knobs["deliver_twice"] and tried.reason is None:
            await self._attempt(event, 2)
        for number, pause in enumerate(self._stage.knobs["webhook_retry_seconds"], 2):
            if tried.reason is None:
                return
            await self._stage.clock.sleep(pause)
            tried = await self._attempt(event, number)

    def _new_id(self, at: float) -> str:
        """An id made of the instant and the count, so that none returns after a reset."""
        self._count += 1
        return str(UUID(int=Random(f"{at} {self._count}").getrandbits(128), version=4))

    async def _attempt(self, event: Event, number: int) -> Delivery:
        raw = _encoded(event.subscription.body(event.change, event.id, number))
        signed = {"X-Notion-Signature": event.subscription.signature(raw)}
        return await self._send(raw, signed, event_id=event.id, type=event.change.type, attempt=number)

    async def _send(self, raw: bytes, headers: dict[str, str], **about: Any) -> Delivery:
        # A reset in the meantime begins another journal, which this is not for.
        journal = self.journal
        status, reason = await self._post(raw, headers)
        tried = Delivery(**about, status=status, reason=reason)
        journal.append(tried)
        return tried

    async def _post(self, raw: bytes, headers: dict[str, str]) -> tuple[int | None, str | None]:
        """The status that *raw* was answered with, and why it does not count as received."""
        url, seconds = self._stage.knobs["events_url"], self._stage.knobs["webhook_ack_seconds"]
        within = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.background.session.post(
                url, data=raw, headers=headers, timeout=within, allow_redirects=False
            ) as answer:
                return answer.status, None if 200 <= answer.status < 300 else "http_error"
        except TimeoutError:
            return None, "http_timeout"
        except aiohttp.ClientConnectionError:
            return None, "connection_failed"
        except (aiohttp.ClientError, ValueError):
            return None, "unknown_error"


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
