"""The rate limit of a connection."""

import math

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import TokenBucket
from workspace_sandbox.notes import error_responses

RATE = 3.0
BURST = 10.0
"""The burst size. The average rate is three requests per second."""


class RateLimiter:
    """The token buckets of all connections."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self.buckets: dict[str, TokenBucket] = {}

    def charge(self, token: str) -> None:
        """Charge a request to *token*."""
        if self._context.knobs["limits"]:
            wait = self.buckets.setdefault(token, TokenBucket(RATE, BURST)).spend(self._context.clock.now())
            if wait:
                raise error_responses.rate_limited(math.ceil(wait))
