"""The routes of the API, from Asana's OpenAPI document."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from asana_connector.emulator.errors import AsanaError, no_sync_token, unknown_object
from asana_connector.emulator.state import Task, User, Workspace
from workspace_sandbox.kit.oauth.server import Token

MAX_LIMIT = 100
WRITABLE = {"name", "notes", "completed", "due_on", "assignee", "external", "projects", "workspace"}


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An authorised request."""

    workspace: Workspace
    offsets: dict[str, int]
    token: Token
    path: Mapping[str, str]
    query: Mapping[str, str]
    data: Mapping[str, Any]

    @property
    def user(self) -> User:
        """The user to whom the token belongs."""
        user: User = self.token.grant.account
        return user

    @property
    def app(self) -> str:
        """The OAuth app of the token, empty for a personal access token."""
        return self.token.grant.client_id

    def require(self, scope: str) -> None:
        """Reject the request unless *scope* was granted."""
        if not {scope, "default"} & set(self.token.scopes):
            raise AsanaError(403, f"Forbidden: this app lacks the scope {scope}.")

    def json(self, record: Mapping[str, Any], *, compact: bool = False) -> dict[str, Any]:
        """Return the fields that ``opt_fields`` names, by default all of a single object, and few of a *compact* one.

        Source: developers.asana.com/docs/inputoutput-options, read 2026-11.
        """
        if "opt_fields" in self.query:
            names = {"gid", *(name.partition(".")[0] for name in self.query["opt_fields"].split(","))}
        else:
            names = {"gid", "resource_type", "name"} if compact else set(record)
        return {name: value for name, value in record.items() if name in names}


Handler = Callable[[ApiRequest], tuple[int, dict[str, Any]]]


def get_user(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Return a user."""
    request.require("users:read")
    identifier = request.path["user_gid"]
    user = request.workspace.user(identifier, request.user)
    if user is None:
        raise unknown_object("user", identifier)
    record = {"gid": user.gid, "resource_type": "user", "name": user.name, "email": user.email}
    return 200, {"data": request.json(record)}


def get_tasks(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Return a page of a project's tasks."""
    request.require("tasks:read")
    if "project" not in request.query:
        raise AsanaError(
            400, "You should specify one of project, tag, section, user task list, or assignee + workspace"
        )
    project = request.workspace.project(request.query["project"])
    tasks = [task for task in request.workspace.tasks.values() if task.project == project.gid]
    if request.query.get("completed_since") == "now":
        tasks = [task for task in tasks if not task.completed]
    limit, start = _read_limit(request), _read_offset(request)
    end = start + limit
    page: dict[str, Any] = {"data": [request.json(_record(request, task), compact=True) for task in tasks[start:end]]}
    page["next_page"] = _next_page(request, end) if end < len(tasks) else None
    return 200, page


def get_task(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Return a task."""
    request.require("tasks:read")
    return 200, {"data": request.json(_record(request, request.workspace.task(request.path["task_gid"], request.app)))}


def create_task(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Create a task in one project."""
    request.require("tasks:write")
    projects = request.data.get("projects")
    if not isinstance(projects, list) or len(projects) != 1:
        raise AsanaError(400, "projects: this emulator needs exactly one")
    project = request.workspace.project(str(projects[0]), "projects: [0]", 400)
    task = request.workspace.create_task(project, request.user, {"name": "", **_read_fields(request)})
    return 201, {"data": request.json(_record(request, task))}


def update_task(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Change a task."""
    request.require("tasks:write")
    task = request.workspace.task(request.path["task_gid"], request.app)
    request.workspace.update_task(task, request.user, _read_fields(request))
    return 200, {"data": request.json(_record(request, task))}


def get_events(request: ApiRequest) -> tuple[int, dict[str, Any]]:
    """Return the events of a project since a sync token. No scope but that of everything covers them."""
    request.require("default")
    project = request.workspace.project(request.query.get("resource", ""), "resource")
    sync = request.query.get("sync")
    if sync is None:
        raise no_sync_token(request.workspace.new_sync_token(project))
    return 200, request.workspace.read_events(project, sync)


def _record(request: ApiRequest, task: Task) -> dict[str, Any]:
    external = task.external.get(request.app) if request.app else None
    assignee = task.assignee
    return {
        "gid": task.gid,
        "resource_type": "task",
        "name": task.name,
        "notes": task.notes,
        "completed": task.completed,
        "due_on": task.due_on,
        "assignee": {"gid": assignee.gid, "resource_type": "user", "name": assignee.name} if assignee else None,
        "permalink_url": f"https://app.asana.com/0/{task.project}/{task.gid}",
        "projects": [{"gid": task.project, "resource_type": "project"}],
        **({"external": {"gid": external}} if external else {}),
    }


def _read_fields(request: ApiRequest) -> dict[str, Any]:
    """Return the fields of a task from a body. ``external`` becomes a mapping by app."""
    data = dict(request.data)
    if unknown := data.keys() - WRITABLE:
        raise AsanaError(400, f"{min(unknown)}: this emulator does not support the field")
    readers = {"name": _read_text, "notes": _read_text, "completed": _read_bool, "due_on": _read_date}
    fields = {name: read(name, data[name]) for name, read in readers.items() if name in data}
    if "assignee" in data:
        fields["assignee"] = None if data["assignee"] is None else _read_assignee(request, str(data["assignee"]))
    if "external" in data:
        fields["external"] = _read_external(request, data["external"])
    return fields


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise AsanaError(400, f"{name}: Value is not a string: {value}")
    return value


def _read_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AsanaError(400, f"{name}: Value is not a boolean: {value}")
    return value


def _read_date(name: str, value: Any) -> str | None:
    if value is None:
        return None
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", str(value)):
            return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        pass
    raise AsanaError(400, f"{name}: Value is not a date: {value}")


def _read_assignee(request: ApiRequest, identifier: str) -> User:
    user = request.workspace.user(identifier, request.user)
    if user is None:
        raise AsanaError(400, f"assignee: Not a user in this workspace: {identifier}")
    return user


def _read_external(request: ApiRequest, value: Any) -> dict[str, str]:
    if not request.app:
        raise AsanaError(403, "external: External data is only available to OAuth apps.")
    gid = value.get("gid") if isinstance(value, dict) else None
    if not isinstance(gid, str) or not 0 < len(gid) <= 1024:
        raise AsanaError(400, "external: gid should be a string of at most 1024 characters")
    return {request.app: gid}


def _read_limit(request: ApiRequest) -> int:
    text = request.query.get("limit", str(MAX_LIMIT))
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise AsanaError(400, f"limit: Must be between 1 and {MAX_LIMIT}")
    return int(text)


def _read_offset(request: ApiRequest) -> int:
    offset = request.query.get("offset")
    if offset is None:
        return 0
    if offset not in request.offsets:
        raise AsanaError(400, "offset: Your pagination token is invalid.")
    return request.offsets[offset]


def _next_page(request: ApiRequest, position: int) -> dict[str, str]:
    offset = f"eyJ{len(request.offsets):x}.{position:x}"
    request.offsets[offset] = position
    path = f"/tasks?project={request.query['project']}&limit={_read_limit(request)}&offset={offset}"
    return {"offset": offset, "path": path, "uri": f"https://app.asana.com/api/1.0{path}"}
