"""An endpoint of a published document, independent of its format."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any] | bool


@dataclass(frozen=True)
class Endpoint:
    """The description of a method at a path."""

    method: str
    path: str
    parameters: Mapping[str, Schema] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    body: Schema | None = None
    """The schema of the JSON body, if described."""
    answers: Mapping[str, Schema | None] = field(default_factory=dict)
    """Schemas by status, ``2XX`` or ``default``. None if there is no JSON."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = (part if index % 2 == 0 else None for index, part in enumerate(re.split(r"\{([^}]+)\}", self.path)))
        return re.compile("".join("[^/]+" if part is None else re.escape(part) for part in parts))

    @property
    def path_params(self) -> int:
        """The number of path parameters. The endpoint with the fewest wins if several match."""
        return self.path.count("{")

    def serves(self, method: str, path: str) -> bool:
        """Return True if a request matches this endpoint."""
        return self.method in {"*", method} and self._pattern.fullmatch(path) is not None

    def response_schema(self, status: int) -> tuple[bool, Schema | None]:
        """Return whether a response with *status* is described, and its schema."""
        for name in (str(status), f"{status // 100}XX", "default"):
            if name in self.answers:
                return True, self.answers[name]
        return False, None
