"""One endpoint of a published document, in one form for all kinds of documents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Schema = Mapping[str, Any] | bool


@dataclass(frozen=True)
class Endpoint:
    """What a document says of one method at one path; ``/`` in front of each schema's *pointer* is its own document."""

    method: str
    path: str
    parameters: Mapping[str, Schema] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    body: Schema | None = None
    """The JSON that is sent, where the document describes one."""
    answers: Mapping[str, Schema | None] = field(default_factory=dict)
    """By status, ``2XX`` or ``default``; None where there is no JSON to describe."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = (part if place % 2 == 0 else None for place, part in enumerate(re.split(r"\{([^}]+)\}", self.path)))
        return re.compile("".join("[^/]+" if part is None else re.escape(part) for part in parts))

    @property
    def names(self) -> int:
        """How many parts of the path stand for anything: the fewest win where several match."""
        return self.path.count("{")

    def serves(self, method: str, path: str) -> bool:
        """Whether such a request is one to this endpoint."""
        return self.method in {"*", method} and self._pattern.fullmatch(path) is not None

    def answer_to(self, status: int) -> tuple[bool, Schema | None]:
        """Whether an answer of *status* is described, and how."""
        for name in (str(status), f"{status // 100}XX", "default"):
            if name in self.answers:
                return True, self.answers[name]
        return False, None
