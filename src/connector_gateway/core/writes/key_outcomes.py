"""Outcomes of idempotency keys: the sentences about them on every surface."""

from collections.abc import Mapping
from typing import Any

OUTCOMES: Mapping[str, str] = {
    "first": "This was the first call with the key.",
    "replayed": "The result of {first_run_id} was returned again; nothing was sent.",
    "recovered": "An earlier call with the key had not finished; this call completed it.",
    "unfinished": "The call ended before the write was finished.",
}
"""Meaning of ``idempotency.outcome`` in a run."""


def describe_outcome(idempotency: Mapping[str, Any]) -> str:
    """Return the outcome of a run's idempotency key as sentences."""
    differs = " Its parameters differed from those of the first call." if idempotency.get("parameters_differ") else ""
    return OUTCOMES[idempotency["outcome"]].format_map(idempotency) + differs


def different_parameters(first_run_id: str | None) -> str:
    """Return the warning that a result is that of a first call with other parameters."""
    of_whom = f"{first_run_id}, the first call" if first_run_id else "the first call"
    return (
        f"This is the result of {of_whom} with this idempotency key. "
        "The parameters of this call differ from it and were ignored; use another key for another request."
    )
