"""The delivery worker: sends due events to webhooks, in order per connection, until they are accepted."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Any, Self

import structlog
from pydantic_core import to_json
from sqlalchemy import Row

from connector_gateway.core.events.feed import to_event
from connector_gateway.core.history.run_filters import DELIVER
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.core.outbound_webhooks.delivery_positions import (
    MAX_PER_WEBHOOK,
    ClaimedPosition,
    ClaimLost,
    DeliveryPositions,
)
from connector_gateway.core.outbound_webhooks.sender import DeliveryAttempt, WebhookSender
from connector_gateway.core.outbound_webhooks.signing import sign
from connector_gateway.core.outbound_webhooks.subscriptions import Webhooks
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.events import READ_EVENTS
from connector_gateway.kit.models import format_timestamp
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.kit.upstream.client import RequestRecord

TICK_SECONDS = 0.5
"""Seconds between two attempts to claim due positions."""

MAX_ACTIVE = 50
"""The maximum number of active positions per process. With ``STEP`` it limits the memory for events."""

BATCH_SIZE = 10
"""The number of events that are read together."""

MAX_BATCHES = 10
"""The number of consecutive steps for one position before other positions are served."""

FIRST_BACKOFF_SECONDS = 5.0
MAX_BACKOFF_SECONDS = 3 * 60 * 60.0
"""The maximum delay. The first one is ``FIRST_PAUSE_SECONDS``, and each is twice the previous one, minus up to a fifth.

This makes twelve attempts in the first six hours, and one every three hours after that.
"""

SKIP_AFTER_SECONDS = 24 * 60 * 60.0
"""Seconds for which one event is tried before the next event is tried too.

If the next one is accepted, the receiver works and only the first event is rejected.
"""

DISABLE_AFTER_SECONDS = 3 * 24 * 60 * 60.0
"""Seconds for which one event is tried before its webhook is disabled.

A webhook that accepts events of other connections is not disabled.
"""

FAILED = "delivery_failed"
DISABLED = "webhook_disabled"
SKIPPED = "event_left_out"

_random = SystemRandom()
HIDDEN = "/…"

log = structlog.get_logger()


@dataclass(eq=False, repr=False, kw_only=True)
class DeliveryWorker:
    """Delivers events while it is open, sharing the work with the other processes."""

    positions: DeliveryPositions
    webhooks: Webhooks
    sender: WebhookSender
    runs: RunStore
    vault: Vault
    connectors: Mapping[str, AnyConnector]
    clock: Clock

    _active: dict[asyncio.Task[None], ClaimedPosition] = field(init=False, default_factory=dict)
    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """The number of attempts by connector and result."""

    def __post_init__(self) -> None:
        self._shapes = _event_shapes(self.connectors)

    async def __aenter__(self) -> Self:
        await self.sender.__aenter__()
        self._delivery_task = asyncio.create_task(self._delivery_loop(), name="deliverer")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._delivery_task)
        tasks = dict(self._active)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # If storage is unavailable, the positions are due again when their claims end.
        with suppress(StorageUnavailable):
            await self.positions.release(tasks.values())
        await self.sender.__aexit__()

    async def deliver(self) -> int:
        """Start the due deliveries, up to the limit. Returns the number of positions."""
        busy = Counter(claimed.webhook_id for claimed in self._active.values())
        headroom = MAX_ACTIVE - len(self._active)
        claims = (
            await self.positions.claim(headroom, [name for name, count in busy.items() if count >= MAX_PER_WEBHOOK])
            if headroom
            else []
        )
        for claimed in claims:
            task = asyncio.create_task(self._deliver_from(claimed), name="delivery")
            self._active[task] = claimed
            task.add_done_callback(self._active.pop)
        return len(claims)

    async def join(self) -> None:
        """Wait until all deliveries have finished."""
        while self._active:
            await asyncio.wait(list(self._active))

    async def _delivery_loop(self) -> None:
        while True:
            if await self._begin():
                # There are probably more due positions, which can start as soon as one delivery has ended.
                await asyncio.wait(list(self._active), timeout=TICK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(TICK_SECONDS)

    async def _begin(self) -> bool:
        """Start the due deliveries. Returns whether any were started and are still active."""
        try:
            return bool(await self.deliver()) and bool(self._active)
        except StorageUnavailable as error:
            log.warning("storage unavailable", job="deliveries", private=error.private)
        except Exception:
            log.exception("starting deliveries failed")
        return False

    async def _deliver_from(self, claimed: ClaimedPosition) -> None:
        """Deliver from one position. After any error, the position is due again when its claim ends."""
        try:
            await self._drain(claimed)
        except ClaimLost:
            pass
        except StorageUnavailable as error:
            log.warning("storage unavailable", job="deliveries", private=error.private)
        except Exception:
            log.exception("delivery failed", webhook_id=claimed.webhook_id)

    async def _drain(self, claimed: ClaimedPosition) -> None:
        """Deliver events in order until one fails, none is left, or other positions should be served."""
        secrets = self.vault.decrypt(claimed.sealed, claimed.webhook_id)["secrets"]
        for _ in range(MAX_BATCHES):
            claimed, events, newest = await self.positions.events(claimed, BATCH_SIZE)
            waiting = iter(events)
            for event in waiting:
                attempt = await self._send(claimed, event, secrets)
                accepted = event if attempt.result == "accepted" else None
                if accepted is None and self._may_skip(claimed, attempt):
                    accepted = await self._try_next_event(claimed, event, next(waiting, None), secrets)
                if accepted is None:
                    await self._fail(claimed, event, attempt)
                    return
                claimed = await self.positions.advance(claimed, accepted.sequence)
            if len(events) < BATCH_SIZE:
                claimed = claimed.up_to(newest)
                break
        await self.positions.finish(claimed)

    def _may_skip(self, claimed: ClaimedPosition, failed: DeliveryAttempt) -> bool:
        """Return True if an event has failed for so long that it may be the only one that is rejected."""
        return not failed.gone and self.positions.failing_seconds(claimed) >= SKIP_AFTER_SECONDS

    async def _try_next_event(
        self, claimed: ClaimedPosition, event: Row[Any], next_event: Row[Any] | None, secrets: Any
    ) -> Row[Any] | None:
        """Return *next_event* if it is accepted although the event before it has failed.

        Then the receiver works, and rejects only the first event.
        """
        if next_event is None or (await self._send(claimed, next_event, secrets)).result != "accepted":
            return None
        # Try the first event once more, because the receiver may have recovered between the two attempts.
        retried = await self._send(claimed, event, secrets)
        if retried.result != "accepted":
            await self._record(claimed, event, retried, SKIPPED)
        return next_event

    async def _send(self, claimed: ClaimedPosition, event: Row[Any], secrets: Any) -> DeliveryAttempt:
        body = self._message(claimed, event)
        headers = sign(secrets, event.event_id, self.clock.now(), body)
        attempt = await self.sender.send(claimed.url, headers, body)
        self.results[claimed.connector, attempt.result] += 1
        return attempt

    def _message(self, claimed: ClaimedPosition, event: Row[Any]) -> bytes:
        """Return the body of an event's delivery. ``data`` is the event as returned by its connector's events route."""
        warnings = {"warnings": claimed.warnings} if claimed.warnings else {}
        return to_json(
            {
                "type": event.type,
                "timestamp": format_timestamp(utc_datetime(event.observed_at)),
                "connector": claimed.connector,
                "connection_id": claimed.connection_id,
                "data": to_event(self._shapes[claimed.connector], event, self.vault),
                **warnings,
            }
        )

    async def _fail(self, claimed: ClaimedPosition, event: Row[Any], attempt: DeliveryAttempt) -> None:
        """Defer the event, or disable the webhook."""
        reason = "gone" if attempt.gone else "failing" if await self._fails_for_days(claimed) else None
        if reason is not None:
            await self.webhooks.disable(claimed.webhook_id, reason)
            log.warning("webhook disabled", webhook_id=claimed.webhook_id, reason=reason)
        # Record only the first of several failures: an unavailable receiver would fill the history.
        if reason is not None or not claimed.failures:
            await self._record(claimed, event, attempt, FAILED if reason is None else DISABLED)
        delay = retry_delay(claimed.failures, attempt.retry_after)
        await self.positions.defer(claimed, delay, attempt.result, attempt.status)

    async def _fails_for_days(self, claimed: ClaimedPosition) -> bool:
        """Return True if nothing was accepted for so long that the receiver is considered gone."""
        is_long = self.positions.failing_seconds(claimed) >= DISABLE_AFTER_SECONDS
        return is_long and not await self.positions.accepts_others(claimed)

    async def _record(self, claimed: ClaimedPosition, event: Row[Any], attempt: DeliveryAttempt, code: str) -> None:
        started = time.perf_counter() - attempt.duration_ms / 1000
        run = Run("webhook", started=started, status="error", http_status=attempt.status, code=code)
        run.details = [
            {
                "webhook_id": claimed.webhook_id,
                "event_id": event.event_id,
                "observed_at": format_timestamp(utc_datetime(event.observed_at)),
                "result": attempt.result,
            }
        ]
        # Do not record the URL, because receivers put secrets into its path. The identifier names the webhook.
        run.log.requests.append(
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


def retry_delay(failures: int, requested: float = 0.0) -> float:
    """Return the delay in seconds before the next attempt, after a failure that was preceded by *failures* others."""
    delay = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(failures, 20), MAX_BACKOFF_SECONDS)
    return max(min(requested, MAX_BACKOFF_SECONDS), delay * _random.uniform(0.8, 1.0))
