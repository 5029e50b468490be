"""The checks of a connector, and what they find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DECLARATIONS = "declarations"
ONCE = "written-once"
EVIDENCE = "evidence"
KEYS = "released-keys"
SHAPES = "response-shapes"
RECOVERY = "recovery"
CHANGES = "later-changes"
PAGES_END = "page-end"
PAGES_REPEAT = "page-repetition"
BUDGET = "rate-limit"
SECRETS = "secrets"

CHECKS: Mapping[str, str] = {
    DECLARATIONS: "Every operation is described, has valid examples, and does what it declares.",
    ONCE: "A write is carried out once with a key, and sent once without.",
    EVIDENCE: "A search for a lost response finds only the write's own object.",
    KEYS: "Only a response that proves that nothing was done releases a key.",
    SHAPES: "A response of another shape is an error.",
    RECOVERY: "A caller that repeats a write gets its result.",
    CHANGES: "A change is not sent again over a later one.",
    PAGES_END: "The last page ends with the vendor's last item.",
    PAGES_REPEAT: "No item is on two pages.",
    BUDGET: "A burst of calls stays within the vendor's rate limit.",
    SECRETS: "No response, record or log contains the credentials.",
}
"""The checks, in order, and what each of them proves."""


@dataclass(frozen=True)
class Finding:
    """Something that a connector does wrong."""

    check: str
    operation: str
    problem: str
    seed: int | None = None
    """The seed of the history. None if it is not a history's."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    check: str
    findings: Sequence[Finding]
    histories: int
    """The number of histories that it judged."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings
