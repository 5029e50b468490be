"""Trello's rate limits: 100 requests per token and 300 per key in 10 seconds, 100 member requests per token in 900."""

from collections.abc import Iterator
from dataclasses import dataclass

from workspace_sandbox.boards.error_responses import ApiError, limit_exceeded
from workspace_sandbox.kit import rate_limits
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import Budgets

REJECTIONS = rate_limits.Budget(200, 10.0)
"""The maximum of rejected requests per key.

If a key exceeds it, all its requests are rejected for the rest of the period.
"""

MEMBER_ROUTES = ("/1/members", "/1/search")


@dataclass(frozen=True)
class NamedBudget(rate_limits.Budget):
    """A documented budget, with its name in headers and its error."""

    name: str = ""
    error: str = ""
    message: str = "Rate limit exceeded"


TOKEN = NamedBudget(100, 10.0, name="api-token", error="API_TOKEN_LIMIT_EXCEEDED")
KEY = NamedBudget(300, 10.0, name="api-key", error="API_KEY_LIMIT_EXCEEDED")
MEMBER = NamedBudget(100, 900.0, name="member", error="RATE_LIMIT_EXCEEDED", message="Exceeded rate limit to /1/member")


@dataclass(frozen=True, slots=True)
class BudgetKey:
    """The owners of the budgets that a request uses, and the units."""

    key: str | None
    token: str | None
    requests: int = 1
    member_requests: int = 0

    def charges(self) -> Iterator[tuple[NamedBudget, str, int]]:
        """Return the budgets with their owners and units."""
        # All tokens of a key share its budget: three busy accounts are enough to use it up.
        all_charges = (
            (TOKEN, self.token, self.requests),
            (KEY, self.key, self.requests),
            (MEMBER, self.token, self.member_requests),
        )
        return ((budget, owner, units) for budget, owner, units in all_charges if owner and units)


class RateLimiter:
    """The rate limits of an emulator."""

    def __init__(self, context: EmulatorContext) -> None:
        self._budgets = Budgets(context)

    def charge(self, budget_key: BudgetKey) -> None:
        """Use units of every budget, or raise an error without using any."""
        if not self._budgets.is_enabled:
            return
        key, charges = budget_key.key or "", list(budget_key.charges())
        # More than 200 rejected requests of a key within ten seconds block the key, also for other members. Trello
        # documents this on its page "Rate limits", and a client that retries without waiting must be affected by it.
        if self._budgets.block_seconds(key):
            raise limit_exceeded(KEY.error, KEY.message)
        for budget, owner, units in charges:
            if self._budgets.remaining(budget, owner) < units:
                raise self._strike(key, budget)
        for budget, owner, units in charges:
            self._budgets.spend(budget, owner, units)

    def headers(self, budget_key: BudgetKey) -> dict[str, str]:
        """Return the vendor's headers with the budgets."""
        remaining = {budget: self._budgets.remaining(budget, owner) for budget, owner, _ in budget_key.charges()}
        # Trello documents no ``Retry-After``, so clients must work without it.
        budgets = (TOKEN, KEY, MEMBER) if budget_key.member_requests else (TOKEN, KEY)
        return {
            f"x-rate-limit-{budget.name}-{name}": str(int(value))
            for budget in budgets
            for name, value in {
                "interval-ms": budget.per_seconds * 1000,
                "max": self._budgets.limit(budget),
                "remaining": remaining.get(budget, self._budgets.limit(budget)),
            }.items()
        }

    def _strike(self, key: str, budget: NamedBudget) -> ApiError:
        if wait := self._budgets.spend(REJECTIONS, key):
            self._budgets.block(key, wait)
        return limit_exceeded(budget.error, budget.message)
