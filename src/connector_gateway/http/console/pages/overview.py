"""The first page of the console: how much there is, what needs somebody, and what happened last."""

from starlette.responses import Response

from connector_gateway.http.console.pages.budgets import MINUTES, charts_of
from connector_gateway.http.console.pages.runs import rows_of
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.management.runs import list_runs

SHOWN = "8"


async def show(visit: ConsoleRequest) -> Response:
    """The page."""
    failed = await visit.submit(list_runs, {"status": "error", "limit": SHOWN})
    latest = await visit.submit(list_runs, {"limit": SHOWN})
    uses = visit.console.usage.list()
    states = await visit.management.connections.count_by_status()
    return visit.show(
        "overview.html",
        workspaces=await visit.management.workspaces.count(),
        connections=sum(states.values()),
        states=sorted(states.items()),
        waiting=sum(use.waiting for use in uses),
        sent=sum(slot.sent for use in uses for slot in use.history[-12:]),
        budgets=await charts_of(visit, uses[:3]),
        minutes=MINUTES,
        steps=await visit.steps(),
        failed=await rows_of(visit, failed.items),
        latest=await rows_of(visit, latest.items),
    )
