"""Workspaces, the owners of connections, keys and runs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, select, update

from connector_gateway.core.access.return_urls import url_problem
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.error_serialization import workspace_not_found
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.identifiers import WorkspaceId, ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

Plan = Literal["free", "paid"]


class Workspaces:
    """Creates, lists and changes workspaces."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create(self, name: str, plan: Plan = "free", return_urls: Sequence[str] = ()) -> dict[str, Any]:
        """Create a workspace, whose users may be redirected to *return_urls*."""
        _check_return_urls(return_urls)
        row: dict[str, Any] = {
            "workspace_id": f"ws_{ulid()}",
            "name": name,
            "plan": plan,
            "created_at": self._clock.now(),
            "return_urls": list(return_urls),
        }

        def create(db: Connection) -> Mapping[str, Any]:
            db.execute(insert(tables.workspaces), row)
            return row

        await self._database.write(with_audit_entry(create, "create_workspace", row["workspace_id"]))
        return _public(row)

    async def page(self, text: str, before: str | None, limit: int) -> tuple[Sequence[dict[str, Any]], str | None]:
        """Return workspaces whose name or identifier contains *text*, newest first, and the next *before* or None."""
        query = select(tables.workspaces).order_by(tables.workspaces.c.workspace_id.desc())
        query = query if before is None else query.where(tables.workspaces.c.workspace_id < before)
        # Databases differ in their case folding, so names are compared here.
        query = query if text else query.limit(limit + 1)
        rows = await self._database.read(lambda db: db.execute(query).mappings().all())
        needle = text.casefold()
        matches = [row for row in rows if needle in row["name"].casefold() or needle in row["workspace_id"].casefold()]
        public = [_public(row) for row in matches[:limit]]
        return public, public[-1]["workspace_id"] if len(matches) > limit else None

    async def show(self, workspace_id: str) -> dict[str, Any]:
        """Return one workspace."""
        query = select(tables.workspaces).where(tables.workspaces.c.workspace_id == workspace_id)
        row = await self._database.read(lambda db: db.execute(query).mappings().first())
        if row is None:
            raise workspace_not_found(workspace_id)
        return _public(row)

    async def count(self) -> int:
        """Return the number of workspaces."""
        query = select(func.count()).select_from(tables.workspaces)
        return await self._database.read(lambda db: db.execute(query).scalar_one())

    async def names(self, workspace_ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of *workspace_ids*, without unknown ones."""
        workspaces = tables.workspaces.c
        query = select(workspaces.workspace_id, workspaces.name).where(workspaces.workspace_id.in_(workspace_ids))
        rows = await self._database.read(lambda db: db.execute(query).all()) if workspace_ids else []
        return {row.workspace_id: row.name for row in rows}

    async def change(self, workspace_id: WorkspaceId, **changes: Any) -> dict[str, Any]:
        """Apply *changes* (``name``, ``plan``, ``return_urls``) and return the workspace."""
        _check_return_urls(changes.get("return_urls", ()))
        change = (
            update(tables.workspaces)
            .where(tables.workspaces.c.workspace_id == workspace_id)
            .values({"workspace_id": workspace_id} | changes)
            .returning(*tables.workspaces.c)
        )

        def update_row(db: Connection) -> Mapping[Any, Any] | None:
            return db.execute(change).mappings().first()

        row = await self._database.write(
            with_audit_entry(update_row, "change_workspace", workspace_id, changed=sorted(changes))
        )
        if row is None:
            raise workspace_not_found(workspace_id)
        return _public(row)


def _check_return_urls(return_urls: Sequence[str]) -> None:
    """Raise ``InvalidParameters`` if users cannot safely be redirected to all of *return_urls*."""
    details = [
        {"parameter": f"return_urls[{index}]", "value": url, "message": reason}
        for index, url in enumerate(return_urls)
        if (reason := url_problem(url) or ("has a query" if "?" in url else ""))
    ]
    if details:
        raise InvalidParameters("These return URLs are not allowed.", *details)


def check_workspace(connection: Connection, workspace_id: WorkspaceId) -> None:
    """Raise ``WorkspaceNotFound`` unless the workspace exists."""
    query = select(tables.workspaces.c.workspace_id).where(tables.workspaces.c.workspace_id == workspace_id)
    if connection.execute(query).first() is None:
        raise workspace_not_found(workspace_id)


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    return dict(row) | {"created_at": utc_datetime(row["created_at"])}
