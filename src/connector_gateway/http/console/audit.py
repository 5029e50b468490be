"""The audit trail: who did what, with filters, page by page."""

from starlette.responses import Response

from connector_gateway.http.console.declared import Visit
from connector_gateway.http.console.runs import SHOWN
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.management.audit import list_audit

FILTERS = ("actor", "act", "object_id", "workspace_id", "outcome", "since", "until")


async def show_all(visit: Visit) -> Response:
    """Entries that fit the filters, newest first, a page of them."""
    given = {name: visit.query.get(name, "") for name in FILTERS}
    list_of, problem = ("console audit", given), None
    try:
        page = await visit.ask(list_audit, {**given, "limit": SHOWN}, visit.position(*list_of))
    except InvalidParameters as error:
        page, problem = None, error
    names = await visit.management.workspaces.names({row.workspace_id for row in page.items} if page else ())
    return visit.show(
        "audit.html",
        problem=problem,
        rows=page.items if page else (),
        cursor=visit.cursor(page.position, *list_of) if page else None,
        names=names,
        wanted=given,
        first=visit.is_first,
        workspaces=await visit.workspaces(given["workspace_id"]),
    )
