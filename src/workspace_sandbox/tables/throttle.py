"""How often Airtable may be asked: per base, per token and per month."""

from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import Budget, Budgets
from workspace_sandbox.tables.wire import billing_limit_exceeded, throttled

BASE = Budget(5, 1.0)
TOKEN = Budget(50, 1.0)


class Limits:
    """What was spent; a base that was asked too often stays closed for a while, and is not asked longer for asking."""

    def __init__(self, stage: EmulatorContext) -> None:
        self.stage = stage
        self._budgets = Budgets(stage)
        self._calls = 0

    def spend_token(self, token: str) -> None:
        """Count a request of *token*, and of the month."""
        most = self.stage.knobs["monthly_calls"]
        if most is not None and self._calls >= most:
            # A 429 as well, although no waiting helps before the month ends.
            raise billing_limit_exceeded(self.stage.knobs["throttle_envelope"])
        if wait := self._budgets.take(TOKEN, token):
            raise throttled(self.stage, wait)
        self._calls += 1

    def spend_base(self, base_id: str) -> None:
        """Count a request to a base; one too many closes it."""
        if wait := self._budgets.closed(base_id):
            raise throttled(self.stage, wait)
        if self._budgets.take(BASE, base_id):
            # One request too many costs half a minute ("Rate limits"), and for everybody who works in this base.
            self._budgets.close(base_id, self.stage.knobs["lockout_seconds"])
            raise throttled(self.stage, self.stage.knobs["lockout_seconds"])
