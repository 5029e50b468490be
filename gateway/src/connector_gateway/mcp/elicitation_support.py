"""Whether an agent's client shows forms to a person (elicitation)."""

from mcp_types import ElicitationCapability

ANSWER_SECONDS = 5 * 60.0
"""Seconds within which a person can answer, as long as a confirmation is valid."""


def shows_forms(capability: ElicitationCapability | None) -> bool:
    """Return True if *capability* includes forms, as it does if it names no mode."""
    return capability is not None and (capability.form is not None or capability.url is None)
