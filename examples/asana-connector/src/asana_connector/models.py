"""The parameters and results of operations, and the settings of a connection."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from connector_gateway.kit.models import Cursor, Day, IdempotencyKey, Params, Result, UtcDatetime

Gid = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,30}$")]
"""Asana's identifier, a number as text."""

TaskName = Annotated[str, Field(min_length=1, max_length=1024)]
Notes = Annotated[str, Field(max_length=65_535)]


class WatchSettings(Params):
    """The projects whose tasks a connection watches."""

    projects: list[Gid] = Field(default_factory=list, max_length=100)
    """Projects to watch. If empty, none is watched."""


class ListTasks(Params):
    """The requested page of a project's tasks."""

    project_id: Gid
    open_only: bool = False
    """Only tasks that are not completed."""

    limit: Annotated[int, Field(ge=1, le=100)] = 50
    """The maximum number of tasks."""

    cursor: Cursor | None = None


class CreateTask(Params):
    """A new task."""

    project_id: Gid
    name: TaskName
    notes: Notes = ""
    """Plain text."""

    due_on: Day | None = None
    assignee: Annotated[str, Field(min_length=1, max_length=320)] | None = None
    """A user's identifier or email address, or `me`. Asana notifies the user."""

    idempotency_key: IdempotencyKey | None = None


class UpdateTask(Params):
    """Changes of a task. Parameters that are left out stay as they are."""

    task_id: Gid
    name: TaskName | None = None
    notes: Notes | None = None
    completed: bool | None = None
    due_on: Day | None = None
    idempotency_key: IdempotencyKey | None = None


class Task(Result):
    """A task."""

    task_id: str
    name: str
    notes: str
    completed: bool
    due_on: Day | None
    assignee_id: str | None
    url: str


EventType = Literal["task.added", "task.changed", "task.removed", "task.deleted", "task.undeleted"]


class ReadTaskEvents(Params):
    """A filter for observed events."""

    since: UtcDatetime | None = None
    type: EventType | None = None
    """Only events of this type."""

    project_id: Gid | None = None
    """Only events of this project."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None


class TaskEvent(Result):
    """An observed change of a task."""

    event_id: str
    type: str
    task_id: str
    project_id: str
    """The watched project."""

    field: str | None
    """The changed field in Asana's terms, if the type is `task.changed`."""

    user_id: str | None
    """The user who made the change, or null if Asana did."""

    happened_at: UtcDatetime
    observed_at: UtcDatetime
