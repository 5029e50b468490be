"""Aggregation of all errors of a request into one."""

from collections.abc import Sequence

from connector_gateway.kit.errors import GatewayError

MAX_SENTENCES = 3
"""The maximum number of messages joined into one. ``details`` contains all errors."""


def combine_errors(errors: Sequence[GatewayError]) -> GatewayError:
    """Combine *errors* into one error.

    It has the code of the first one, and each detail has the code of its error.
    """
    first_error = errors[0]
    details = [{"code": error.code, **detail} for error in errors for detail in error.details]
    sentences = list(dict.fromkeys(error.message for error in errors))
    more = [f"And {len(sentences) - MAX_SENTENCES} more."] if len(sentences) > MAX_SENTENCES else []
    return type(first_error)(" ".join(sentences[:MAX_SENTENCES] + more), *details)
