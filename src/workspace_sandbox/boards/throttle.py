"""Trello's budgets: 100 requests per token and 300 per key in 10 seconds, 100 per token in 900 for member routes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from workspace_sandbox.boards.wire import Refusal, exhausted
from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.throttling import SlidingWindow

STRIKES = 200
"""Refusals of one key in 10 seconds; one more, and all its requests are refused until those seconds are over."""

STRIKES_SECONDS = 10.0

MEMBER_ROUTES = ("/1/members", "/1/search")


@dataclass(frozen=True, slots=True)
class Budget:
    """A documented budget, the name its headers carry, and the refusal when it is spent."""

    name: str
    limit: int
    per_seconds: float
    error: str
    message: str = "Rate limit exceeded"

    def window(self) -> SlidingWindow:
        """A window of this budget, unspent."""
        return SlidingWindow(self.limit, self.per_seconds)


TOKEN = Budget("api-token", 100, 10.0, "API_TOKEN_LIMIT_EXCEEDED")
KEY = Budget("api-key", 300, 10.0, "API_KEY_LIMIT_EXCEEDED")
MEMBER = Budget("member", 100, 900.0, "RATE_LIMIT_EXCEEDED", "Exceeded rate limit to /1/member")


@dataclass(frozen=True, slots=True)
class Spender:
    """Whose budgets a request spends, and how much of them."""

    key: str | None
    token: str | None
    requests: int = 1
    member_requests: int = 0


class Throttle:
    """All windows of an emulator."""

    def __init__(self) -> None:
        self._windows: dict[Budget, defaultdict[str, SlidingWindow]] = {
            budget: defaultdict(budget.window) for budget in (TOKEN, KEY, MEMBER)
        }
        self._strikes: dict[str, tuple[float, int]] = {}

    def spend(self, spender: Spender, now: float) -> None:
        """Spend from every budget, or refuse and spend from none."""
        # More than 200 refusals of one key within ten seconds close the key, also for members who sent nothing.
        # Trello tells this on its page "Rate limits"; a client that resends without waiting must feel it here.
        if self._locked_out(spender.key, now):
            raise self._refuse(spender.key, KEY, now)
        claims = list(self._claims(spender))
        for budget, window, units in claims:
            if window.remaining(now) < units:
                raise self._refuse(spender.key, budget, now)
        for _, window, units in claims:
            window.take(now, units)

    def headers(self, spender: Spender, now: float) -> dict[str, str]:
        """What the vendor tells about the budgets in every answer."""
        told = {budget: window.remaining(now) for budget, window, _ in self._claims(spender)}
        # No ``Retry-After`` beside them: Trello documents none, so a client must be able to do without.
        shown = (TOKEN, KEY, MEMBER) if spender.member_requests else (TOKEN, KEY)
        return {
            f"x-rate-limit-{budget.name}-{name}": str(int(value))
            for budget in shown
            for name, value in {
                "interval-ms": budget.per_seconds * 1000,
                "max": budget.limit,
                "remaining": told.get(budget, budget.limit),
            }.items()
        }

    def _claims(self, spender: Spender) -> Iterator[tuple[Budget, SlidingWindow, int]]:
        # A key is spent by all tokens under it: three busy accounts are enough to use up what the application has.
        wanted = (
            (TOKEN, spender.token, spender.requests),
            (KEY, spender.key, spender.requests),
            (MEMBER, spender.token, spender.member_requests),
        )
        for budget, owner, units in wanted:
            if owner and units:
                yield budget, self._windows[budget][owner], units

    def _locked_out(self, key: str | None, now: float) -> bool:
        return self._struck(key, now)[1] > STRIKES

    def _refuse(self, key: str | None, budget: Budget, now: float) -> Refusal:
        since, count = self._struck(key, now)
        self._strikes[key or ""] = since, count + 1
        return exhausted(budget.error, budget.message)

    def _struck(self, key: str | None, now: float) -> tuple[float, int]:
        """Return since when refusals of a key are counted, and their number."""
        since, count = self._strikes.get(key or "", (now, 0))
        return (now, 0) if has_passed(STRIKES_SECONDS, since, now) else (since, count)
