"""Signs that vendors change their APIs, by endpoint and place: counted, and logged once a day each."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import structlog

from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import GatewayError, UpstreamUnexpected
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.client import Request, RequestRecord
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.upstream.vendor_api_changes import (
    OTHER,
    ChangeKind,
    VendorChange,
    find_unknown_fields,
    mask_path,
    read_announcements,
    sanitize_name,
)

MAX_PLACES = 100
"""Maximum places that are counted separately, so that vendors cannot fill the memory or the metrics."""

PATH_FIELD = "place"

LOG_SECONDS = 24 * 3600.0
"""Seconds between two log lines about the same place."""

SAMPLE_SECONDS = 3600.0
"""Seconds between two comparisons of responses with the same shape, which take longer than decoding."""

VERSION_NOTICE = timedelta(days=180)
"""The time before the end of a version in which it is reported."""

PASSTHROUGH = "passthrough"
"""The endpoint of requests that callers write themselves, whose paths can contain names."""

_INDEX = re.compile(r"\[[0-9]+\]")

log = structlog.get_logger()


class ChangeKey(NamedTuple):
    """The labels of a counter."""

    connector: str
    kind: ChangeKind
    endpoint: str
    place: str


@dataclass(slots=True)
class CountedChange:
    """The number of responses with a sign, and the epoch seconds of the last one."""

    last_at: float
    count: int = 0
    logged_at: float = -math.inf

    @property
    def last_seen(self) -> datetime:
        """The time of the latest response with the sign."""
        return utc_datetime(self.last_at)


class VendorChanges:
    """The signs of change that this process has seen. *clock* counts epoch seconds."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.counted: dict[ChangeKey, CountedChange] = {}

    def count_error(self, connector: str, error: GatewayError, requests: Sequence[RequestRecord]) -> None:
        """Count *error* if a response of an unknown shape or code is its cause, including errors after a write."""
        paths = [str(detail[PATH_FIELD]) for detail in error.details if PATH_FIELD in detail]
        endpoint = f"{requests[-1].method} {mask_path(requests[-1].path)}" if requests else ""
        if paths:
            self.count(connector, endpoint, VendorChange("shape", _INDEX.sub("[]", paths[0])))
        elif isinstance(error, UpstreamUnexpected):
            code = sanitize_name(error.vendor_code) if error.vendor_code else ""
            self.count(connector, endpoint, VendorChange("error" if code else "shape", code))

    def count(self, connector: str, endpoint: str, change: VendorChange) -> None:
        """Count *change*, and log it unless that was done in the last day."""
        key, now = ChangeKey(connector, change.kind, endpoint, change.place), self.clock.now()
        if key not in self.counted and len(self.counted) >= MAX_PLACES:
            key = ChangeKey(connector, change.kind, "", OTHER)
        counted = self.counted.setdefault(key, CountedChange(now))
        counted.count, counted.last_at = counted.count + 1, now
        if now - counted.logged_at >= LOG_SECONDS:
            counted.logged_at = now
            log.warning("vendor changed", **key._asdict())

    def list(self, connector: str) -> Sequence[tuple[ChangeKey, CountedChange]]:
        """Return those of one connector, the latest first."""
        own = [(key, counted) for key, counted in self.counted.items() if key.connector == connector]
        return sorted(own, key=lambda one: one[1].last_at, reverse=True)


@dataclass(frozen=True, slots=True)
class ResponseObserver:
    """Looks for signs of change in the responses to one connector."""

    changes: VendorChanges
    connector: AnyConnector
    _sampled_at: dict[tuple[str, Any], float] = field(default_factory=dict)
    """The time of the last comparison, by method and shape."""

    def observe(self, request: Request, response: UpstreamResponse) -> None:
        """Count what *response* announces, and have its fields compared when it is decoded."""
        # Hardly any response announces anything, and every call passes here.
        if "Deprecation" in response.headers or "Sunset" in response.headers:
            for change in read_announcements(response.headers):
                self._count(request, change)
        for code in self.connector.read_warnings(response):
            self._count(request, VendorChange("warning", sanitize_name(code)))
        response.on_decode = partial(self._compare, request)

    def _compare(self, request: Request, body: bytes, shape: Any) -> None:
        sample, now = (request.method, shape), self.changes.clock.now()
        if now - self._sampled_at.get(sample, -math.inf) < SAMPLE_SECONDS:
            return
        self._sampled_at[sample] = now
        for path in find_unknown_fields(body, shape, self.connector.unread_fields):
            self._count(request, VendorChange("field", path))
        version = self.connector.api_version
        if version is not None and utc_datetime(now).date() >= version.ends_on - VERSION_NOTICE:
            self._count(request, VendorChange("version", version.name))

    def _count(self, request: Request, change: VendorChange) -> None:
        endpoint = PASSTHROUGH if request.verbatim else f"{request.method} {mask_path(request.path)}"
        self.changes.count(self.connector.name, endpoint, change)
