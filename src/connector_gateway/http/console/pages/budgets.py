"""Upstream budgets: what is used and left of each, how many wait, and the last minutes, drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from connector_gateway.core.pacing.scheduler import without_slack
from connector_gateway.core.pacing.usage import SLOT_SECONDS, SLOTS, BudgetUsage
from connector_gateway.http.console.request import ConsoleRequest

WIDTH, HEIGHT = 600.0, 60.0
"""Units of the chart of the last minutes."""

MINUTES = round(SLOTS * SLOT_SECONDS / 60)
SHOWN = 60
"""Budgets on the page, the busiest first."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A budget's use, and the lines it is drawn with."""

    use: BudgetUsage
    allowed: str
    """What the application allows, in words."""

    used: float
    """Units taken of the window that ends now."""

    left: float

    share: float
    """The part of the budget that is used, in hundredths."""

    connection: str
    """What the connection is called that used it last."""

    area: str
    """The outline of what was sent in each slot, over what the budget allows in one."""

    queue: str
    """The line of how many waited."""

    most_waiting: int
    sent: float
    """Units that were sent in the last minutes."""


async def show(visit: ConsoleRequest) -> Response:
    """All budgets that were used in the last minutes."""
    uses = visit.console.usage.list()
    charts = await charts_of(visit, uses[:SHOWN])
    return visit.show("budgets.html", budgets=charts, minutes=MINUTES, more=len(uses) > SHOWN)


async def charts_of(visit: ConsoleRequest, uses: Sequence[BudgetUsage]) -> Sequence[Chart]:
    """The charts of budgets, with the names of the connections that used them last."""
    names = await visit.management.connections.names({use.connection_id for use in uses})
    left = [await visit.console.usage.remaining(use) for use in uses]
    return [_drawn(use, rest, names.get(use.connection_id, "")) for use, rest in zip(uses, left, strict=True)]


def _drawn(use: BudgetUsage, left: float, connection: str) -> Chart:
    used = max(0.0, use.limit - left)
    allowed = max(use.limit * SLOT_SECONDS / use.per_seconds, 1.0) if use.per_seconds <= SLOT_SECONDS else use.limit
    most = max(slot.waiting for slot in use.history)
    return Chart(
        use=use,
        allowed=f"{use.limit:,.10g} in {_window(without_slack(use.per_seconds))}",
        used=used,
        left=left,
        share=round(100 * used / use.limit, 1),
        connection=connection,
        area=_area([min(1.0, slot.sent / allowed) for slot in use.history]),
        queue=f"M{_points([slot.waiting / max(most, 1) for slot in use.history])}",
        most_waiting=most,
        sent=sum(slot.sent for slot in use.history),
    )


def _window(seconds: float) -> str:
    """A window as people call it; ours are a little longer than those of applications."""
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {name}{'s' if round(seconds / length, 2) != 1 else ''}"
    return f"{seconds:.3g} s"


def _area(parts: Sequence[float]) -> str:
    """The outline of an area under *parts* of the height."""
    return f"M0 {HEIGHT:g}L{_points(parts)}L{WIDTH:g} {HEIGHT:g}Z"


def _points(parts: Sequence[float]) -> str:
    step = WIDTH / max(len(parts) - 1, 1)
    return " ".join(f"{index * step:.1f} {HEIGHT * (1 - part):.1f}" for index, part in enumerate(parts))
