"""The timeline of one run: a bar for each upstream request, with its waiting time and its duration."""

from collections.abc import Sequence
from dataclasses import dataclass

from connector_gateway.management.runs import RunRecord, UpstreamRequest

WIDTH = 1000.0
"""The width of the timeline in SVG units. The page scales it."""

MIN_WIDTH = 3.0
"""The minimum width of a bar in SVG units, so that short requests stay visible."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of one request: its start, and the positions of its two parts."""

    request: UpstreamRequest
    offset_ms: float
    waited: tuple[float, float]
    """The left edge and the width."""

    sent: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The upstream requests of a run, and its total duration."""

    total_ms: float
    bars: Sequence[Bar]

    @property
    def ticks(self) -> Sequence[float]:
        """The labels of the axis, in milliseconds."""
        return [self.total_ms * part / 4 for part in range(5)]


def timeline(run: RunRecord) -> Timeline:
    """Return the timeline of *run*."""
    starts = [_offset_ms(run, request) for request in run.upstream]
    ends = [
        offset + request.wait_ms + request.duration_ms for offset, request in zip(starts, run.upstream, strict=True)
    ]
    total = max([run.duration_ms or 0.0, *ends, 1.0])
    return Timeline(total, [_bar(request, offset, total) for offset, request in zip(starts, run.upstream, strict=True)])


def _offset_ms(run: RunRecord, request: UpstreamRequest) -> float:
    """Return the milliseconds from the start of the run until a request began to wait. Never negative."""
    sent_ms = (request.at - run.started_at).total_seconds() * 1000
    return max(0.0, sent_ms - request.wait_ms)


def _bar(request: UpstreamRequest, offset_ms: float, total_ms: float) -> Bar:
    scale = WIDTH / total_ms
    left, width = offset_ms * scale, request.wait_ms * scale
    sent = max(request.duration_ms * scale, MIN_WIDTH)
    return Bar(request, offset_ms, _clip(left, width), _clip(min(left + width, WIDTH - MIN_WIDTH), sent))


def _clip(left: float, width: float) -> tuple[float, float]:
    return round(left, 1), round(min(width, WIDTH - left), 1)
