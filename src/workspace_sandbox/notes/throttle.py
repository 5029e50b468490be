"""How many requests a connection may make."""

import math

from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import TokenBucket
from workspace_sandbox.notes import wire

RATE = 3.0
BURST = 10.0
"""Requests of a connection: three a second on average, and so many at once."""


class Limits:
    """What every connection has left."""

    def __init__(self, stage: EmulatorContext) -> None:
        self._stage = stage
        self.buckets: dict[str, TokenBucket] = {}

    def spend(self, token: str) -> None:
        """Count a request with *token*."""
        if self._stage.knobs["limits"]:
            wait = self.buckets.setdefault(token, TokenBucket(RATE, BURST)).take(self._stage.clock.now())
            if wait:
                raise wire.rate_limited(math.ceil(wait))
