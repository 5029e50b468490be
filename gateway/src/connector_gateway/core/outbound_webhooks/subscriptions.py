"""Webhooks as operators manage them: create, list, change, rotate, replay and remove."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Select, and_, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.access.quotas import DEFAULT_QUOTAS, check_quota
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.outbound_webhooks.delivery_positions import events_after
from connector_gateway.core.outbound_webhooks.sender import WebhookSender
from connector_gateway.core.outbound_webhooks.signing import new_secret, rotate_secrets
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import ConnectionNotFound, InvalidParameters, WebhookNotFound
from connector_gateway.kit.identifiers import WorkspaceId, ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

OVERLAP_SECONDS = 24 * 60 * 60.0
"""Default seconds for which deliveries are also signed with the former secret."""

REASONS = {"active": None, "disabled": "by_operator"}
"""The reason that is stored with a status set by the operator."""

_webhooks, _positions, _events = tables.webhooks.c, tables.webhook_positions.c, tables.events.c
_connections = tables.connections.c


@dataclass(frozen=True, slots=True)
class WebhooksPage:
    """A page of webhooks, and the identifier before which the next page starts. None on the last page."""

    rows: Sequence[dict[str, Any]]
    before: str | None


@dataclass(eq=False, repr=False)
class Webhooks:
    """The webhooks of workspaces."""

    database: Database
    vault: Vault
    sender: WebhookSender
    clock: Clock
    event_types: Collection[str]
    """All types of events."""

    quota: int = field(kw_only=True, default=DEFAULT_QUOTAS.webhooks)

    async def create(
        self,
        workspace_id: WorkspaceId,
        url: str,
        *,
        name: str = "",
        connection_id: str | None = None,
        types: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Create a webhook for future events of *types*, or of all types. Only this result includes its ``secret``."""
        self._check(url=url, types=types or ())
        webhook_id, secret, now = f"wh_{ulid()}", new_secret(), self.clock.now()
        row = {
            "webhook_id": webhook_id,
            "workspace_id": workspace_id,
            "connection_id": connection_id,
            "url": url,
            "name": name,
            "status": "active",
            "reason": None,
            "sealed": self._encrypt([{"secret": secret, "ends_at": None}], webhook_id),
            "created_at": now,
            "updated_at": now,
            "types": list(types or ()) or None,
        }

        def create(db: SqlConnection) -> Mapping[str, Any]:
            check_quota(db, workspace_id, "webhooks", self.quota, _count(workspace_id))
            if connection_id is not None:
                _check_connection(db, connection_id, workspace_id)
            db.execute(insert(tables.webhooks), row)
            return row

        await self.database.write(with_audit_entry(create, "create_webhook", webhook_id))
        return {"secret": secret} | await self.show(webhook_id)

    async def show(self, webhook_id: str) -> dict[str, Any]:
        """Return one webhook."""
        query = _select_public().where(_webhooks.webhook_id == webhook_id)
        row = await self.database.read(lambda db: db.execute(query).mappings().first())
        if row is None:
            raise _not_found(webhook_id)
        return _public(row)

    async def page(
        self, workspace_id: WorkspaceId | None = None, *, before: str | None = None, limit: int = 50
    ) -> WebhooksPage:
        """Return webhooks, newest first."""
        query = _select_public().order_by(_webhooks.webhook_id.desc()).limit(limit + 1)
        if workspace_id is not None:
            query = query.where(_webhooks.workspace_id == workspace_id)
        if before is not None:
            query = query.where(_webhooks.webhook_id < before)
        rows = await self.database.read(lambda db: db.execute(query).mappings().all())
        items = [_public(row) for row in rows[:limit]]
        return WebhooksPage(items, items[-1]["webhook_id"] if len(rows) > limit else None)

    async def change(self, webhook_id: str, **changes: Any) -> dict[str, Any]:
        """Apply *changes* (``name``, ``url``, ``status``, ``types``) to a webhook.

        Waiting events are retried immediately, except after a change of the name.
        """
        self._check(**{name: changes[name] for name in ("url", "types") if name in changes})
        reason = {"reason": REASONS[changes["status"]]} if "status" in changes else {}
        resume = _resume(webhook_id, self.database.time()) if changes.keys() & {"url", "status", "types"} else None

        def change(db: SqlConnection) -> Mapping[Any, Any]:
            row = _update(db, webhook_id, **changes, **reason, updated_at=self.clock.now())
            if resume is not None:
                db.execute(resume)
            return row

        await self.database.write(with_audit_entry(change, "change_webhook", webhook_id, changed=sorted(changes)))
        return await self.show(webhook_id)

    async def disable(self, webhook_id: str, reason: str) -> None:
        """Stop deliveries until the operator activates the webhook again."""
        change = (
            update(tables.webhooks)
            .where(_webhooks.webhook_id == webhook_id, _webhooks.status == "active")
            .values(status="disabled", reason=reason, updated_at=self.clock.now())
        )
        await self.database.write(lambda db: db.execute(change))

    async def rotate(self, webhook_id: str, overlap_seconds: float = OVERLAP_SECONDS) -> dict[str, Any]:
        """Return the webhook with a new ``secret``.

        Until the overlap ends, deliveries are signed with the former secret too.
        """
        now = self.clock.now()

        def rotate(db: SqlConnection) -> Mapping[Any, Any]:
            query = select(_webhooks.sealed).where(_webhooks.webhook_id == webhook_id).with_for_update()
            sealed = db.execute(query).scalar()
            if sealed is None:
                raise _not_found(webhook_id)
            secrets = rotate_secrets(self.vault.decrypt(sealed, webhook_id)["secrets"], now, overlap_seconds)
            row = _update(db, webhook_id, sealed=self._encrypt(secrets, webhook_id), updated_at=now)
            return {"secret": secrets[0]["secret"], "workspace_id": row["workspace_id"]}

        rotated = await self.database.write(with_audit_entry(rotate, "rotate_webhook_secret", webhook_id))
        return {"secret": rotated["secret"]} | await self.show(webhook_id)

    async def replay(
        self, webhook_id: str, connection_id: str, *, since: float | None = None, after: str | None = None
    ) -> dict[str, Any]:
        """Deliver the retained events of a connection again: those *since* a time, those *after* an event, or all."""
        now = self.database.time()

        def replay(db: SqlConnection) -> dict[str, Any]:
            webhook = db.execute(select(tables.webhooks).where(_webhooks.webhook_id == webhook_id)).first()
            if webhook is None:
                raise _not_found(webhook_id)
            if webhook.connection_id not in {None, connection_id}:
                raise _connection_not_found(connection_id)
            _check_connection(db, connection_id, webhook.workspace_id)
            position = _replay_position(db, connection_id, since, after)
            retained = select(func.count(), func.max(_events.sequence)).where(
                events_after(connection_id, position, webhook.types)
            )
            count, newest = db.execute(retained).one()
            _set_position(db, webhook_id, connection_id, after=position, newest=newest or position, due_at=now)
            result = {"webhook_id": webhook_id, "connection_id": connection_id, "events": count}
            return result | {"workspace_id": webhook.workspace_id}

        replayed = await self.database.write(
            with_audit_entry(replay, "replay_webhook", webhook_id, connection_id=connection_id)
        )
        return {name: replayed[name] for name in ("webhook_id", "connection_id", "events")}

    async def remove(self, webhook_id: str) -> dict[str, Any]:
        """Stop deliveries and delete the webhook."""
        webhook = await self.show(webhook_id)

        def remove(db: SqlConnection) -> Mapping[str, Any]:
            db.execute(delete(tables.webhooks).where(_webhooks.webhook_id == webhook_id))
            db.execute(delete(tables.webhook_positions).where(_positions.webhook_id == webhook_id))
            return webhook

        await self.database.write(with_audit_entry(remove, "remove_webhook", webhook_id))
        return webhook

    def _check(self, *, url: str | None = None, types: Sequence[str] = ()) -> None:
        """Raise ``InvalidParameters`` for a URL that is not allowed or an unknown type of events."""
        if url is not None:
            self.sender.check(url)
        for unknown in [one for one in types if one not in self.event_types]:
            raise InvalidParameters(
                f"There is no event type {truncate(unknown)}.",
                {"parameter": "types", "value": unknown, "allowed": [*self.event_types]},
            )

    def _encrypt(self, secrets: Sequence[Mapping[str, Any]], webhook_id: str) -> bytes:
        return self.vault.encrypt({"secrets": secrets}, webhook_id)


def _count(workspace_id: str) -> Select[Any]:
    return select(func.count()).select_from(tables.webhooks).where(_webhooks.workspace_id == workspace_id)


def _select_public() -> Select[Any]:
    """Select webhooks with their delivery progress."""
    is_own = _positions.webhook_id == _webhooks.webhook_id
    failing = and_(is_own, _positions.failing_since.is_not(None))
    last = select(tables.webhook_positions).where(failing).order_by(_positions.failing_since).limit(1)
    return select(
        tables.webhooks,
        select(func.max(_positions.delivered_at)).where(is_own).scalar_subquery().label("delivered_at"),
        select(func.min(_positions.failing_since)).where(is_own).scalar_subquery().label("failing_since"),
        select(func.count()).where(is_own, _positions.newest > _positions.after).scalar_subquery().label("behind"),
        last.with_only_columns(_positions.result).scalar_subquery().label("failing_result"),
        last.with_only_columns(_positions.http_status).scalar_subquery().label("failing_status"),
        last.with_only_columns(_positions.connection_id).scalar_subquery().label("failing_connection_id"),
    )


def _update(db: SqlConnection, webhook_id: str, **values: Any) -> Mapping[Any, Any]:
    change = update(tables.webhooks).where(_webhooks.webhook_id == webhook_id).values(**values)
    row = db.execute(change.returning(_webhooks.workspace_id)).mappings().first()
    if row is None:
        raise _not_found(webhook_id)
    return row


def _resume(webhook_id: str, now: float) -> Any:
    """Return the statement that makes waiting events due now with the changed webhook. A delivery in progress ends."""
    waiting = update(tables.webhook_positions).where(
        _positions.webhook_id == webhook_id, _positions.due_at.is_not(None)
    )
    return waiting.values(due_at=now, failures=0, failing_since=None, lease=None)


def _replay_position(db: SqlConnection, connection_id: str, since: float | None, after: str | None) -> int:
    """Return the number of the last event that is not replayed."""
    events = select(func.max(_events.sequence)).where(_events.connection_id == connection_id)
    if after is not None:
        sequence = db.execute(events.where(_events.event_id == after)).scalar()
        if sequence is None:
            raise InvalidParameters(
                f"The event {truncate(after)} of this connection is not stored.", {"parameter": "after", "value": after}
            )
        return int(sequence)
    if since is None:
        return 0
    return db.execute(events.where(_events.observed_at < since)).scalar() or 0


def _set_position(db: SqlConnection, webhook_id: str, connection_id: str, **values: Any) -> None:
    """Insert or update a position. A delivery in progress ends."""
    values |= {"failures": 0, "failing_since": None, "lease": None}
    new = insert(tables.webhook_positions).values(webhook_id=webhook_id, connection_id=connection_id, **values)
    db.execute(new.on_conflict_do_update(index_elements=["webhook_id", "connection_id"], set_=values))


def _check_connection(db: SqlConnection, connection_id: str, workspace_id: str) -> None:
    query = select(_connections.connection_id).where(
        _connections.connection_id == connection_id, _connections.workspace_id == workspace_id
    )
    if db.execute(query).first() is None:
        raise _connection_not_found(connection_id)


def _connection_not_found(connection_id: str) -> ConnectionNotFound:
    return ConnectionNotFound(
        f"This webhook has no connection {truncate(connection_id)}.", {"parameter": "connection_id"}
    )


def _not_found(webhook_id: str) -> WebhookNotFound:
    return WebhookNotFound(
        f"There is no webhook {truncate(webhook_id)}.", {"parameter": "webhook_id", "value": webhook_id}
    )


FAILING = ("failing_connection_id", "failing_result", "failing_status")
PUBLIC_COLUMNS = ("webhook_id", "workspace_id", "connection_id", "url", "name", "status", "reason", "behind", *FAILING)
PUBLIC_TIMESTAMPS = ("created_at", "updated_at", "delivered_at", "failing_since")


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    times = {name: None if row[name] is None else utc_datetime(row[name]) for name in PUBLIC_TIMESTAMPS}
    return {name: row[name] for name in PUBLIC_COLUMNS} | {"types": row["types"] or []} | times
