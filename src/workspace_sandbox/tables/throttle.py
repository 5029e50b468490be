"""Airtable's rate limits per base, token and month."""

from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import Budget, Budgets
from workspace_sandbox.tables.wire import billing_limit_exceeded, throttled

BASE = Budget(5, 1.0)
TOKEN = Budget(50, 1.0)


class Limits:
    """Usage counters. A base over its limit is blocked for a while, and blocked requests do not extend that."""

    def __init__(self, context: EmulatorContext) -> None:
        self.stage = context
        self._budgets = Budgets(context)
        self._calls = 0

    def spend_token(self, token: str) -> None:
        """Charge a request to *token* and to the month."""
        limit = self.stage.knobs["monthly_calls"]
        if limit is not None and self._calls >= limit:
            # The monthly limit has status 429 as well, although waiting does not help before the month ends.
            raise billing_limit_exceeded(self.stage.knobs["throttle_envelope"])
        if wait := self._budgets.take(TOKEN, token):
            raise throttled(self.stage, wait)
        self._calls += 1

    def spend_base(self, base_id: str) -> None:
        """Charge a request to a base. Exceeding the limit blocks the base."""
        if wait := self._budgets.closed(base_id):
            raise throttled(self.stage, wait)
        if self._budgets.take(BASE, base_id):
            # Exceeding the limit blocks the base for everyone for half a minute ("Rate limits").
            self._budgets.close(base_id, self.stage.knobs["lockout_seconds"])
            raise throttled(self.stage, self.stage.knobs["lockout_seconds"])
