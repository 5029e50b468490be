"""Tables of the responses that prove that a write was not carried out: one per connector, each row with its source.

After a write was sent, only a response in this table shows that nothing was done. Every other response leaves the
write in doubt: an edge in front of the vendor may return any status while the request goes on behind it.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from connector_gateway.kit.errors import Doubt
from connector_gateway.kit.transport import Answer


@dataclass(frozen=True, slots=True)
class Rejection:
    """Responses with which a vendor rejects a request before it changes anything."""

    statuses: Container[int]
    source: str
    """The page of the vendor that says so."""

    codes: str = ".*"
    """A regular expression for the vendor's error code, or for its text if it has no codes; it matches as a whole."""

    ended: bool = False
    """True if the response only proves that the vendor's work has ended, so that a search shows what was done."""

    def matches(self, status: int, code: str) -> bool:
        """Return True if a response with this status and code is one of these."""
        return status in self.statuses and re.fullmatch(self.codes, code, re.DOTALL) is not None


def _unreadable(_: Answer) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Rejections:
    """The table of one connector."""

    code: Callable[[Answer], str | None] = _unreadable
    """Return the error code of a response, or None if it is not an error in the vendor's own shape."""

    rows: Sequence[Rejection] = ()

    def doubt(self, answer: Answer) -> Doubt | None:
        """Return why the outcome of a write with this response is unknown, or None if nothing was done."""
        code = self.code(answer)
        row = None if code is None else next((row for row in self.rows if row.matches(answer.status, code)), None)
        if row is None:
            return "garbled" if answer.accepted else "edge"
        return "failed" if row.ended else None


NO_REJECTIONS = Rejections()
"""The table of a connector that has none: every failed write is in doubt."""
