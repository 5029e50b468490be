"""The tables, in SQLAlchemy Core. Times are seconds since the epoch."""

from collections.abc import Callable
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)
from typing_extensions import override

metadata = MetaData()


class MsgspecJson(TypeDecorator[Any]):
    """JSON as text, for columns that every call writes and no statement searches."""

    # Plain text with our own encoder, because SQLAlchemy's JSON type is slower.
    impl = Text
    cache_ok = True

    @override
    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str | None]:
        """Return the function that encodes a value as JSON text."""
        return _encode

    @override
    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str | None], Any]:
        """Return the function that decodes a value from JSON text."""
        return _decode


def _encode(value: Any) -> str | None:
    return None if value is None else to_json(value).decode()


def _decode(text: str | None) -> Any:
    return None if text is None else from_json(text)


workspaces = Table(
    "workspaces",
    metadata,
    Column("workspace_id", String(40), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("plan", String(10), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("return_urls", MsgspecJson, nullable=False, server_default="[]"),
)

keys = Table(
    "keys",
    metadata,
    Column("key_id", String(40), primary_key=True),
    Column("workspace_id", ForeignKey("workspaces.workspace_id"), nullable=False, index=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("ending", String(4), nullable=False),
    Column("name", String(200), nullable=False),
    Column("scope", String(10), nullable=False),
    Column("calls_per_minute", Integer, nullable=False),
    Column("connection_ids", JSON(none_as_null=True)),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Column("last_used_at", Double),
    Column("manages_connections", Boolean, nullable=False, server_default=false()),
    Column("operations", JSON(none_as_null=True)),
    Column("mentions", String(10)),
)
"""API keys.

``mentions`` is ``allow`` or ``neutralise``. Without either, each surface has its default. ``last_used_at`` is updated
periodically, and may be some seconds old.
"""

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("expires_at", Double, nullable=False, index=True),
    Column("operator_id", String(40)),
    Column("seen_at", Double, server_default="0"),
)
"""Console sessions, by the digest of their identifier.

``seen_at`` is the time of the last page request, to some seconds. ``operator_id`` is null for the built-in operator.
"""

operators = Table(
    "operators",
    metadata,
    Column("operator_id", String(40), primary_key=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
)
"""Operators other than the built-in one, by the digest of their token. ``role`` is ``admin`` or ``viewer``."""

audit = Table(
    "audit",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False, index=True),
    Column("actor", String(60), nullable=False),
    Column("address", String(60)),
    Column("surface", String(10), nullable=False),
    Column("act", String(60), nullable=False),
    Column("object_id", String(80), nullable=False),
    Column("workspace_id", String(40)),
    Column("outcome", String(40), nullable=False),
    Column("count", Integer, nullable=False),
    Column("details", MsgspecJson, nullable=False),
    Column("mac", LargeBinary(32), nullable=False),
    Index("ix_audit_object", "object_id", "sequence"),
    Index("ix_audit_actor", "actor", "sequence"),
    Index("ix_audit_workspace", "workspace_id", "sequence"),
)
"""Administrative actions. ``mac`` covers an entry and the ``mac`` of the previous one. Rows are only ever added."""

audit_chain = Table(
    "audit_chain",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("mac", LargeBinary(32), nullable=False),
    Column("seal", LargeBinary(32), nullable=False),
)
"""One row: the key of the audit trail, the end of its chain, and the proof that this end was written with the key."""

_existing, _existing_sqlite = text("deleted IS false"), text("deleted IS 0")
"""The condition in the statements that list connections. SQLite selects the indexes by its text."""

RENEWABLE = "status = 'active' AND refresh_due_at IS NOT NULL"
"""Connections whose refresh tokens expire from disuse. The statement and the index have the same text."""

connections = Table(
    "connections",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("workspace_id", ForeignKey("workspaces.workspace_id"), nullable=False),
    Column("connector", String(20), nullable=False),
    Column("name", String(200), nullable=False),
    Column("status", String(10), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("account_id", String(200)),
    Column("account_name", String(500)),
    Column("scopes", JSON(none_as_null=True)),
    Column("reason", String(40)),
    Column("refresh_lease", String(40)),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Column("last_refreshed_at", Double),
    Column("refresh_began_at", Double),
    Column("refresh_until", Double),
    Column("refresh_due_at", Double),
    Column("app_id", String(200)),
    Column("era", Integer, server_default="0"),
    *(
        Index(name, *columns, sqlite_where=_existing_sqlite, postgresql_where=_existing)
        for name, columns in {
            "ix_connections": ("connection_id",),
            "ix_connections_workspace": ("workspace_id", "connection_id"),
            "ix_connections_connector": ("connector", "connection_id"),
            "ix_connections_account": ("connector", "account_id"),
            "ix_connections_workspace_connector": ("workspace_id", "connector", "connection_id"),
        }.items()
    ),
    Index(
        "ix_connections_refresh_due_at",
        "refresh_due_at",
        sqlite_where=text(f"{RENEWABLE} AND deleted IS 0"),
        postgresql_where=text(f"{RENEWABLE} AND deleted IS false"),
    ),
)
"""Connections.

``status`` is ``pending``, ``active``, ``revoked`` or ``removed``, and ``reason`` is why it is revoked. ``era`` grows
with each replacement of the credentials, which may be those of another account. Token refreshes do not count.
``expires_at`` is when the access token expires. ``refresh_lease`` identifies the refresh in progress, until
``refresh_until``. ``refresh_began_at`` is set from before its request until its outcome is known. ``refresh_due_at`` is
when the tokens are refreshed even without calls, because the vendor expires unused refresh tokens. ``app_id`` is the
vendor's app that the credentials are proven to belong to.
"""

connect_links = Table(
    "connect_links",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("connection_id", String(40), nullable=False, index=True),
    Column("return_url", Text),
    Column("allow_other_account", Boolean, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
    Column("used_at", Double),
)
"""Links by which users connect an account. ``digest`` is that of the token in the URL."""

consents = Table(
    "consents",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("browser", LargeBinary(32), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
    Column("used_at", Double),
    Column("link", LargeBinary(32), index=True),
    Column("workspace_id", String(40), index=True),
)
"""Browsers that were redirected to a vendor, by the digest of the ``state`` with which they return.

``browser`` is the digest of the cookie. ``sealed`` holds the verifier and the link's token. ``link`` is the digest of
the connect link. Pending consents are counted by it and by ``workspace_id``.
"""

installation = Table(
    "installation",
    metadata,
    Column("row_id", Integer, primary_key=True, autoincrement=False),
    Column("installation_id", String(40), nullable=False),
    Column("epoch", BigInteger, server_default="0"),
    Column("epoch_at", Double),
)
"""One row: the prefix of names in a shared store, and the age of the database.

``epoch`` grows with every heartbeat of a process, and ``epoch_at`` is the time of the last one.
"""

restores = Table(
    "restores",
    metadata,
    Column("restored_at", Double, primary_key=True),
    Column("backup_at", Double, nullable=False),
    Column("noticed", String(20), nullable=False),
)
"""Restorations of the database: the time of each, that of its backup, and the evidence that was ``noticed``."""

processes = Table(
    "processes",
    metadata,
    Column("process_id", String(40), primary_key=True),
    Column("started_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
)

_under_way = text("process_id IS NOT NULL")
_in_doubt = text("state = 'doubtful'")
_unknown, _known = text("upstream_id IS NULL"), text("upstream_id IS NOT NULL")
_rate_limited = text("code = 'rate_limited'")
_and_more = text("and_more IS NOT NULL")

UNSUCCESSFUL = text("status IN ('error', 'interrupted', 'partial')")
"""Statements that search for such runs have the same text, because SQLite selects the index by it."""

runs = Table(
    "runs",
    metadata,
    Column("run_id", String(40), primary_key=True),
    Column("workspace_id", String(40), nullable=False),
    Column("key_id", String(40), nullable=False),
    Column("connection_id", String(200)),
    Column("connector", String(20), nullable=False),
    Column("operation", String(60), nullable=False),
    Column("surface", String(10), nullable=False),
    Column("status", String(12), nullable=False),
    Column("http_status", Integer),
    Column("code", String(40)),
    Column("started_at", Double, nullable=False),
    Column("duration_ms", Double),
    Column("upstream", MsgspecJson, nullable=False),
    Column("idempotency", MsgspecJson),
    Column("process_id", String(40)),
    Column("and_more", Integer),
    Column("more_until", String(40)),
    Column("details", MsgspecJson),
    Column("dry_run", Boolean),
    Column("parameters", Text),
    Index("ix_runs_workspace", "workspace_id", "run_id"),
    Index("ix_runs_connection", "workspace_id", "connection_id", "run_id"),
    Index("ix_runs_process", "process_id", sqlite_where=_under_way, postgresql_where=_under_way),
    Index(
        "ix_runs_unsuccessful",
        "workspace_id",
        "status",
        "run_id",
        sqlite_where=UNSUCCESSFUL,
        postgresql_where=UNSUCCESSFUL,
    ),
    Index("ix_runs_refused", "run_id", sqlite_where=_rate_limited, postgresql_where=_rate_limited),
    Index("ix_runs_and_more", "workspace_id", "run_id", sqlite_where=_and_more, postgresql_where=_and_more),
)
"""Runs.

``process_id`` is set while a run is in progress, so that runs interrupted by a crash can be found. ``and_more`` counts
rejected calls of the same key without a row of their own, the last of them at ``more_until``. ``parameters`` are the
names of those that were sent, separated by commas, or null if they were not read.
"""

claims = Table(
    "claims",
    metadata,
    Column("workspace_id", String(40), primary_key=True),
    Column("connection_id", String(40), primary_key=True),
    Column("operation", String(60), primary_key=True),
    Column("idempotency_key", String(255), primary_key=True),
    Column("target", String(64)),
    Column("parameters", String(64)),
    Column("run_id", String(40), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("process_id", String(40)),
    Column("sealed", LargeBinary),
    Column("settle_seconds", Double, nullable=False),
    Column("settles_at", Double),
    Column("status", String(10)),
    Column("expires_at", Double, nullable=False, index=True),
    Index("ix_claims_process", "process_id", sqlite_where=_under_way, postgresql_where=_under_way),
    Index("ix_claims_doubtful", "settles_at", sqlite_where=_in_doubt, postgresql_where=_in_doubt),
)
"""Idempotency claims. ``state`` is ``held``, ``doubtful`` or ``done``.

``run_id`` is the attempt that holds the claim, and fences it. ``sealed`` is what the attempts planned and sent, with
the parameters of the first one. Once the claim is done, it is the first response. ``settles_at`` is when the sent
requests are either done or never will be. ``target`` and ``parameters`` are digests of the parameters of the first
call.
"""

owned = Table(
    "owned",
    metadata,
    Column("row_id", String(40), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("upstream_id", String(200)),
    Column("fingerprint", String(64), nullable=False),
    Column("owner", String(40), nullable=False),
    Column("keyed", Boolean, nullable=False),
    Column("process_id", String(40)),
    Column("expires_at", Double, nullable=False, index=True),
    Column("scope", String(80)),
    Index(
        "ix_owned_object",
        "scope",
        "kind",
        "upstream_id",
        unique=True,
        sqlite_where=_known,
        postgresql_where=_known,
    ),
    Index("ix_owned_equal", "fingerprint", sqlite_where=_unknown, postgresql_where=_unknown),
)
"""The write that each upstream object belongs to. Without ``upstream_id``, the object was about to be created.

``scope`` is that within which the vendor's identifiers are unique: the connector, or one of its accounts. Objects keep
their owner whatever happens to the connection.

``owner`` is the run that created it. If it is ``keyed``, a repeat with its key may continue it. ``process_id`` is set
while its creator may still receive the identifier.
"""

changed = Table(
    "changed",
    metadata,
    Column("change_id", String(40), primary_key=True),
    Column("target", String(64), nullable=False, index=True),
    Column("mark", String(40), nullable=False),
    Column("run_id", String(40), nullable=False),
    Column("changed_at", Double, nullable=False),
)
"""Acknowledged changes of upstream objects, so that no older change in doubt is sent over them.

``target`` is a digest of the object's name in one scope, ``mark`` that of the step that changed it. A change in an
account has a second row, in a scope that depends only on the connector. ``change_id`` grows with time, and rows are
deleted by it.
"""

watches = Table(
    "watches",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("connector", String(20), nullable=False),
    Column("account", String(200)),
    Column("place", String(200)),
    Column("state", MsgspecJson, nullable=False),
    Column("due_at", Double),
    Column("whole_at", Double),
    Column("behind_since", Double),
    Column("failures", Integer, nullable=False),
    Column("lease", String(40)),
    Column("leased_by", String(40)),
    Column("sequence", BigInteger, nullable=False),
    Column("observed_at", Double, nullable=False),
    Index("ix_watches_account", "connector", "account"),
    Index("ix_watches_place", "connector", "place"),
    Index("ix_watches_due", "connector", "due_at"),
)
"""Connections whose changes are observed.

``account`` is the identity that deliveries name in their authorisations, ``place`` its part of the vendor's system.
``due_at`` is when to poll next, ``whole_at`` when to poll everything. ``lease`` identifies the one poll in progress.
``behind_since`` is the time since which deliveries may have been missed. ``state`` contains the connector's notes.
``sequence`` and ``observed_at`` are those of the newest event.
"""

snapshots = Table(
    "snapshots",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("scope", String(80), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("value", MsgspecJson, nullable=False),
    Index("ix_snapshots_name", "scope", "name"),
)
"""Snapshots of objects at the last poll, in the connector's own terms, and the time since which everything is polled.
"""

wakes = Table(
    "wakes",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("wake", String(200), primary_key=True),
)
"""Places for which a delivery has requested a poll, before everything is polled."""

events = Table(
    "events",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", String(40), nullable=False),
    Column("type", String(40), nullable=False),
    Column("channel", String(40)),
    Column("observed_at", Double, nullable=False, index=True),
    Column("data", MsgspecJson, nullable=False),
    Column("sealed", LargeBinary),
    UniqueConstraint("connection_id", "event_id"),
    Index("ix_events_since", "connection_id", "observed_at", "sequence"),
)
"""Observed events. ``sealed`` is the content, which earlier versions stored in ``data``.

``sequence`` orders those of a connection, and none ever appears after a later one.
"""

gaps = Table(
    "gaps",
    metadata,
    Column("gap_id", String(40), primary_key=True),
    Column("connection_id", String(40), nullable=False),
    Column("channel", String(40)),
    Column("since_at", Double, nullable=False),
    Column("until_at", Double, nullable=False),
    Column("noted_at", Double, nullable=False, index=True),
    Column("run_id", String(40), nullable=False),
    Column("why", Text, nullable=False),
    Index("ix_gaps_connection", "connection_id", "until_at"),
)
"""Periods from which events may be missing."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("webhook_id", String(40), primary_key=True),
    Column("workspace_id", ForeignKey("workspaces.workspace_id"), nullable=False, index=True),
    Column("connection_id", String(40)),
    Column("url", Text, nullable=False),
    Column("name", String(200), nullable=False),
    Column("status", String(10), nullable=False),
    Column("reason", String(20)),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("types", JSON(none_as_null=True)),
)
"""URLs to which events are delivered. Without ``connection_id``, those of all connections of the workspace.

``status`` is ``active`` or ``disabled``, and ``reason`` is why it is disabled. ``sealed`` is the signing secret.
``types`` are the event types that are delivered, or all of them if there are none.
"""

webhook_positions = Table(
    "webhook_positions",
    metadata,
    Column("webhook_id", String(40), primary_key=True),
    Column("connection_id", String(40), primary_key=True),
    Column("after", BigInteger, nullable=False),
    Column("newest", BigInteger, nullable=False),
    Column("due_at", Double, index=True),
    Column("failures", Integer, nullable=False),
    Column("failing_since", Double),
    Column("delivered_at", Double),
    Column("lease", String(40), index=True),
    Column("result", String(20)),
    Column("http_status", Integer),
)
"""The delivery position of each webhook. ``after`` is the number of the last accepted event.

``newest`` is at least that of the newest event. ``due_at`` is when the next event is tried, and until when a ``lease``
holds, which identifies the delivery in progress. ``failures`` and ``failing_since`` are those of the next event,
``result`` and ``http_status`` the outcome of the last failed attempt.
"""

hooks = Table(
    "hooks",
    metadata,
    Column("connector", String(20), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("received_at", Double, nullable=False),
)
"""Secrets received from vendors, with which their deliveries are signed."""

hook_windows = Table(
    "hook_windows",
    metadata,
    Column("connector", String(20), primary_key=True),
    Column("closed_at", Double, nullable=False),
)
"""Times at which the windows for receiving a secret were closed early. Windows opened later are not affected."""
