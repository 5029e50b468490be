"""Asana's requests, with its names for fields, its budget and its errors."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import quote

from asana_connector.errors import ProjectNotFound, TaskNotFound
from connector_gateway.kit.errors import UpstreamForbidden, UpstreamRefused
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel

BASE_URL = "https://app.asana.com"
API = "/api/1.0"

BUDGET = Budget(150, per_seconds=60)
"""The limit of a token in a free workspace; in a paid one it is 1,500. Source: developers.asana.com/docs/rate-limits,
read 2026-11.
"""

MAX_CONCURRENT_REQUESTS = 15
"""The limit for writes; 50 reads are allowed. Source: developers.asana.com/docs/rate-limits, read 2026-11."""

CHARGE = Charge("token")

TASK_FIELDS = "name,notes,completed,due_on,assignee.gid,permalink_url"


class AsanaUser(VendorModel):
    """A user."""

    gid: str
    name: str | None = None
    email: str | None = None


class AsanaReference(VendorModel):
    """A reference to an object, which is null in many places."""

    gid: str
    resource_type: str | None = None


class AsanaTask(VendorModel):
    """A task with the fields of ``TASK_FIELDS``."""

    gid: str
    name: str
    notes: str
    completed: bool
    due_on: date | None
    assignee: AsanaReference | None
    permalink_url: str


class AsanaChange(VendorModel):
    """The changed field of an event."""

    field: str
    action: str


class AsanaEvent(VendorModel):
    """A change. It has no identifier."""

    action: str
    resource: AsanaReference
    created_at: str
    user: AsanaReference | None = None
    parent: AsanaReference | None = None
    change: AsanaChange | None = None


class NextPage(VendorModel):
    """The position of the next page."""

    offset: str


class Tasks(VendorModel):
    """A page of tasks."""

    data: list[AsanaTask]
    next_page: NextPage | None = None


class OneTask(VendorModel):
    """The envelope of a task."""

    data: AsanaTask


class OneUser(VendorModel):
    """The envelope of a user."""

    data: AsanaUser


class AsanaEvents(VendorModel):
    """The events since a sync token, and the token for the next request."""

    sync: str
    data: Sequence[AsanaEvent] = ()
    has_more: bool = False
    is_new: bool = False
    """Whether the previous token was missing or no longer valid, so that there are no events."""


class AsanaMessage(VendorModel):
    """A message of an error."""

    message: str


class AsanaError(VendorModel):
    """An error response."""

    errors: list[AsanaMessage]


def parse_reason(response: UpstreamResponse) -> Reason | None:
    """Return Asana's message of an error, or None if the response is not an error in Asana's form."""
    error = None if response.is_success else response.try_decode(AsanaError)
    return Reason(message=error.errors[0].message) if error and error.errors else None


ERRORS = ErrorTable(
    parse_reason,
    by_status={402: UpstreamForbidden, 404: UpstreamRefused},
    # Asana checks these before it changes anything. A 500 says nothing about the change.
    rejections=[VendorRejection({400, 401, 402, 403, 404, 429}, "https://developers.asana.com/docs/errors")],
)


class AsanaClient:
    """Asana's requests, one method each. All pages were read in 2026-11."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def get_me(self) -> AsanaUser:
        """Request the user of the token. Source: developers.asana.com/reference/getuser."""
        query = {"opt_fields": "name,email"}
        response = await self._upstream.send("GET", f"{API}/users/me", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, OneUser).data

    async def get_tasks(self, project: str, limit: int, offset: str | None, *, open_only: bool) -> Tasks:
        """Request a page of a project's tasks, in its order. Source: developers.asana.com/reference/gettasks."""
        query: dict[str, Any] = {"project": project, "limit": limit, "opt_fields": TASK_FIELDS}
        query |= {"offset": offset} if offset else {}
        query |= {"completed_since": "now"} if open_only else {}
        response = await self._upstream.send("GET", f"{API}/tasks", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, Tasks, missing=ProjectNotFound)

    async def get_task(self, gid: str) -> AsanaTask:
        """Request a task. Source: developers.asana.com/reference/gettask."""
        query = {"opt_fields": TASK_FIELDS}
        response = await self._upstream.send("GET", _task_path(gid), CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, OneTask, missing=TaskNotFound).data

    async def create_task(self, task: Mapping[str, Any]) -> AsanaTask:
        """Create a task. Source: developers.asana.com/reference/createtask."""
        query = {"opt_fields": TASK_FIELDS}
        response = await self._upstream.send(
            "POST", f"{API}/tasks", CHARGE, writes=True, query=query, json={"data": task}
        )
        return ERRORS.unwrap(response, OneTask).data

    async def update_task(self, gid: str, changes: Mapping[str, Any]) -> AsanaTask:
        """Change the given fields of a task. Source: developers.asana.com/reference/updatetask."""
        query = {"opt_fields": TASK_FIELDS}
        response = await self._upstream.send(
            "PUT", _task_path(gid), CHARGE, writes=True, query=query, json={"data": changes}
        )
        return ERRORS.unwrap(response, OneTask, missing=TaskNotFound).data

    async def get_events(self, project: str, sync: str | None) -> AsanaEvents:
        """Request the events of a project since a sync token. Source: developers.asana.com/reference/getevents."""
        query = {"resource": project, **({"sync": sync} if sync else {})}
        response = await self._upstream.send("GET", f"{API}/events", CHARGE, writes=False, query=query)
        fresh = response.try_decode(AsanaEvents) if response.status == NO_SYNC_TOKEN else None
        if fresh is not None:
            return AsanaEvents(sync=fresh.sync, is_new=True)
        return ERRORS.unwrap(response, AsanaEvents, missing=ProjectNotFound)


NO_SYNC_TOKEN = 412
"""The status of a request whose sync token is missing, invalid or too old. Its body has a new one."""


def _task_path(gid: str) -> str:
    return f"{API}/tasks/{quote(gid, safe=':')}"
