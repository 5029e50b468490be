"""Polls of the projects' event streams.

Asana's webhooks need one subscription and one secret per project, so changes are polled.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from asana_connector.client import AsanaClient, AsanaEvent
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.events import Observation, PollContext, Snapshot
from connector_gateway.kit.models import format_timestamp

POLL_SECONDS = 60.0
"""Asana processes most events within a minute. Source: developers.asana.com/reference/events, read 2026-11."""

SYNC = "sync"
"""The scope of the snapshots with each project's sync token, and the time of its request."""


async def poll(watch: PollContext[AsanaClient]) -> None:
    """Read the events of every watched project. A project that cannot be read does not delay the others."""
    projects, tokens = watch.settings.get("projects", []), await watch.snapshots(SYNC)
    ended = [Snapshot(SYNC, project, None) for project in tokens.keys() - set(projects)]
    if ended:
        await watch.commit(snapshots=ended)
    failed: list[GatewayError] = []
    for project in projects:
        try:
            await _read_project(watch, project, tokens.get(project))
        except GatewayError as error:
            failed.append(error)
    if failed:
        raise failed[0]


async def _read_project(watch: PollContext[AsanaClient], project: str, last: dict[str, float | str] | None) -> None:
    """Read the events of *project* since its last sync token. Without one, the watch begins now."""
    has_more = True
    while has_more:
        now = watch.clock.now()
        page = await watch.upstream.get_events(project, str(last["token"]) if last else None)
        if page.is_new and last:
            reason = f"Asana no longer returns the events of project {project} since the last poll."
            await watch.record_gap(float(last["at"]), now, reason, project)
        last = {"token": page.sync, "at": now}
        await watch.commit(list(_observations(page.data, project)), [Snapshot(SYNC, project, last)])
        has_more = page.has_more


def _observations(events: Sequence[AsanaEvent], project: str) -> Iterator[Observation]:
    """Yield the changes of tasks. Others, such as comments, are not reported."""
    for event in events:
        if event.resource.resource_type != "task":
            continue
        field = event.change.field if event.change else None
        user = event.user.gid if event.user else None
        parent = event.parent.gid if event.parent else ""
        change = f"{field} {event.change.action}" if event.change else ""
        yield Observation(
            identity=(project, event.created_at, event.resource.gid, event.action, parent, change, user or ""),
            type=f"task.{event.action}",
            data={
                "task_id": event.resource.gid,
                "project_id": project,
                "field": field,
                "user_id": user,
                "happened_at": format_timestamp(datetime.fromisoformat(event.created_at)),
            },
            channel=project,
        )
