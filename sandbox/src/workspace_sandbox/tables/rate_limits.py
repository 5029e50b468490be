"""Airtable's rate limits per base, token and month."""

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import Budget, Budgets
from workspace_sandbox.tables.error_responses import billing_limit_exceeded, throttled

BASE = Budget(5, 1.0)
TOKEN = Budget(50, 1.0)


class RateLimiter:
    """Usage counters. A base over its limit is blocked for a while, and blocked requests do not extend that."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context
        self._budgets = Budgets(context)
        self._calls = 0

    def charge_token(self, token: str) -> None:
        """Charge a request to *token* and to the month."""
        limit = self.context.knobs["monthly_calls"]
        if limit is not None and self._calls >= limit:
            # The monthly limit has status 429 as well, although waiting does not help before the month ends.
            raise billing_limit_exceeded(self.context.knobs["throttle_envelope"])
        if wait := self._budgets.spend(TOKEN, token):
            raise throttled(self.context, wait)
        self._calls += 1

    def charge_base(self, base_id: str) -> None:
        """Charge a request to a base. Exceeding the limit blocks the base."""
        if wait := self._budgets.block_seconds(base_id):
            raise throttled(self.context, wait)
        if self._budgets.spend(BASE, base_id):
            # Exceeding the limit blocks the base for everyone for half a minute ("Rate limits").
            self._budgets.block(base_id, self.context.knobs["lockout_seconds"])
            raise throttled(self.context, self.context.knobs["lockout_seconds"])
