"""The users, projects and tasks of one workspace, and the event stream of each project."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asana_connector.emulator import errors
from workspace_sandbox.kit.clock import format_timestamp, has_passed
from workspace_sandbox.kit.emulator_context import EmulatorContext

EVENTS_PER_TOKEN = 100
SYNC_SECONDS = 24 * 3600.0
"""Both: developers.asana.com/reference/events, read 2026-11."""


@dataclass(eq=False)
class User:
    """A user."""

    gid: str
    name: str
    email: str


@dataclass(eq=False)
class Task:
    """A task, and the external gid that each app has set."""

    gid: str
    project: str
    name: str
    notes: str = ""
    completed: bool = False
    due_on: str | None = None
    assignee: User | None = None
    external: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Project:
    """A project with its events. Sync tokens are positions in them."""

    gid: str
    name: str
    events: list[dict[str, Any]] = field(default_factory=list)
    tokens: dict[str, tuple[int, float]] = field(default_factory=dict)
    """The position and the time of each sync token."""


class Workspace:
    """A workspace with two users and two projects."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self._last_gid = 1_200_000_000_000_000
        self.tasks: dict[str, Task] = {}
        people = (("Ada Moreau", "ada@juniper.example"), ("Ben Okafor", "ben@juniper.example"))
        self.users = {user.gid: user for user in (User(self._gid(), *person) for person in people)}
        names = ("Website relaunch", "Office move")
        self.projects = {project.gid: project for project in (Project(self._gid(), name) for name in names)}

    def project(self, gid: str, parameter: str = "project", status: int = 404) -> Project:
        """Return a project, or raise Asana's error."""
        if gid not in self.projects:
            raise errors.unknown_object(parameter, gid, status)
        return self.projects[gid]

    def task(self, gid: str, app: str) -> Task:
        """Return a task by its gid, or by the external one that *app* has set."""
        external = gid.removeprefix("external:")
        if external == gid:
            found = self.tasks.get(gid)
        else:
            found = next((one for one in self.tasks.values() if app and one.external.get(app) == external), None)
        if found is None:
            raise errors.unknown_object("task", gid)
        return found

    def user(self, identifier: str, me: User) -> User | None:
        """Return a user by gid, email address or ``me``."""
        if identifier == "me":
            return me
        return next((one for one in self.users.values() if identifier in {one.gid, one.email}), None)

    def create_task(self, project: Project, author: User, fields: Mapping[str, Any]) -> Task:
        """Create a task."""
        task = Task(self._gid(), project.gid, **fields)
        self.tasks[task.gid] = task
        self._add_event(task, author, "added", parent={"gid": project.gid, "resource_type": "project"})
        return task

    def update_task(self, task: Task, author: User, fields: Mapping[str, Any]) -> None:
        """Change a task, and report every field that differs afterwards."""
        for name, value in fields.items():
            if getattr(task, name) != value:
                setattr(task, name, value)
                self._add_event(task, author, "changed", change={"field": name, "action": "changed"})

    def delete_task(self, task: Task, author: User) -> None:
        """Move a task to the trash."""
        del self.tasks[task.gid]
        self._add_event(task, author, "deleted")

    def new_sync_token(self, project: Project, position: int | None = None) -> str:
        """Return a sync token for the events of *project* from *position*, by default from now."""
        token = self._context.request_id().replace("-", "") + f":{len(project.tokens)}"
        project.tokens[token] = (len(project.events) if position is None else position, self._context.now())
        return token

    def read_events(self, project: Project, sync: str) -> dict[str, Any]:
        """Return the events since a sync token, and the next token."""
        position, issued_at = project.tokens.get(sync, (None, 0.0))
        if position is None or has_passed(SYNC_SECONDS, issued_at, self._context.now()):
            raise errors.no_sync_token(self.new_sync_token(project))
        end = position + EVENTS_PER_TOKEN
        events = project.events[position:end]
        token = self.new_sync_token(project, position + len(events))
        return {"data": events, "sync": token, "has_more": end < len(project.events)}

    def _add_event(self, task: Task, author: User, action: str, **more: Any) -> None:
        event = {
            "user": {"gid": author.gid, "resource_type": "user", "name": author.name},
            "created_at": format_timestamp(self._context.now()),
            "type": "task",
            "action": action,
            "resource": {"gid": task.gid, "resource_type": "task", "name": task.name},
            "parent": None,
            **more,
        }
        self.projects[task.project].events.append(event)

    def _gid(self) -> str:
        self._last_gid += self._context.random.randrange(1, 1_000_000)
        return str(self._last_gid)
