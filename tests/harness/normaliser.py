"""What changes with each recording of calls, replaced by fixed values: the same answers give the same file."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.identifiers import ulid

RECORDED_AT = datetime(2026, 11, 2, 9, tzinfo=UTC).timestamp()
"""The time of the calls, as the reference shows it."""

STEP_SECONDS = 300
"""Instants are shown in steps of this length, which is far more than a recording takes."""

LONGEST_SECONDS = 7200
"""Longer than anything lasts that is recorded and ends."""

CHANGING: Mapping[str, Any] = {"duration_ms": 12.5, "wait_ms": 0.02, "next_cursor": "ZkS84yb-…", "mac": "6f1e…"}
"""Fields whose values are replaced, by their names."""


class Normaliser:
    """Replaces what identifies one recording that begins now; equal values stay equal."""

    def __init__(self) -> None:
        self._started_at = time.time()
        self._known: dict[str, int] = {}
        self._random = Random()

    def normalised(self, name: str, call: Any) -> Any:
        """A *call*, with values that depend on its *name* alone where they are not those of an earlier call."""
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
        """Identifiers that the gateway mints."""
        return ulid((int(RECORDED_AT * 1000) << 80) + self._number(match[0]))

    def _instant(self, match: re.Match[str]) -> str:
        """Instants within the recording, and the ends of what began in it."""
        after = datetime.fromisoformat(match[0]).timestamp() - self._started_at
        if not -STEP_SECONDS / 2 < after < LONGEST_SECONDS:
            return match[0]
        replaced = utc_datetime(RECORDED_AT + round(after / STEP_SECONDS) * STEP_SECONDS)
        return replaced.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _counted(self, match: re.Match[str]) -> str:
        """Messages of chat, which are named by when they were posted."""
        if not self._recent(int(match[1])):
            return match[0]
        return f"{int(RECORDED_AT)}{match[2]}{self._number(match[1] + match[3]) % 1_000_000:06}"

    def _timed(self, match: re.Match[str]) -> str:
        """Identifiers of boards and mail, which begin with the second or the millisecond in which they were made."""
        digits, unit = (8, 1) if len(match[0]) == 24 else (11, 1000)
        if not self._recent(int(match[0][:digits], 16) / unit):
            return match[0]
        return f"{int(RECORDED_AT * unit):0{digits}x}{match[0][digits:]}"

    def _recent(self, seconds: float) -> bool:
        return abs(seconds - self._started_at) < STEP_SECONDS

    def _number(self, value: str) -> int:
        """What stands for one of the values that are replaced."""
        if value not in self._known:
            self._known[value] = self._random.getrandbits(80)
        return self._known[value]
