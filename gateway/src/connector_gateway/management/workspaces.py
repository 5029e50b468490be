"""Create, list and change workspaces."""

from typing import Annotated

from pydantic import Field

from connector_gateway.core.access.workspaces import Plan
from connector_gateway.kit.errors import WorkspaceNotFound
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.models import Identifier, Page, Params, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource("workspaces", columns=("workspace_id", "name", "plan", "created_at"))

WorkspaceName = Annotated[str, Field(min_length=1, max_length=200)]
ReturnUrls = Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=20)]


class CreateWorkspace(Params):
    """A new workspace."""

    name: WorkspaceName
    """The customer's name."""

    plan: Plan = "free"
    """The retention of observed events: 7 days on ``free``, 30 days on ``paid``."""

    return_urls: ReturnUrls = Field(default_factory=list)
    """URLs that users may be redirected to after connecting an account: https, without query."""


class ListWorkspaces(ListParams):
    """The requested page of workspaces."""


class ChangeWorkspace(Params):
    """Changes to a workspace."""

    workspace_id: Identifier
    name: WorkspaceName | None = None
    """The customer's new name."""

    plan: Plan | None = None
    """The retention of observed events: 7 days on ``free``, 30 days on ``paid``."""

    return_urls: ReturnUrls | None = None
    """URLs that users may be redirected to after connecting an account. They replace the previous ones."""


class WorkspaceRecord(Result):
    """A workspace, which owns connections, keys and runs."""

    workspace_id: str
    name: str
    plan: Plan
    """The retention of observed events."""

    created_at: UtcDatetime
    return_urls: list[str]
    """URLs that users may be redirected to after connecting an account."""


@RESOURCE.route("POST /v1/workspaces", "create NAME", example={"name": "Acme", "plan": "paid"})
async def create_workspace(request: ManagementRequest, params: CreateWorkspace) -> WorkspaceRecord:
    """Create a workspace."""
    return WorkspaceRecord(**await request.management.workspaces.create(params.name, params.plan, params.return_urls))


@RESOURCE.route("GET /v1/workspaces", "list")
async def list_workspaces(request: ManagementRequest, params: ListWorkspaces) -> Page[WorkspaceRecord]:
    """List workspaces, newest first."""
    rows, before = await request.management.workspaces.page("", request.before, params.limit)
    return Page(items=[WorkspaceRecord(**row) for row in rows], position=position_before(before))


@RESOURCE.route("PATCH /v1/workspaces/{workspace_id}", "change WORKSPACE_ID", errors=[WorkspaceNotFound])
async def change_workspace(request: ManagementRequest, params: ChangeWorkspace) -> WorkspaceRecord:
    """Change the name, the plan or the return URLs of a workspace."""
    changes = params.model_dump(exclude={"workspace_id"}, exclude_none=True)
    return WorkspaceRecord(**await request.management.workspaces.change(WorkspaceId(params.workspace_id), **changes))
