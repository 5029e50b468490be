"""Outcomes of idempotency keys, as sentences for every surface."""

from collections.abc import Mapping
from typing import Any

OUTCOMES: Mapping[str, str] = {
    "first": "This was the first call with the key.",
    "replayed": "The result of {first_run_id} was returned again; nothing was sent.",
    "recovered": "An earlier call with the key had not finished; this call completed it.",
    "unfinished": "The call ended before the write was complete.",
}
"""The meaning of each ``idempotency.outcome`` of a run."""


def describe_outcome(idempotency: Mapping[str, Any]) -> str:
    """Return the outcome of a run's idempotency key in sentences."""
    differs = " Its parameters differed from those of the first call." if idempotency.get("parameters_differ") else ""
    return OUTCOMES[idempotency["outcome"]].format_map(idempotency) + differs


def different_parameters(first_run_id: str | None) -> str:
    """Return the warning for a result whose first call had other parameters."""
    first_call = f"{first_run_id}, the first call" if first_run_id else "the first call"
    return (
        f"This is the result of {first_call} with this idempotency key. "
        "The parameters of this call differ from it and were ignored; use another key for another request."
    )
