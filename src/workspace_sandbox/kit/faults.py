"""What testers let go wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

FaultKind = Literal["status", "delay", "drop_before", "drop_after", "garbage", "slow_body"]


@dataclass(slots=True)
class Fault:
    """Something that goes wrong with the next ``times`` requests that match.

    ``status`` answers with ``status``, ``headers`` and ``body`` and writes nothing.
    ``delay`` waits ``seconds``, then serves as usual, even when the caller has gone.
    ``drop_before`` cuts the connection and writes nothing; ``drop_after`` serves, then cuts before the answer.
    ``garbage`` serves, then answers with something that is not JSON.
    ``slow_body`` serves, then lets the body trickle over ``seconds``.
    """

    fault: FaultKind
    times: int = 1
    method: str | None = None
    path: str = "/"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = ""
    seconds: float = 0.0

    def matches(self, request: web.Request) -> bool:
        """Whether *request* is one of those this fault is for."""
        return self.times > 0 and self.method in {None, request.method} and request.path.startswith(self.path)

    def answer(self) -> web.Response:
        """The answer of a ``status`` fault."""
        if isinstance(self.body, str):
            return web.Response(status=self.status, headers=self.headers, text=self.body)
        return web.json_response(self.body, status=self.status, headers=self.headers)
