"""Slack's rate limits, by method and workspace, and for posts by channel."""

from workspace_sandbox.chat.error_responses import rate_limited
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import Budget, Budgets

TIER_2 = 20
TIER_3 = 50
TIER_4 = 100
SPECIAL = 600
"""Requests per minute for methods that Slack documents with "hundreds per minute"."""

POSTS_PER_MINUTE = 300
"""Posts per minute in a workspace. Slack documents several hundred."""

POSTS = Budget(1, 1.0, burst=5)
"""A channel accepts a post per second, and short bursts."""

RESTRICTED_HISTORY = frozenset({"conversations.history", "conversations.replies"})
RESTRICTED_PER_MINUTE = 1
RESTRICTED_ITEMS = 15
"""Maximum messages per request since 2025-05-29, for apps that are distributed outside Slack's marketplace."""


class RateLimiter:
    """The rate limits of the app in a workspace."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self._budgets = Budgets(context)

    @property
    def restricted(self) -> bool:
        """Whether the app has the restricted rate limit for history."""
        return bool(self._context.knobs["history_tier"] == "restricted")

    def count_call(self, method: str, per_minute: int) -> None:
        """Count a request to *method*."""
        # Counted per method only: reads of one channel use the budget of all others (page "Rate limits").
        if wait := self._budgets.spend(Budget(self._per_minute(method, per_minute), 60.0), method):
            raise rate_limited(wait)

    def count_post(self, channel_id: str) -> None:
        """Count a post in a channel."""
        if wait := self._budgets.spend(POSTS, channel_id):
            # With an underscore here and without one elsewhere. The method's page documents both spellings.
            raise rate_limited(wait, "rate_limited")

    def items(self, limit: int) -> int:
        """Return the page size of a history for a ``limit``, which the restricted tier reduces without notice."""
        return min(limit, RESTRICTED_ITEMS) if self.restricted else limit

    def _per_minute(self, method: str, per_minute: int) -> int:
        if method == "chat.postMessage":
            return int(self._context.knobs["posts_per_minute"])
        return RESTRICTED_PER_MINUTE if self.restricted and method in RESTRICTED_HISTORY else per_minute
