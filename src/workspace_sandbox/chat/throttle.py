"""What may be called how often: by method and workspace, and for posts by channel."""

from workspace_sandbox.chat.wire import rate_limited
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import Budget, Budgets

TIER_2 = 20
TIER_3 = 50
TIER_4 = 100
SPECIAL = 600
"""Methods the vendor gives "hundreds per minute"."""

POSTS_PER_MINUTE = 300
"""Posts a workspace takes: the vendor says several hundred."""

POSTS = Budget(1, 1.0, burst=5)
"""A channel takes a post a second and, for a short while, a few more."""

RESTRICTED_HISTORY = frozenset({"conversations.history", "conversations.replies"})
RESTRICTED_PER_MINUTE = 1
RESTRICTED_ITEMS = 15
"""Since 2025-05-29, for applications sold outside the vendor's marketplace."""


class Limits:
    """The windows of one workspace, for the one application installed in it."""

    def __init__(self, stage: EmulatorContext) -> None:
        self._stage = stage
        self._budgets = Budgets(stage)

    @property
    def restricted(self) -> bool:
        """Whether the application reads history in the restricted tier."""
        return bool(self._stage.knobs["history_tier"] == "restricted")

    def spend_call(self, method: str, per_minute: int) -> None:
        """Count a call of *method*."""
        # By method alone: how much a connection reads in one channel counts against all others (page "Rate limits").
        if wait := self._budgets.take(Budget(self._per_minute(method, per_minute), 60.0), method):
            raise rate_limited(wait)

    def spend_post(self, channel_id: str) -> None:
        """Count a post into a channel."""
        if wait := self._budgets.take(POSTS, channel_id):
            # With an underscore here and without one elsewhere: the method's page names both spellings.
            raise rate_limited(wait, "rate_limited")

    def items(self, asked: int) -> int:
        """How many messages a history shows for a ``limit``; the restricted tier shortens it and does not say so."""
        return min(asked, RESTRICTED_ITEMS) if self.restricted else asked

    def _per_minute(self, method: str, per_minute: int) -> int:
        if method == "chat.postMessage":
            return int(self._stage.knobs["posts_per_minute"])
        return RESTRICTED_PER_MINUTE if self.restricted and method in RESTRICTED_HISTORY else per_minute
