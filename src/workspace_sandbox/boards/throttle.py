"""Trello's budgets: 100 requests per token and 300 per key in 10 seconds, 100 per token in 900 for member routes."""

from collections.abc import Iterator
from dataclasses import dataclass

from workspace_sandbox.boards.wire import Refusal, exhausted
from workspace_sandbox.kit import throttling
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import Budgets

STRIKES = throttling.Budget(200, 10.0)
"""Refusals of one key; one more, and all its requests are refused until the ten seconds are over."""

MEMBER_ROUTES = ("/1/members", "/1/search")


@dataclass(frozen=True)
class Budget(throttling.Budget):
    """A documented budget with the name its headers carry, and the refusal when it is spent."""

    name: str = ""
    error: str = ""
    message: str = "Rate limit exceeded"


TOKEN = Budget(100, 10.0, name="api-token", error="API_TOKEN_LIMIT_EXCEEDED")
KEY = Budget(300, 10.0, name="api-key", error="API_KEY_LIMIT_EXCEEDED")
MEMBER = Budget(100, 900.0, name="member", error="RATE_LIMIT_EXCEEDED", message="Exceeded rate limit to /1/member")


@dataclass(frozen=True, slots=True)
class BudgetKey:
    """Whose budgets a request spends, and how much of them."""

    key: str | None
    token: str | None
    requests: int = 1
    member_requests: int = 0

    def claims(self) -> Iterator[tuple[Budget, str, int]]:
        """Return the budgets that it spends, their owners and the units."""
        # A key is spent by all tokens under it: three busy accounts are enough to use up what the application has.
        wanted = (
            (TOKEN, self.token, self.requests),
            (KEY, self.key, self.requests),
            (MEMBER, self.token, self.member_requests),
        )
        return ((budget, owner, units) for budget, owner, units in wanted if owner and units)


class Throttle:
    """All budgets of an emulator."""

    def __init__(self, stage: EmulatorContext) -> None:
        self._budgets = Budgets(stage)

    def spend(self, spender: BudgetKey) -> None:
        """Spend from every budget, or refuse and spend from none."""
        if not self._budgets.count:
            return
        key, claims = spender.key or "", list(spender.claims())
        # More than 200 refusals of one key within ten seconds close the key, also for members who sent nothing.
        # Trello tells this on its page "Rate limits"; a client that resends without waiting must feel it here.
        if self._budgets.closed(key):
            raise exhausted(KEY.error, KEY.message)
        for budget, owner, units in claims:
            if self._budgets.remaining(budget, owner) < units:
                raise self._strike(key, budget)
        for budget, owner, units in claims:
            self._budgets.take(budget, owner, units)

    def headers(self, spender: BudgetKey) -> dict[str, str]:
        """Return what the vendor tells about the budgets in every answer."""
        told = {budget: self._budgets.remaining(budget, owner) for budget, owner, _ in spender.claims()}
        # No ``Retry-After`` beside them: Trello documents none, so a client must be able to do without.
        shown = (TOKEN, KEY, MEMBER) if spender.member_requests else (TOKEN, KEY)
        return {
            f"x-rate-limit-{budget.name}-{name}": str(int(value))
            for budget in shown
            for name, value in {
                "interval-ms": budget.per_seconds * 1000,
                "max": self._budgets.limit(budget),
                "remaining": told.get(budget, self._budgets.limit(budget)),
            }.items()
        }

    def _strike(self, key: str, budget: Budget) -> Refusal:
        if wait := self._budgets.take(STRIKES, key):
            self._budgets.close(key, wait)
        return exhausted(budget.error, budget.message)
