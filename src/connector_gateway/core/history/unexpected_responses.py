"""How often third parties answered in another shape than is known here, and at which place of the answer."""

import re
from collections import Counter

from connector_gateway.kit.errors import GatewayError, UpstreamUnexpected

MAX_PLACES = 100
"""The most places that are counted separately, so that no third party can fill the memory or the metrics."""

OTHER = "other"
PLACE = "place"

_INDEX = re.compile(r"\[[0-9]+\]")


class UnexpectedResponses:
    """Counts answers of an unexpected shape by connector and place."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def count(self, connector: str, error: GatewayError) -> None:
        """Count what a call ended with, if it is an answer of an unexpected shape, after a write as well."""
        places = [str(detail[PLACE]) for detail in error.details if PLACE in detail]
        if not places and not isinstance(error, UpstreamUnexpected):
            return
        counted = connector, _INDEX.sub("[]", places[0]) if places else ""
        known = counted in self.counts or len(self.counts) < MAX_PLACES
        self.counts[counted if known else (connector, OTHER)] += 1
