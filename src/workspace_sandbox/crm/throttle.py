"""The vendor's budgets: ten seconds per application, a second for searches, a day for static tokens."""

from collections.abc import Mapping
from datetime import datetime, timezone

from workspace_sandbox.crm.wire import too_many
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.kit.throttling import SlidingWindow

BURST_SECONDS = 10.0
PREFIX = "X-HubSpot-RateLimit"


class Throttle:
    """Counts the calls of every application on one portal."""

    def __init__(self, stage: Stage, zone: timezone) -> None:
        self._stage = stage
        self._zone = zone
        self._bursts: dict[str, SlidingWindow] = {}
        self._searches = SlidingWindow(stage.knobs["search_limit"], 1.0)
        self._day = ""
        self._spent_today = 0

    def spend_search(self) -> None:
        """Count a search, which all applications share and which no header tells of."""
        if not self._stage.knobs["limits"]:
            return
        self._searches.limit = self._stage.knobs["search_limit"]
        if self._searches.take(self._stage.clock.now()):
            # Searches answer without any budget header ("API usage guidelines"), so a client must count by itself.
            raise too_many("SECONDLY", "secondly", {})

    def spend(self, app: str, *, daily: bool) -> Mapping[str, str]:
        """Count a call of *app* and return the headers that tell what is left; *daily* if the day counts too."""
        if not self._stage.knobs["limits"]:
            return {}
        now = self._stage.clock.now()
        window = self._bursts.setdefault(app, SlidingWindow(0, BURST_SECONDS))
        window.limit = self._stage.knobs["burst_limit"]
        # Only service keys have a day's budget. Applications that were authorised with OAuth have none.
        if daily and self._left_today(now) <= 0:
            raise too_many("DAILY", "daily", self._headers(window, now, daily=daily))
        if window.take(now):
            raise too_many("TEN_SECONDLY_ROLLING", "ten_secondly_rolling", self._headers(window, now, daily=daily))
        self._spent_today += daily
        return self._headers(window, now, daily=daily)

    def _left_today(self, now: float) -> int:
        # The day ends at midnight where the account is, not in UTC.
        day = datetime.fromtimestamp(now, self._zone).date().isoformat()
        if day != self._day:
            self._day, self._spent_today = day, 0
        return int(self._stage.knobs["daily_limit"]) - self._spent_today

    def _headers(self, window: SlidingWindow, now: float, *, daily: bool) -> dict[str, str]:
        headers = {
            f"{PREFIX}-Max": str(window.limit),
            f"{PREFIX}-Remaining": str(max(0, int(window.remaining(now)))),
            f"{PREFIX}-Interval-Milliseconds": str(int(BURST_SECONDS * 1000)),
        }
        if daily:
            headers[f"{PREFIX}-Daily"] = str(self._stage.knobs["daily_limit"])
            headers[f"{PREFIX}-Daily-Remaining"] = str(max(0, self._left_today(now)))
        return headers
