"""All faults of a request in one refusal."""

from collections.abc import Sequence

from connector_gateway.kit.errors import GatewayError

MAX_SENTENCES = 3
"""How many messages of single faults are joined into one message; ``details`` has all of them."""


def combine_errors(refusals: Sequence[GatewayError]) -> GatewayError:
    """One refusal for all of *refusals*: the first one's code, and each detail with the code of its own."""
    first = refusals[0]
    details = [{"code": one.code, **detail} for one in refusals for detail in one.details]
    sentences = list(dict.fromkeys(one.message for one in refusals))
    more = [f"And {len(sentences) - MAX_SENTENCES} more."] if len(sentences) > MAX_SENTENCES else []
    return type(first)(" ".join(sentences[:MAX_SENTENCES] + more), *details)
