"""HubSpot's rate limits: per ten seconds and app, per second for searches, and per day for static tokens."""

from collections.abc import Mapping
from datetime import datetime, timezone

from workspace_sandbox.crm.error_responses import too_many
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import Budget, Budgets

BURST = Budget("burst_limit", 10.0)
SEARCHES = Budget("search_limit", 1.0)
PREFIX = "X-HubSpot-RateLimit"


class RateLimiter:
    """Counts the requests of all apps to a portal."""

    def __init__(self, context: EmulatorContext, zone: timezone) -> None:
        self._context = context
        self._zone = zone
        self._budgets = Budgets(context)
        self._day = ""
        self._spent_today = 0

    def count_search(self) -> None:
        """Count a search. The limit is shared by all apps and not included in headers."""
        if self._budgets.spend(SEARCHES, ""):
            # Search responses have no rate-limit headers ("API usage guidelines"), so clients must count themselves.
            raise too_many("SECONDLY", "secondly", {})

    def count(self, app: str, *, daily: bool) -> Mapping[str, str]:
        """Count a request of *app*, optionally in the *daily* budget, and return the rate-limit headers."""
        if not self._budgets.is_enabled:
            return {}
        # Only service keys have a daily budget. OAuth apps have none.
        if daily and self._left_today() <= 0:
            raise too_many("DAILY", "daily", self._headers(app, daily=daily))
        if self._budgets.spend(BURST, app):
            raise too_many("TEN_SECONDLY_ROLLING", "ten_secondly_rolling", self._headers(app, daily=daily))
        self._spent_today += daily
        return self._headers(app, daily=daily)

    def _left_today(self) -> int:
        # The day ends at midnight in the account's time zone, not in UTC.
        day = datetime.fromtimestamp(self._context.now(), self._zone).date().isoformat()
        if day != self._day:
            self._day, self._spent_today = day, 0
        return int(self._context.knobs["daily_limit"]) - self._spent_today

    def _headers(self, app: str, *, daily: bool) -> dict[str, str]:
        headers = {
            f"{PREFIX}-Max": str(int(self._budgets.limit(BURST))),
            f"{PREFIX}-Remaining": str(max(0, self._budgets.remaining(BURST, app))),
            f"{PREFIX}-Interval-Milliseconds": str(int(BURST.per_seconds * 1000)),
        }
        if daily:
            headers[f"{PREFIX}-Daily"] = str(self._context.knobs["daily_limit"])
            headers[f"{PREFIX}-Daily-Remaining"] = str(max(0, self._left_today()))
        return headers
