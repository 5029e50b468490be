"""An emulator of Asana, written from its documentation and not from the client.

Faults, clock, request log, reset and snapshots are those of all emulators.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from aiohttp import web

from asana_connector.emulator import api, errors
from asana_connector.emulator.access import CREDENTIALS, AsanaOAuth
from asana_connector.emulator.state import Task, User, Workspace
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.oauth.standard import OAUTH_KNOBS
from workspace_sandbox.kit.rate_limits import Budget, Budgets
from workspace_sandbox.kit.routes import Route, page
from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.kit.user_actions import ActionField, UserAction, UserActions

BUDGET = Budget("requests_per_minute", per_seconds=60)
"""Source: developers.asana.com/docs/rate-limits, read 2026-11."""

on: Callable[..., Route[api.Handler]] = Route.at("/api/1.0")


def _other_user(emulator: "AsanaEmulator") -> User:
    return list(emulator.workspace.users.values())[1]


def _read_task(emulator: "AsanaEmulator", gid: Any) -> Task:
    return emulator.workspace.task(str(gid), "")


def _create_task(emulator: "AsanaEmulator", project: Any, name: Any) -> dict[str, Any]:
    task = emulator.workspace.create_task(
        emulator.workspace.project(str(project)), _other_user(emulator), {"name": str(name)}
    )
    return {"task_id": task.gid}


def _complete_task(emulator: "AsanaEmulator", task: Task) -> dict[str, Any]:
    emulator.workspace.update_task(task, _other_user(emulator), {"completed": True})
    return {}


def _delete_task(emulator: "AsanaEmulator", task: Task) -> dict[str, Any]:
    emulator.workspace.delete_task(task, _other_user(emulator))
    return {}


def _forget_events(emulator: "AsanaEmulator") -> dict[str, Any]:
    for project in emulator.workspace.projects.values():
        project.tokens.clear()
    return {}


TASK = ActionField("task_id", "the task", _read_task)
USER_ACTIONS: UserActions = {
    "create_task": UserAction(
        _create_task,
        "Another user creates a task.",
        (ActionField("project_id", "the project"), ActionField("name", "its name")),
        "`task_id`",
    ),
    "complete_task": UserAction(_complete_task, "Another user completes a task.", (TASK,)),
    "delete_task": UserAction(_delete_task, "Another user deletes a task.", (TASK,)),
    "forget_events": UserAction(_forget_events, "Asana discards its sync tokens, as it does after a day."),
}


class AsanaEmulator(Emulator):
    """Asana with a workspace of two users, two projects and three tasks."""

    knobs: ClassVar[Mapping[str, Any]] = {**OAUTH_KNOBS, "requests_per_minute": 150}
    user_actions = USER_ACTIONS
    routes = (
        on("GET /users/{user_gid}", api.get_user),
        on("GET /tasks", api.get_tasks, "only the tasks of a project"),
        on("POST /tasks", api.create_task, "only tasks of one project, with the fields that the connector uses"),
        on("GET /tasks/{task_gid}", api.get_task),
        on("PUT /tasks/{task_gid}", api.update_task, "only the fields that the connector uses"),
        on("GET /events", api.get_events, "only projects"),
        page("GET /-/oauth_authorize", AsanaOAuth.authorize),
        page("POST /-/oauth_authorize", AsanaOAuth.authorize),
        page("POST /-/oauth_token", AsanaOAuth.token),
        page("POST /-/oauth_revoke", AsanaOAuth.revoke),
    )
    errors = errors
    oauth: AsanaOAuth

    def create_default_data(self) -> None:
        """Create the workspace."""
        self.budgets = Budgets(self.context)
        self.workspace = Workspace(self.context)
        self.oauth = AsanaOAuth(self.context, self.workspace.users)
        self.offsets: dict[str, int] = {}
        author, project = _other_user(self), next(iter(self.workspace.projects.values()))
        for name in ("Choose a host", "Write the texts", "Move the domain"):
            self.workspace.create_task(project, author, {"name": name})

    async def serve(self, route: Route[api.Handler], request: web.Request) -> web.StreamResponse:
        """Return the response to a request."""
        token = self.oauth.authenticate(request, errors.unauthorised())
        if seconds := self.budgets.spend(BUDGET, token.value):
            raise errors.throttled(self.context, seconds)
        data = _read_data(await request.text())
        await self.context.wait_if_delayed()
        status, body = route.handler(
            api.ApiRequest(self.workspace, self.offsets, token, request.match_info, request.query, data)
        )
        return web.json_response(body, status=status)

    def credentials(self) -> dict[str, str]:
        """Return the tokens of the gateway's app for the first user."""
        return CREDENTIALS

    def examples(self) -> dict[str, Any]:
        """Return the identifiers of a project and a task."""
        return {"project_id": next(iter(self.workspace.projects)), "task_id": next(iter(self.workspace.tasks))}

    def apply_seed(self, data: SeedValue) -> dict[str, Any]:
        """Create the tasks of a seed in the first project: ``{"tasks": ["Name"]}``."""
        project, author = next(iter(self.workspace.projects.values())), _other_user(self)
        names = data.check_object("tasks").list_items("tasks")
        tasks = [self.workspace.create_task(project, author, {"name": name.as_text()}) for name in names]
        return {"task_ids": [task.gid for task in tasks]}


def _read_data(text: str) -> Mapping[str, Any]:
    """Return the contents of the envelope ``data`` of a body."""
    if not text:
        return {}
    try:
        body = json.loads(text)
    except ValueError:
        raise errors.AsanaError(400, "Could not parse request data, invalid JSON") from None
    data = body.get("data") if isinstance(body, dict) else None
    if not isinstance(data, dict):
        raise errors.AsanaError(400, "Missing input: data")
    return data
