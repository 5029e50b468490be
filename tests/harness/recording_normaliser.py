"""Fixed values instead of those that vary between recordings of calls: equal responses give the same file."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.identifiers import ulid

RECORDED_AT = datetime(2026, 11, 2, 9, tzinfo=UTC).timestamp()
"""The time of the calls in the reference."""

STEP_SECONDS = 300
"""Timestamps are rounded to steps of this length, which is much longer than a recording."""

LONGEST_SECONDS = 7200
"""Longer than any recorded lifetime."""

CHANGING: Mapping[str, Any] = {"duration_ms": 12.5, "wait_ms": 0.02, "next_cursor": "ZkS84yb-…", "mac": "6f1e…"}
"""Fields whose values are replaced, by name."""


class Normaliser:
    """Replaces varying values of one recording that starts now; equal values stay equal."""

    def __init__(self) -> None:
        self._started_at = time.time()
        self._known: dict[str, int] = {}
        self._random = Random()

    def normalised(self, name: str, call: Any) -> Any:
        """Return a *call* with values that depend only on its *name*, unless an earlier call had them."""
        self._random.seed(name)
        return self._replaced(call)

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._field(name, one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._replaced(one) for one in value]
        return self._text(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any) -> Any:
        return CHANGING[name] if name in CHANGING and value is not None else self._replaced(value)

    def _text(self, text: str) -> str:
        text = re.sub(r"(?<=/v1/downloads/).+|(?<=/hooks/notes/).+", "…", text)
        text = re.sub(r"(?<=_)[0-9A-Z]{26}$", self._minted, text)
        text = re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", self._instant, text)
        text = re.sub(r"(?:^|(?<=/p))(\d{10})(\.?)(\d{6})$", self._counted, text)
        return re.sub(r"^[0-9a-f]{24}$|^[0-9a-f]{16}$", self._timed, text)

    def _minted(self, match: re.Match[str]) -> str:
        """Replace identifiers that the gateway creates."""
        return ulid((int(RECORDED_AT * 1000) << 80) + self._number(match[0]))

    def _instant(self, match: re.Match[str]) -> str:
        """Replace timestamps within the recording, and expiry times."""
        after = datetime.fromisoformat(match[0]).timestamp() - self._started_at
        if not -STEP_SECONDS / 2 < after < LONGEST_SECONDS:
            return match[0]
        replaced = utc_datetime(RECORDED_AT + round(after / STEP_SECONDS) * STEP_SECONDS)
        return replaced.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _counted(self, match: re.Match[str]) -> str:
        """Replace identifiers of chat messages, which are their timestamps."""
        if not self._recent(int(match[1])):
            return match[0]
        return f"{int(RECORDED_AT)}{match[2]}{self._number(match[1] + match[3]) % 1_000_000:06}"

    def _timed(self, match: re.Match[str]) -> str:
        """Replace identifiers of boards and mail, which begin with their creation time."""
        digits, unit = (8, 1) if len(match[0]) == 24 else (11, 1000)
        if not self._recent(int(match[0][:digits], 16) / unit):
            return match[0]
        return f"{int(RECORDED_AT * unit):0{digits}x}{match[0][digits:]}"

    def _recent(self, seconds: float) -> bool:
        return abs(seconds - self._started_at) < STEP_SECONDS

    def _number(self, value: str) -> int:
        """Return the replacement of a value."""
        if value not in self._known:
            self._known[value] = self._random.getrandbits(80)
        return self._known[value]
