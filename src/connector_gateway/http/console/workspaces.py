"""Workspaces: who they are for, their plan, and what they have."""

from starlette.responses import Response

from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.management.connections import list_connections
from connector_gateway.management.workspaces import change_workspace, create_workspace

SHOWN = 50
"""Rows of a page of a list."""


async def show_all(visit: Visit, problem: GatewayError | None = None) -> Response:
    """All workspaces whose name or identifier contains what was looked for, and a form for another one."""
    wanted = visit.query.get("q", "")
    list_of = ("console workspaces", wanted)
    rows, more = await visit.management.workspaces.page(wanted, visit.before(*list_of), SHOWN)
    cursor = visit.older(more, *list_of)
    return visit.show("workspaces.html", problem=problem, rows=rows, cursor=cursor, first=visit.is_first, wanted=wanted)


async def create(visit: Visit) -> Response:
    """Create a workspace."""
    try:
        made = await visit.ask(create_workspace, _given(visit, "name", "plan"))
    except InvalidParameters as error:
        return await show_all(visit, error)
    return visit.lead(f"{ROOT}/workspaces/{made.workspace_id}", done="created")


async def show(visit: Visit, problem: GatewayError | None = None) -> Response:
    """One workspace, with its keys and connections."""
    return await show_one(visit, visit.named("workspace_id"), problem)


async def show_one(visit: Visit, workspace_id: str, problem: GatewayError | None) -> Response:
    """The same for the workspace of that identifier."""
    workspace = await visit.management.workspaces.show(workspace_id)
    whose = {"workspace_id": workspace["workspace_id"]}
    keys, more_keys = await visit.management.keys.page(workspace["workspace_id"], None, SHOWN)
    page = await visit.ask(list_connections, whose)
    return visit.show(
        "workspace.html",
        problem=problem,
        workspace=workspace,
        keys=keys,
        more_keys=more_keys is not None,
        connections=page.items,
        more=page.position is not None,
        connectors=list(visit.console.connectors),
    )


async def change(visit: Visit) -> Response:
    """Change the name, the plan or the return addresses of a workspace."""
    workspace_id = visit.named("workspace_id")
    try:
        addresses = {"return_urls": visit.form.get("return_urls", "").split()}
        given = {**_given(visit, "name", "plan"), **addresses, "workspace_id": workspace_id}
        await visit.tell(change_workspace, given)
    except InvalidParameters as error:
        return await show(visit, error)
    return visit.lead(f"{ROOT}/workspaces/{workspace_id}", done="changed")


def _given(visit: Visit, *names: str) -> dict[str, str]:
    return {name: visit.form.get(name, "") for name in names}
