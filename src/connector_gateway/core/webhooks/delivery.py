"""The deliverer: sends the events that are due to webhooks, those of each connection in their order, until accepted."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Any, Self

import structlog
from pydantic_core import to_json
from sqlalchemy import Row

from connector_gateway.core.connections.vault import Vault
from connector_gateway.core.events.feed import event_of
from connector_gateway.core.history.filters import DELIVER, READ_EVENTS
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.core.webhooks.progress import OF_ONE_WEBHOOK, ClaimedPosition, ClaimLost, DeliveryPositions
from connector_gateway.core.webhooks.sender import DeliveryAttempt, WebhookSender
from connector_gateway.core.webhooks.signing import sign
from connector_gateway.core.webhooks.subscriptions import Webhooks
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.kit.upstream.client import RequestRecord

TICK_SECONDS = 0.5
"""How often positions that are due are claimed."""

MOST = 50
"""Positions under way in one process; with ``STEP`` it bounds what is held of events."""

STEP = 10
"""Events that are read at a time."""

STEPS = 10
"""Steps in a row for one position, after which others have their turn."""

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 3 * 60 * 60.0
"""The pause after the first failure, and the longest; each is twice the one before, less up to a fifth by chance.

That makes twelve attempts in the first six hours, and then one every three hours.
"""

LEFT_OUT_AFTER_SECONDS = 24 * 60 * 60.0
"""How long one event is tried until the one behind it is tried too, which tells a receiver at fault from an event."""

DISABLED_AFTER_SECONDS = 3 * 24 * 60 * 60.0
"""How long one event is tried until its webhook is disabled, unless that accepts those of other connections."""

FAILED = "delivery_failed"
DISABLED = "webhook_disabled"
SKIPPED = "event_left_out"

_random = SystemRandom()
HIDDEN = "/…"

log = structlog.get_logger()


@dataclass(eq=False, repr=False, kw_only=True)
class DeliveryWorker:
    """Delivers while it is open, sharing the work with the other processes."""

    positions: DeliveryPositions
    webhooks: Webhooks
    sender: WebhookSender
    runs: RunStore
    vault: Vault
    connectors: Mapping[str, AnyConnector]
    clock: Clock

    _under_way: dict[asyncio.Task[None], ClaimedPosition] = field(init=False, default_factory=dict)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """How many attempts ended how, by connector."""

    def __post_init__(self) -> None:
        self._shapes = _event_shapes(self.connectors)

    async def __aenter__(self) -> Self:
        await self.sender.__aenter__()
        self._delivering = asyncio.create_task(self._deliver_forever(), name="deliverer")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._delivering)
        begun = dict(self._under_way)
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        # Where storage is away, they are due when their claims end.
        with suppress(StorageUnavailable):
            await self.positions.release(begun.values())
        await self.sender.__aexit__()

    async def deliver(self) -> int:
        """Begin what is due, as far as there is room; how many positions that are."""
        busy = Counter(claimed.webhook_id for claimed in self._under_way.values())
        room = MOST - len(self._under_way)
        claims = (
            await self.positions.claim(room, [name for name, count in busy.items() if count >= OF_ONE_WEBHOOK])
            if room
            else []
        )
        for claimed in claims:
            task = asyncio.create_task(self._take(claimed), name="delivery")
            self._under_way[task] = claimed
            task.add_done_callback(self._under_way.pop)
        return len(claims)

    async def join(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await asyncio.wait(list(self._under_way))

    async def _deliver_forever(self) -> None:
        while True:
            if await self._begin():
                # There is probably more, for which there is room as soon as one has ended.
                await asyncio.wait(list(self._under_way), timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(TICK_SECONDS)

    async def _begin(self) -> bool:
        """Whether something is under way that was begun just now."""
        try:
            return bool(await self.deliver()) and bool(self._under_way)
        except StorageUnavailable as away:
            log.warning("storage is away", job="deliveries", private=away.private)
        except Exception:
            log.exception("deliveries could not be begun")
        return False

    async def _take(self, claimed: ClaimedPosition) -> None:
        """Deliver from one position; whatever stops it, the position is due again when its claim ends."""
        try:
            await self._drain(claimed)
        except ClaimLost:
            pass
        except StorageUnavailable as away:
            log.warning("storage is away", job="deliveries", private=away.private)
        except Exception:
            log.exception("a delivery could not be made", webhook_id=claimed.webhook_id)

    async def _drain(self, claimed: ClaimedPosition) -> None:
        """Deliver events in their order, until one fails, none is left, or others should have their turn."""
        secrets = self.vault.decrypt(claimed.sealed, claimed.webhook_id)["secrets"]
        for _ in range(STEPS):
            claimed, events, newest = await self.positions.events(claimed, STEP)
            waiting = iter(events)
            for event in waiting:
                attempt = await self._send(claimed, event, secrets)
                accepted = event if attempt.result == "accepted" else None
                if accepted is None and self._may_leave_out(claimed, attempt):
                    accepted = await self._instead(claimed, event, next(waiting, None), secrets)
                if accepted is None:
                    await self._fail(claimed, event, attempt)
                    return
                claimed = await self.positions.advance(claimed, accepted.sequence)
            if len(events) < STEP:
                claimed = claimed.up_to(newest)
                break
        await self.positions.give_back(claimed)

    def _may_leave_out(self, claimed: ClaimedPosition, failed: DeliveryAttempt) -> bool:
        """Whether an event has *failed* for so long that it may be the only one to fail."""
        return not failed.gone and self.positions.failing_seconds(claimed) >= LEFT_OUT_AFTER_SECONDS

    async def _instead(
        self, claimed: ClaimedPosition, event: Row[Any], behind: Row[Any] | None, secrets: Any
    ) -> Row[Any] | None:
        """The event *behind* one that has failed, if it is accepted: the receiver works, and refuses the first."""
        if behind is None or (await self._send(claimed, behind, secrets)).result != "accepted":
            return None
        # Once more, for the receiver may have come back between the two.
        again = await self._send(claimed, event, secrets)
        if again.result != "accepted":
            await self._record(claimed, event, again, SKIPPED)
        return behind

    async def _send(self, claimed: ClaimedPosition, event: Row[Any], secrets: Any) -> DeliveryAttempt:
        body = self._message(claimed, event)
        headers = sign(secrets, event.event_id, self.clock.now(), body)
        attempt = await self.sender.send(claimed.url, headers, body)
        self.results[claimed.connector, attempt.result] += 1
        return attempt

    def _message(self, claimed: ClaimedPosition, event: Row[Any]) -> bytes:
        """Return what is sent of an event: ``data`` is the event as its connector's route for events returns it."""
        warnings = {"warnings": claimed.warnings} if claimed.warnings else {}
        return to_json(
            {
                "type": event.type,
                "timestamp": format_timestamp(utc_datetime(event.observed_at)),
                "connector": claimed.connector,
                "connection_id": claimed.connection_id,
                "data": event_of(self._shapes[claimed.connector], event, self.vault),
                **warnings,
            }
        )

    async def _fail(self, claimed: ClaimedPosition, event: Row[Any], attempt: DeliveryAttempt) -> None:
        """Try the event again later, or give the webhook up."""
        reason = "gone" if attempt.gone else "failing" if await self._fails_for_days(claimed) else None
        if reason is not None:
            await self.webhooks.disable(claimed.webhook_id, reason)
            log.warning("a webhook is disabled", webhook_id=claimed.webhook_id, reason=reason)
        # Only the first of several failures is recorded: an address that is away would fill the history.
        if reason is not None or not claimed.failures:
            await self._record(claimed, event, attempt, FAILED if reason is None else DISABLED)
        pause = pause_after(claimed.failures, attempt.retry_after)
        await self.positions.defer(claimed, pause, attempt.result, attempt.status)

    async def _fails_for_days(self, claimed: ClaimedPosition) -> bool:
        """Whether nothing was accepted for so long that there is no receiver any more."""
        long = self.positions.failing_seconds(claimed) >= DISABLED_AFTER_SECONDS
        return long and not await self.positions.accepts_others(claimed)

    async def _record(self, claimed: ClaimedPosition, event: Row[Any], attempt: DeliveryAttempt, code: str) -> None:
        run = Run("webhook", status="error", http_status=attempt.status, code=code)
        run.details = [
            {
                "webhook_id": claimed.webhook_id,
                "event_id": event.event_id,
                "observed_at": format_timestamp(utc_datetime(event.observed_at)),
                "result": attempt.result,
            }
        ]
        # Receivers put secrets into the paths of their addresses; the webhook's identifier says which one it is.
        run.trace.requests.append(
            RequestRecord(
                self.clock.now(), "POST", HIDDEN, attempt.status, wait_ms=0.0, duration_ms=attempt.duration_ms
            )
        )
        recording = self.runs.record(
            run, claimed.workspace_id, claimed.connector, DELIVER, connection_id=claimed.connection_id
        )
        await recording.close()


def _event_shapes(connectors: Mapping[str, AnyConnector]) -> dict[str, Any]:
    return {
        name: operation.item
        for name, connector in connectors.items()
        for operation in connector.operations
        if operation.name == READ_EVENTS
    }


def pause_after(failures: int, asked: float = 0.0) -> float:
    """Seconds until the next attempt after one failed that so many *failures* had gone before."""
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 20), LONGEST_PAUSE_SECONDS)
    return max(min(asked, LONGEST_PAUSE_SECONDS), pause * _random.uniform(0.8, 1.0))
