"""Counts of vendor responses with an unexpected shape, by connector and JSON path."""

import re
from collections import Counter

from connector_gateway.kit.errors import GatewayError, UpstreamUnexpected

MAX_PATHS = 100
"""Maximum paths that are counted separately, so that vendors cannot fill the memory or the metrics."""

OTHER = "other"
PATH_FIELD = "place"

_INDEX = re.compile(r"\[[0-9]+\]")


class UnexpectedResponses:
    """Counts responses of an unexpected shape by connector and path."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def count(self, connector: str, error: GatewayError) -> None:
        """Count *error* if it concerns a response of an unexpected shape, including errors after a write."""
        paths = [str(detail[PATH_FIELD]) for detail in error.details if PATH_FIELD in detail]
        if not paths and not isinstance(error, UpstreamUnexpected):
            return
        key = connector, _INDEX.sub("[]", paths[0]) if paths else ""
        is_separate = key in self.counts or len(self.counts) < MAX_PATHS
        self.counts[key if is_separate else (connector, OTHER)] += 1
