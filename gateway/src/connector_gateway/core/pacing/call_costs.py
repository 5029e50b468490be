"""The use of the vendors' budgets by calls, to estimate how long those in a queue will take."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from connector_gateway.kit.upstream.budget import Budget, Charge, TypicalRequests
from connector_gateway.storage.shared.interface import CallPosition

MAX_TRACKED = 10_000
"""The number of operations of connections whose costs are remembered."""

SHORT_SECONDS = 1.1
"""The seconds for which each request of a call may miss the others' window, if it is that short."""

WEIGHT = 0.5
"""The weight of the latest call in the mean."""


class CallCost(Struct):
    """The units of each budget, by name, that one call has used, and that calls like it use."""

    position: CallPosition | None = None
    """The position of the call in all queues, from its first request on if its arrival is unknown."""

    name: tuple[str, str] = ("", "")
    """The connection and the operation."""

    typical: Mapping[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    own_seconds: float = 0.0
    """The seconds in which its requests after the first one fit the budgets, one after the other."""

    def add(self, charges: Sequence[Charge], budgets: Mapping[str, Budget]) -> None:
        """Record a request, before it is queued."""
        if self.used:
            self.own_seconds += max([_get_seconds(charge, budgets[charge.budget]) for charge in charges])
        for charge in charges:
            self.used[charge.budget] = self.used.get(charge.budget, 0.0) + charge.units

    def remaining(self, budget: str) -> float:
        """Return the units of *budget* that the call is expected to use after its recorded requests."""
        return max(0.0, self.typical.get(budget, 0.0) - self.used.get(budget, 0.0))


def _get_seconds(charge: Charge, budget: Budget) -> float:
    """Return the seconds in which the units of *charge* become available."""
    # Units that were used together become available together, so a request that comes shortly after waits for the next.
    return max(charge.units * budget.per_seconds / budget.limit, min(budget.per_seconds, SHORT_SECONDS))


class CallCosts:
    """The mean costs of recent calls, beginning with the declared ones."""

    def __init__(self) -> None:
        self._means: dict[tuple[str, str], Mapping[str, float]] = {}

    def start(self, arrived_at: float, connection_id: str, operation: str, requests: TypicalRequests) -> CallCost:
        """Return the cost of a new call of an operation with such *requests*."""
        name = (connection_id, operation)
        mean = self._means.get(name)
        if mean is None:
            # Only the first call fills the caches. Calls that arrive meanwhile share its look-ups.
            self._set_mean(name, requests.warm_units)
            mean = requests.cold_units
        return CallCost(CallPosition(arrived_at), name, mean)

    def record(self, cost: CallCost) -> None:
        """Record a successful call, unless it sent no requests."""
        name, used = cost.name, cost.used
        mean = self._means.get(name)
        # What a call used that filled caches is no example.
        if used and used not in (mean, cost.typical):
            self._set_mean(name, _mix(mean, used) if mean else used)

    def _set_mean(self, name: tuple[str, str], mean: Mapping[str, float]) -> None:
        # Reinserted, so that the first entry is the least recently changed one.
        self._means.pop(name, None)
        self._means[name] = mean
        if len(self._means) > MAX_TRACKED:
            del self._means[next(iter(self._means))]


def _mix(mean: Mapping[str, float], used: Mapping[str, float]) -> Mapping[str, float]:
    budgets = mean.keys() | used.keys()
    return {name: (1 - WEIGHT) * mean.get(name, 0.0) + WEIGHT * used.get(name, 0.0) for name in budgets}
