"""How often the vendor may be asked: per base, per token and per month."""

import math
from dataclasses import dataclass, field

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.kit.throttling import SlidingWindow
from workspace_sandbox.tables.wire import Refusal, billing_limit_exceeded, rate_limited

PER_BASE = 5
PER_TOKEN = 50
SECOND = 1.0


@dataclass(slots=True)
class Limits:
    """What was spent; a base that was asked too often stays closed for a while, and is not asked longer for asking."""

    stage: Stage
    _tokens: dict[str, SlidingWindow] = field(default_factory=dict)
    _bases: dict[str, SlidingWindow] = field(default_factory=dict)
    _closed: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Since when each base is closed, and for how many seconds."""

    _calls: int = 0

    def spend_token(self, token: str) -> None:
        """Count a request of *token*, and of the month."""
        most = self.stage.knobs["monthly_calls"]
        if most is not None and self._calls >= most:
            # A 429 as well, although no waiting helps before the month ends.
            raise billing_limit_exceeded(self.stage.knobs["throttle_envelope"])
        wait = self._take(self._tokens, token, PER_TOKEN)
        if wait:
            raise self.refusal(wait)
        self._calls += 1

    def spend_base(self, base_id: str) -> None:
        """Count a request to a base; one too many closes it."""
        if not self.stage.knobs["limits"]:
            return
        now = self.stage.clock.now()
        since, seconds = self._closed.get(base_id, (now, 0.0))
        if not has_passed(seconds, since, now):
            raise self.refusal(since + seconds - now)
        if self._take(self._bases, base_id, PER_BASE):
            seconds = float(self.stage.knobs["lockout_seconds"])
            # One request too many costs half a minute ("Rate limits"), and for everybody who works in this base.
            self._closed[base_id] = now, seconds
            raise self.refusal(seconds)

    def _take(self, windows: dict[str, SlidingWindow], key: str, most: int) -> float:
        if not self.stage.knobs["limits"]:
            return 0.0
        window = windows.setdefault(key, SlidingWindow(most, SECOND))
        return window.take(self.stage.clock.now())

    def refusal(self, wait: float) -> Refusal:
        """What is answered who has to *wait* for so many seconds."""
        # Airtable documents no such header for this refusal; some clients report one. The knob plays both.
        headers = {"Retry-After": str(max(1, math.ceil(wait)))} if self.stage.knobs["retry_after"] else {}
        return rate_limited(self.stage.knobs["throttle_envelope"], headers)
