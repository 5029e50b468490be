"""The first page of the console: totals, problems and recent runs."""

from starlette.responses import Response

from connector_gateway.http.console.pages.budgets import MINUTES, build_charts
from connector_gateway.http.console.pages.runs import build_rows
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.management.runs import list_runs

SHOWN = "8"


async def show(request: ConsoleRequest) -> Response:
    """Show the overview."""
    failed = await request.submit(list_runs, {"status": "error", "limit": SHOWN})
    latest = await request.submit(list_runs, {"limit": SHOWN})
    uses = request.console.usage.list()
    states = await request.management.connections.count_by_status()
    return request.show(
        "overview.html",
        workspaces=await request.management.workspaces.count(),
        connections=sum(states.values()),
        states=sorted(states.items()),
        waiting=sum(use.waiting for use in uses),
        sent=sum(slot.sent for use in uses for slot in use.history[-12:]),
        budgets=await build_charts(request, uses[:3]),
        minutes=MINUTES,
        steps=await request.steps(),
        failed=await build_rows(request, failed.items),
        latest=await build_rows(request, latest.items),
    )
