"""Usage of upstream budgets in this process: sent units and queued requests of the last minutes.

Every upstream request updates it, so an update is only an addition. The remaining budget is read from the shared
counters on demand.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.kit.upstream.client import RequestRecord
from connector_gateway.storage.shared.interface import ResolvedCharge, SharedState

BUCKET_SECONDS = 5.0
MAX_BUCKETS = 60
"""Maximum time buckets per budget."""

MAX_BUDGETS = 500
"""Maximum budgets in memory. The oldest is dropped first."""


@dataclass(slots=True)
class TimeBucket:
    """The usage of a budget during ``SLOT_SECONDS``."""

    number: int
    sent: float = 0.0
    """Charged units."""

    waiting: int = 0
    """Maximum number of queued requests."""

    waiting_at_end: int = 0
    """Number of queued requests at the end."""


@dataclass(slots=True)
class BudgetMeter:
    """The usage of one budget."""

    charge: ResolvedCharge
    connection_id: str
    """The connection that used it last. Others might share it."""

    waiting: int = 0
    slots: deque[TimeBucket] = field(default_factory=lambda: deque(maxlen=MAX_BUCKETS))

    def slot(self, now: float) -> TimeBucket:
        """Return the current bucket."""
        number = int(now // BUCKET_SECONDS)
        if not self.slots or self.slots[-1].number != number:
            self.slots.append(TimeBucket(number, waiting=self.waiting, waiting_at_end=self.waiting))
        return self.slots[-1]

    def queue(self, change: int, now: float) -> None:
        """Add *change* to the number of queued requests."""
        # The bucket is created before the change, so that it includes the requests queued at its start.
        slot = self.slot(now)
        self.waiting += change
        slot.waiting, slot.waiting_at_end = max(slot.waiting, self.waiting), self.waiting

    def history(self, now: float) -> Sequence[TimeBucket]:
        """Return all buckets up to now, including empty ones."""
        last, existing = int(now // BUCKET_SECONDS), {slot.number: slot for slot in self.slots}
        slots, queued = [], 0
        for number in range(last - MAX_BUCKETS + 1, last + 1):
            slot = existing.get(number) or TimeBucket(number, waiting=queued, waiting_at_end=queued)
            slots.append(slot)
            queued = slot.waiting_at_end
        return slots


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """The limit of one budget, and its usage during the last minutes."""

    connector: str
    budget: str
    scope_key: str
    """The account, app or other scope to which it applies, as named in the shared counters."""

    connection_id: str
    limit: float
    per_seconds: float
    waiting: int
    history: Sequence[TimeBucket]
    charge: ResolvedCharge = field(repr=False)
    """The charge with which the shared counters are queried."""


def _sort_key(use: BudgetUsage) -> tuple[object, ...]:
    """Return the sort key of a budget: requests queued now, queued recently, and the used share of the limit."""
    waited = max(slot.waiting for slot in use.history)
    allowed = use.limit * max(1.0, MAX_BUCKETS * BUCKET_SECONDS / use.per_seconds)
    sent = sum(slot.sent for slot in use.history)
    return -use.waiting, -waited, -sent / allowed, use.connector, use.budget, use.scope_key


@dataclass(slots=True)
class RequestStats:
    """Requests to one vendor since the process started."""

    statuses: Counter[int | None] = field(default_factory=Counter)
    """Number of requests by status. None stands for a missing response."""

    durations: DurationHistogram = field(default_factory=DurationHistogram)


@dataclass(slots=True)
class QueueStats:
    """Queueing for one budget of all accounts since the process started."""

    waiting: int = 0
    throttled: int = 0
    """Number of requests that the vendor throttled because of this budget."""

    wait_durations: DurationHistogram = field(default_factory=DurationHistogram)


class UsageTracker:
    """Records and reports the usage of upstream budgets."""

    def __init__(self, shared: SharedState, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._meters: dict[str, BudgetMeter] = {}
        self.requests: dict[str, RequestStats] = defaultdict(RequestStats)
        """Request statistics by connector."""

        self.queues: dict[tuple[str, str], QueueStats] = defaultdict(QueueStats)
        """Queue statistics by connector and declared budget."""

    def record_sent(self, charges: Sequence[ResolvedCharge], connection_id: str) -> None:
        """Record that a request was sent."""
        now = self._clock.now()
        for charge in charges:
            self._meter(charge, connection_id).slot(now).sent += charge.units

    @contextmanager
    def track_waiting(self, charges: Sequence[ResolvedCharge], connection_id: str) -> Iterator[None]:
        """Record that a request is queued, within the context."""
        meters = [self._meter(charge, connection_id) for charge in charges]
        queues, began = [self._queue(charge) for charge in charges], self._clock.now()
        for meter, queue in zip(meters, queues, strict=True):
            meter.queue(1, began)
            queue.waiting += 1
        try:
            yield
        finally:
            ended = self._clock.now()
            for meter, queue in zip(meters, queues, strict=True):
                meter.queue(-1, ended)
                queue.waiting -= 1
                queue.wait_durations.observe(ended - began)

    def record_throttled(self, charges: Sequence[ResolvedCharge]) -> None:
        """Record that the vendor throttled a request because of these budgets."""
        for charge in charges:
            self._queue(charge).throttled += 1

    def record_response(self, connector: str, request: RequestRecord) -> None:
        """Record the response to a request."""
        stats = self.requests[connector]
        stats.statuses[request.status] += 1
        stats.durations.observe(request.duration_ms / 1000)

    def _queue(self, charge: ResolvedCharge) -> QueueStats:
        _, connector, budget, _ = charge.name.split(":", 3)
        return self.queues[connector, budget]

    def list(self, connection_ids: Collection[str] | None = None) -> Sequence[BudgetUsage]:
        """Return the budgets used in the last minutes, busiest first, optionally only those of *connection_ids*."""
        oldest = int(self._clock.now() // BUCKET_SECONDS) - MAX_BUCKETS
        active = [meter for meter in self._meters.values() if meter.waiting or meter.slots[-1].number > oldest]
        usages = [
            self._to_usage(meter) for meter in active if connection_ids is None or meter.connection_id in connection_ids
        ]
        return sorted(usages, key=_sort_key)

    async def remaining(self, use: BudgetUsage) -> float:
        """Return the remaining units of a budget. It queries the shared counters, so call it only if needed."""
        return (await self._shared.peek(use.charge)).remaining

    def _to_usage(self, meter: BudgetMeter) -> BudgetUsage:
        _, connector, budget, scope_key = meter.charge.name.split(":", 3)
        return BudgetUsage(
            connector=connector,
            budget=budget,
            scope_key=scope_key,
            connection_id=meter.connection_id,
            limit=meter.charge.budget.limit,
            per_seconds=meter.charge.budget.per_seconds,
            waiting=meter.waiting,
            history=meter.history(self._clock.now()),
            charge=meter.charge,
        )

    def _meter(self, charge: ResolvedCharge, connection_id: str) -> BudgetMeter:
        meter = self._meters.get(charge.name)
        if meter is None:
            if len(self._meters) >= MAX_BUDGETS:
                del self._meters[next(iter(self._meters))]
            meter = self._meters[charge.name] = BudgetMeter(charge, connection_id)
        meter.charge, meter.connection_id = charge, connection_id
        return meter
