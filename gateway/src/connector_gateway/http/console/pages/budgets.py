"""Upstream budgets: usage, remaining units, queued requests, and a chart of the last minutes."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from connector_gateway.core.pacing.budget_usage import BUCKET_SECONDS, MAX_BUCKETS, BudgetUsage
from connector_gateway.core.pacing.pacer import without_slack
from connector_gateway.http.console.request import ConsoleRequest

WIDTH, HEIGHT = 600.0, 60.0
"""The size of the chart in SVG units."""

MINUTES = round(MAX_BUCKETS * BUCKET_SECONDS / 60)
SHOWN = 60
"""The maximum number of budgets on the page, busiest first."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The usage of a budget, and the paths of its chart."""

    use: BudgetUsage
    allowed: str
    """The limit of the vendor, in words."""

    used: float
    """Units used in the current window."""

    left: float

    share: float
    """The used part of the budget, in percent."""

    connection: str
    """The name of the connection that used the budget last."""

    area: str
    """The SVG path of the units sent in each slot, relative to the limit per slot."""

    queue: str
    """The SVG path of the number of queued requests."""

    max_queued: int
    sent: float
    """Units sent in the last minutes."""


async def show(request: ConsoleRequest) -> Response:
    """Show all budgets that were used in the last minutes."""
    uses = request.console.usage.list()
    charts = await build_charts(request, uses[:SHOWN])
    return request.show("budgets.html", budgets=charts, minutes=MINUTES, more=len(uses) > SHOWN)


async def build_charts(request: ConsoleRequest, uses: Sequence[BudgetUsage]) -> Sequence[Chart]:
    """Return the charts of budgets, with the names of the connections that used them last."""
    names = await request.management.connections.names({use.connection_id for use in uses})
    remaining = [await request.console.usage.remaining(use) for use in uses]
    return [_draw(use, rest, names.get(use.connection_id, "")) for use, rest in zip(uses, remaining, strict=True)]


def _draw(use: BudgetUsage, left: float, connection: str) -> Chart:
    used = max(0.0, use.limit - left)
    allowed = max(use.limit * BUCKET_SECONDS / use.per_seconds, 1.0) if use.per_seconds <= BUCKET_SECONDS else use.limit
    max_queued = max(slot.waiting for slot in use.history)
    return Chart(
        use=use,
        allowed=f"{use.limit:,.10g} in {_window(without_slack(use.per_seconds))}",
        used=used,
        left=left,
        share=round(100 * used / use.limit, 1),
        connection=connection,
        area=_area([min(1.0, slot.sent / allowed) for slot in use.history]),
        queue=f"M{_points([slot.waiting / max(max_queued, 1) for slot in use.history])}",
        max_queued=max_queued,
        sent=sum(slot.sent for slot in use.history),
    )


def _window(seconds: float) -> str:
    """Return the readable length of a window."""
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {name}{'s' if round(seconds / length, 2) != 1 else ''}"
    return f"{seconds:.3g} s"


def _area(parts: Sequence[float]) -> str:
    """Return the SVG path of the area below *parts*, which are fractions of the height."""
    return f"M0 {HEIGHT:g}L{_points(parts)}L{WIDTH:g} {HEIGHT:g}Z"


def _points(parts: Sequence[float]) -> str:
    step = WIDTH / max(len(parts) - 1, 1)
    return " ".join(f"{index * step:.1f} {HEIGHT * (1 - part):.1f}" for index, part in enumerate(parts))
