"""Aggregation of all errors of a request into one."""

from collections.abc import Sequence

from connector_gateway.kit.errors import GatewayError

MAX_SENTENCES = 3
"""The maximum number of messages joined into one. ``details`` contains all errors."""


def combine_errors(refusals: Sequence[GatewayError]) -> GatewayError:
    """Combine *refusals* into one error.

    It has the code of the first one, and each detail has the code of its own error.
    """
    first = refusals[0]
    details = [{"code": refusal.code, **detail} for refusal in refusals for detail in refusal.details]
    sentences = list(dict.fromkeys(refusal.message for refusal in refusals))
    more = [f"And {len(sentences) - MAX_SENTENCES} more."] if len(sentences) > MAX_SENTENCES else []
    return type(first)(" ".join(sentences[:MAX_SENTENCES] + more), *details)
