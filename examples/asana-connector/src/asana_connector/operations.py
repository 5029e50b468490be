"""The operations, and the steps of writes."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from asana_connector.client import CHARGE, AsanaClient, AsanaTask
from asana_connector.errors import ProjectNotFound, TaskNotFound
from asana_connector.models import CreateTask, ListTasks, ReadTaskEvents, Task, TaskEvent, UpdateTask
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

AsanaContext = OperationContext[AsanaClient]

ONE = TypicalRequests(((CHARGE,),), ((CHARGE,),))


def _to_result(task: AsanaTask) -> StepResult:
    return {
        "id": task.gid,
        "name": task.name,
        "notes": task.notes,
        "completed": task.completed,
        "due_on": task.due_on.isoformat() if task.due_on else None,
        "assignee_id": task.assignee.gid if task.assignee else None,
        "url": task.permalink_url,
    }


def _to_task(result: Mapping[str, Any]) -> Task:
    due_on = result["due_on"]
    return Task(
        task_id=result["id"],
        due_on=date.fromisoformat(due_on) if due_on else None,
        **{name: result[name] for name in ("name", "notes", "completed", "assignee_id", "url")},
    )


async def _create(ctx: AsanaContext, intent: StepInput, _: str) -> StepResult:
    return _to_result(await ctx.upstream.create_task(intent["task"]))


async def _create_marked(ctx: AsanaContext, intent: StepInput, mark: str) -> StepResult:
    return _to_result(await ctx.upstream.create_task({**intent["task"], "external": {"gid": mark}}))


async def _find_marked(ctx: AsanaContext, _: StepInput, sent: SentStep) -> Sequence[Match]:
    try:
        task = await ctx.upstream.get_task(f"external:{sent.mark}")
    except TaskNotFound:
        return []
    return [Match(_to_result(task), task.gid)]


async def _update(ctx: AsanaContext, intent: StepInput, _: str) -> StepResult:
    return _to_result(await ctx.upstream.update_task(intent["task_id"], intent["changes"]))


async def _find_updated(ctx: AsanaContext, intent: StepInput, _: SentStep) -> Sequence[Match]:
    result = _to_result(await ctx.upstream.get_task(intent["task_id"]))
    return [Match(result)] if result.items() >= intent["changes"].items() else []


def _assignee(intent: StepInput) -> Sequence[str]:
    return [intent["task"]["assignee"]] if "assignee" in intent["task"] else []


CREATE_MARKED = WriteStep[AsanaContext]("create the task", _create_marked, _find_marked, notifies=_assignee)
"""An external gid is visible only to the app that set it, so a task that has it was created by this step.

Source: developers.asana.com/docs/custom-external-data, read 2026-11.
"""

CREATE = WriteStep[AsanaContext]("create the task", _create, None, notifies=_assignee)
"""With a personal access token there are no external gids. Nothing proves that a task was created."""

UPDATE = WriteStep[AsanaContext](
    "update the task", _update, _find_updated, changes=lambda intent: [f"task {intent['task_id']}"]
)


@reads(
    "GET /projects/{project_id}/tasks",
    errors=[ProjectNotFound],
    requests=ONE,
    examples=[lambda one: {"project_id": one["project_id"], "limit": 2}],
)
async def list_tasks(ctx: AsanaContext, params: ListTasks) -> Page[Task]:
    """List the tasks of a project, in the project's order."""
    offset = ctx.position["offset"] if ctx.position else None
    page = await ctx.upstream.get_tasks(params.project_id, params.limit, offset, open_only=params.open_only)
    tasks = [_to_task(_to_result(task)) for task in page.data]
    return Page[Task](items=tasks, position={"offset": page.next_page.offset} if page.next_page else None)


@writes(
    "POST /projects/{project_id}/tasks",
    requests=ONE,
    examples=[lambda one: {"project_id": one["project_id"], "name": "Book a room"}],
)
async def create_task(ctx: AsanaContext, params: CreateTask) -> Task:
    """Create a task in a project.

    If the account was connected with a personal access token, the outcome of a lost response stays unknown, because
    Asana keeps no mark by which the task could be found.
    """

    async def plan() -> Mapping[str, Any]:
        task = {"projects": [params.project_id], **_fields(params, "name", "notes", "due_on", "assignee")}
        # Decided once: a repeat after the connection has changed must look for what the first attempt sent.
        return {"task": task, "is_marked": ctx.has_oauth_tokens}

    planned = await ctx.plan(plan)
    step = CREATE_MARKED if planned["is_marked"] else CREATE
    return _to_task(await ctx.step(step, {"task": planned["task"]}))


@writes(
    "PATCH /tasks/{task_id}",
    errors=[TaskNotFound],
    requests=ONE,
    examples=[
        lambda one: {"task_id": one["task_id"], "completed": True},
        lambda one: {"task_id": one["task_id"], "completed": False},
    ],
)
async def update_task(ctx: AsanaContext, params: UpdateTask) -> Task:
    """Change a task: its name, notes or due date, or whether it is completed."""
    changes = _fields(params, "name", "notes", "completed", "due_on")
    if not changes:
        raise InvalidParameters("Nothing would change. Give at least one of name, notes, completed and due_on.")
    return _to_task(await ctx.step(UPDATE, {"task_id": params.task_id, "changes": changes}))


@reads("GET /events", requests=ONE, examples=[lambda _: {"limit": 1}])
async def read_events(ctx: AsanaContext, params: ReadTaskEvents) -> Page[TaskEvent]:
    """Read what changed in the tasks of the watched projects, oldest first.

    The setting `projects` of the connection lists the watched projects.

    Asana reports each change at most once, and rarely omits one.
    """
    return await ctx.events.page(
        ctx.connection_id,
        TaskEvent,
        ctx.position,
        limit=params.limit,
        since=params.since,
        event_type=params.type,
        channel=params.project_id,
        confirm=ctx.upstream.get_me,
    )


def _fields(params: CreateTask | UpdateTask, *names: str) -> dict[str, Any]:
    """Return the given parameters among *names*, as JSON."""
    return params.model_dump(mode="json", include=set(names), exclude_none=True, exclude_defaults=True)
