"""How late requests arrive, as their answers tell: each process knows its own way to a third party."""

from connector_gateway.kit.budget import Budget

USUAL_FROM = 10
"""How many answers must come, and a whole window pass, before the quickest answer is trusted."""

GIVEN = 0.003
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
        # Written out, since ``min`` and ``max`` cost three times as much, and every request comes by (decision 73).
        quickest, answers, window = self._quickest, self.answers, budget.per_seconds
        late = took - quickest if answers >= USUAL_FROM and answers >= budget.limit else took
        self.answers = answers + 1
        slower = quickest * SLOWER
        self._quickest = took if answers == 0 or took < slower else slower
        given = min(took, GIVEN * window)
        late = max(late, given)
        return min(window / 2, late)
