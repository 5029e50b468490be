"""How upstream budgets are used: what was sent and how many waited, in this process, in the last minutes.

It is noted with every request upstream, so it costs an addition; what a budget has left is asked of the shared counters
only when somebody looks.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.kit.upstream.client import RequestRecord
from connector_gateway.storage.shared.interface import ResolvedCharge, SharedState

SLOT_SECONDS = 5.0
SLOTS = 60
"""So many slots are remembered."""

MOST = 500
"""Budgets that are remembered; the one that was seen first makes room."""


@dataclass(slots=True)
class TimeBucket:
    """Some seconds of a budget's use."""

    number: int
    sent: float = 0.0
    """Units that were taken."""

    waiting: int = 0
    """How many requests waited for their turn, when it was most."""

    still: int = 0
    """How many of them were left at the end."""


@dataclass(slots=True)
class Meter:
    """What is known of one budget's use."""

    take: ResolvedCharge
    connection_id: str
    """The connection that used it last; others may share it."""

    waiting: int = 0
    slots: deque[TimeBucket] = field(default_factory=lambda: deque(maxlen=SLOTS))

    def slot(self, now: float) -> TimeBucket:
        """The slot of this moment."""
        number = int(now // SLOT_SECONDS)
        if not self.slots or self.slots[-1].number != number:
            self.slots.append(TimeBucket(number, waiting=self.waiting, still=self.waiting))
        return self.slots[-1]

    def queue(self, change: int, now: float) -> None:
        """Note that so many more wait, or less."""
        # The slot is made before the change, since those who waited at its beginning waited in it.
        slot = self.slot(now)
        self.waiting += change
        slot.waiting, slot.still = max(slot.waiting, self.waiting), self.waiting

    def history(self, now: float) -> Sequence[TimeBucket]:
        """All slots up to this moment, those too in which nothing happened."""
        last, known = int(now // SLOT_SECONDS), {slot.number: slot for slot in self.slots}
        slots, still = [], 0
        for number in range(last - SLOTS + 1, last + 1):
            slot = known.get(number) or TimeBucket(number, waiting=still, still=still)
            slots.append(slot)
            still = slot.still
        return slots


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """One budget: what it allows, and its last minutes."""

    connector: str
    budget: str
    whose: str
    """The account, application or place that it is counted for, as the shared counters call it."""

    connection_id: str
    limit: float
    per_seconds: float
    waiting: int
    history: Sequence[TimeBucket]
    take: ResolvedCharge = field(repr=False)
    """What asks the shared counters for it."""


def _idleness(use: BudgetUsage) -> tuple[object, ...]:
    """What budgets are ordered by: who waits, who has waited, and how much was sent of what is allowed."""
    waited = max(slot.waiting for slot in use.history)
    allowed = use.limit * max(1.0, SLOTS * SLOT_SECONDS / use.per_seconds)
    sent = sum(slot.sent for slot in use.history)
    return -use.waiting, -waited, -sent / allowed, use.connector, use.budget, use.whose


@dataclass(slots=True)
class RequestStats:
    """What was sent to one third party since the process began."""

    statuses: Counter[int | None] = field(default_factory=Counter)
    """How many requests got which status; None where no answer came."""

    took: DurationHistogram = field(default_factory=DurationHistogram)


@dataclass(slots=True)
class QueueStats:
    """How one budget was queued for since the process began, whichever account it was."""

    waiting: int = 0
    throttled: int = 0
    """How often the third party refused a request because of this budget."""

    waited: DurationHistogram = field(default_factory=DurationHistogram)


class UsageTracker:
    """Notes the use of upstream budgets, and tells it."""

    def __init__(self, shared: SharedState, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._meters: dict[str, Meter] = {}
        self.requests: dict[str, RequestStats] = defaultdict(RequestStats)
        """By connector."""

        self.queues: dict[tuple[str, str], QueueStats] = defaultdict(QueueStats)
        """By connector and budget: there are as many as are declared."""

    def record_sent(self, takes: Sequence[ResolvedCharge], connection_id: str) -> None:
        """Note that a request was let through."""
        now = self._clock.now()
        for take in takes:
            self._meter(take, connection_id).slot(now).sent += take.units

    @contextmanager
    def waiting(self, takes: Sequence[ResolvedCharge], connection_id: str) -> Iterator[None]:
        """Note that a request waits for its turn while inside."""
        meters = [self._meter(take, connection_id) for take in takes]
        queues, began = [self._queue(take) for take in takes], self._clock.now()
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
                queue.waited.observe(ended - began)

    def throttled(self, takes: Sequence[ResolvedCharge]) -> None:
        """Note that the third party refused a request because of these budgets."""
        for take in takes:
            self._queue(take).throttled += 1

    def record_response(self, connector: str, exchange: RequestRecord) -> None:
        """Note that a request was sent, and how it ended."""
        requests = self.requests[connector]
        requests.statuses[exchange.status] += 1
        requests.took.observe(exchange.duration_ms / 1000)

    def _queue(self, take: ResolvedCharge) -> QueueStats:
        _, connector, budget, _ = take.name.split(":", 3)
        return self.queues[connector, budget]

    def list(self, connection_ids: Collection[str] | None = None) -> Sequence[BudgetUsage]:
        """The budgets that were used in the last minutes, the busiest first; of some connections."""
        oldest = int(self._clock.now() // SLOT_SECONDS) - SLOTS
        seen = [meter for meter in self._meters.values() if meter.waiting or meter.slots[-1].number > oldest]
        uses = [self._use(meter) for meter in seen if connection_ids is None or meter.connection_id in connection_ids]
        return sorted(uses, key=_idleness)

    async def remaining(self, use: BudgetUsage) -> float:
        """What is left of a budget now: asked of the shared counters, so only for budgets that are shown."""
        return (await self._shared.peek(use.take)).remaining

    def _use(self, meter: Meter) -> BudgetUsage:
        _, connector, budget, whose = meter.take.name.split(":", 3)
        return BudgetUsage(
            connector=connector,
            budget=budget,
            whose=whose,
            connection_id=meter.connection_id,
            limit=meter.take.budget.limit,
            per_seconds=meter.take.budget.per_seconds,
            waiting=meter.waiting,
            history=meter.history(self._clock.now()),
            take=meter.take,
        )

    def _meter(self, take: ResolvedCharge, connection_id: str) -> Meter:
        meter = self._meters.get(take.name)
        if meter is None:
            if len(self._meters) >= MOST:
                del self._meters[next(iter(self._meters))]
            meter = self._meters[take.name] = Meter(take, connection_id)
        meter.take, meter.connection_id = take, connection_id
        return meter
