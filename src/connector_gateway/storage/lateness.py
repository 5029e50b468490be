"""How late requests arrive, as their answers tell: each process knows its own way to a third party."""

from connector_gateway.kit.budget import Budget

USUAL_FROM = 10
"""How many answers must come, and a whole window pass, before the quickest answer is trusted."""

GIVEN = 0.01
"""The part of a window that always counts as lateness of an answer, as a margin."""

SLOWER = 1.001
"""The factor by which the quickest time grows with each answer, in case the network has become slower."""


class Lateness:
    """What the quickest answers take; what another takes longer may have been spent on the way there."""

    __slots__ = ("_quickest", "answers")

    def __init__(self) -> None:
        self.answers = 0
        self._quickest = 0.0

    def of(self, took: float, budget: Budget) -> float:
        """By how many seconds a request may have arrived late that was answered after *took* seconds."""
        late = took - self._quickest if self.answers >= max(USUAL_FROM, budget.limit) else took
        self.answers += 1
        self._quickest = took if self.answers == 1 else min(took, self._quickest * SLOWER)
        return min(max(late, min(took, GIVEN * budget.per_seconds)), budget.per_seconds / 2)
