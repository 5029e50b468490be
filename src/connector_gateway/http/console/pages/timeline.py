"""One run along its time: where each request upstream waited, and where it was under way, as bars."""

from collections.abc import Sequence
from dataclasses import dataclass

from connector_gateway.management.runs import RunRecord, UpstreamRequest

WIDTH = 1000.0
"""Units that a bar is wide; the page stretches them."""

THINNEST = 3.0
"""Units that what took next to no time is drawn with, so that it can be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One request: what it was, when it began to wait, and where its two parts are drawn."""

    request: UpstreamRequest
    began_ms: float
    waited: tuple[float, float]
    """Left edge and width."""

    sent: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run's requests upstream, and how long all of it took."""

    total_ms: float
    bars: Sequence[Bar]

    @property
    def ticks(self) -> Sequence[float]:
        """The instants that the axis names, in milliseconds."""
        return [self.total_ms * part / 4 for part in range(5)]


def timeline(run: RunRecord) -> Timeline:
    """The time line of *run*."""
    begins = [_began_ms(run, request) for request in run.upstream]
    ends = [began + request.wait_ms + request.duration_ms for began, request in zip(begins, run.upstream, strict=True)]
    total = max([run.duration_ms or 0.0, *ends, 1.0])
    return Timeline(total, [_bar(request, began, total) for began, request in zip(begins, run.upstream, strict=True)])


def _began_ms(run: RunRecord, request: UpstreamRequest) -> float:
    """Milliseconds from the beginning of the run until a request began to wait; never negative, whatever the clocks."""
    sent_ms = (request.at - run.started_at).total_seconds() * 1000
    return max(0.0, sent_ms - request.wait_ms)


def _bar(request: UpstreamRequest, began_ms: float, total_ms: float) -> Bar:
    scale = WIDTH / total_ms
    left, width = began_ms * scale, request.wait_ms * scale
    sent = max(request.duration_ms * scale, THINNEST)
    return Bar(request, began_ms, _placed(left, width), _placed(min(left + width, WIDTH - THINNEST), sent))


def _placed(left: float, width: float) -> tuple[float, float]:
    return round(left, 1), round(min(width, WIDTH - left), 1)
