"""The tables of the first release. Never edit them: every later change of the schema is a separate migration."""

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

revision = "0028"
down_revision = None
branch_labels = None
depends_on = None

metadata = MetaData()

PRESENT, PRESENT_SQLITE = text("deleted IS false"), text("deleted IS 0")
RENEWABLE = "status = 'active' AND refresh_due_at IS NOT NULL"
HELD = text("process_id IS NOT NULL")
IN_DOUBT = text("state = 'doubtful'")
UNKNOWN, KNOWN = text("upstream_id IS NULL"), text("upstream_id IS NOT NULL")
RATE_LIMITED = text("code = 'rate_limited'")
COUNTED = text("and_more IS NOT NULL")
UNSUCCESSFUL = text("status IN ('error', 'interrupted', 'partial')")

Table(
    "workspaces",
    metadata,
    Column("workspace_id", String(40), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("plan", String(10), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("return_urls", Text, nullable=False, server_default="[]"),
)

Table(
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

Table(
    "console_sessions",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("expires_at", Double, nullable=False, index=True),
    Column("operator_id", String(40)),
    Column("seen_at", Double, server_default="0"),
)

Table(
    "operators",
    metadata,
    Column("operator_id", String(40), primary_key=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
)

Table(
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
    Column("details", Text, nullable=False),
    Column("mac", LargeBinary(32), nullable=False),
    Index("ix_audit_object", "object_id", "sequence"),
    Index("ix_audit_actor", "actor", "sequence"),
    Index("ix_audit_workspace", "workspace_id", "sequence"),
)

Table(
    "audit_chain",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("mac", LargeBinary(32), nullable=False),
    Column("seal", LargeBinary(32), nullable=False),
)

Table(
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
        Index(name, *columns, sqlite_where=PRESENT_SQLITE, postgresql_where=PRESENT)
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

Table(
    "connect_links",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("connection_id", String(40), nullable=False, index=True),
    Column("return_url", Text),
    Column("allow_other_account", Boolean, nullable=False),
    Column("expires_at", Double, nullable=False, index=True),
    Column("used_at", Double),
)

Table(
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

Table(
    "installation",
    metadata,
    Column("row_id", Integer, primary_key=True, autoincrement=False),
    Column("installation_id", String(40), nullable=False),
    Column("epoch", BigInteger, server_default="0"),
    Column("epoch_at", Double),
)

Table(
    "restores",
    metadata,
    Column("restored_at", Double, primary_key=True),
    Column("backup_at", Double, nullable=False),
    Column("noticed", String(20), nullable=False),
)

Table(
    "processes",
    metadata,
    Column("process_id", String(40), primary_key=True),
    Column("started_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
)

Table(
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
    Column("upstream", Text, nullable=False),
    Column("idempotency", Text),
    Column("process_id", String(40)),
    Column("and_more", Integer),
    Column("more_until", String(40)),
    Column("details", Text),
    Column("dry_run", Boolean),
    Column("parameters", Text),
    Index("ix_runs_workspace", "workspace_id", "run_id"),
    Index("ix_runs_connection", "workspace_id", "connection_id", "run_id"),
    Index("ix_runs_process", "process_id", sqlite_where=HELD, postgresql_where=HELD),
    Index(
        "ix_runs_unsuccessful",
        "workspace_id",
        "status",
        "run_id",
        sqlite_where=UNSUCCESSFUL,
        postgresql_where=UNSUCCESSFUL,
    ),
    Index("ix_runs_refused", "run_id", sqlite_where=RATE_LIMITED, postgresql_where=RATE_LIMITED),
    Index("ix_runs_and_more", "workspace_id", "run_id", sqlite_where=COUNTED, postgresql_where=COUNTED),
)

Table(
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
    Column("data", Text),
    Column("expires_at", Double, nullable=False, index=True),
    Index("ix_claims_process", "process_id", sqlite_where=HELD, postgresql_where=HELD),
    Index("ix_claims_doubtful", "settles_at", sqlite_where=IN_DOUBT, postgresql_where=IN_DOUBT),
)

Table(
    "owned",
    metadata,
    Column("row_id", String(40), primary_key=True),
    Column("connection_id", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("upstream_id", String(200)),
    Column("fingerprint", String(64), nullable=False),
    Column("owner", String(40), nullable=False),
    Column("keyed", Boolean, nullable=False),
    Column("process_id", String(40)),
    Column("expires_at", Double, nullable=False, index=True),
    Column("scope", String(80)),
    UniqueConstraint("connection_id", "kind", "upstream_id"),
    Index(
        "ix_owned_object",
        "scope",
        "kind",
        "upstream_id",
        unique=True,
        sqlite_where=KNOWN,
        postgresql_where=KNOWN,
    ),
    Index("ix_owned_equal", "fingerprint", sqlite_where=UNKNOWN, postgresql_where=UNKNOWN),
)

Table(
    "changed",
    metadata,
    Column("change_id", String(40), primary_key=True),
    Column("target", String(64), nullable=False, index=True),
    Column("mark", String(40), nullable=False),
    Column("run_id", String(40), nullable=False),
    Column("changed_at", Double, nullable=False),
)

Table(
    "watches",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("connector", String(20), nullable=False),
    Column("account", String(200)),
    Column("place", String(200)),
    Column("state", Text, nullable=False),
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

Table(
    "snapshots",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("scope", String(80), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("value", Text, nullable=False),
    Index("ix_snapshots_name", "scope", "name"),
)

Table(
    "wakes",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("wake", String(200), primary_key=True),
)

Table(
    "events",
    metadata,
    Column("connection_id", String(40), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", String(40), nullable=False),
    Column("type", String(40), nullable=False),
    Column("channel", String(40)),
    Column("observed_at", Double, nullable=False, index=True),
    Column("data", Text, nullable=False),
    Column("sealed", LargeBinary),
    UniqueConstraint("connection_id", "event_id"),
    Index("ix_events_since", "connection_id", "observed_at", "sequence"),
)

Table(
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

Table(
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

Table(
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

Table(
    "hooks",
    metadata,
    Column("connector", String(20), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("received_at", Double, nullable=False),
)

Table(
    "hook_windows",
    metadata,
    Column("connector", String(20), primary_key=True),
    Column("closed_at", Double, nullable=False),
)


def upgrade() -> None:
    metadata.create_all(op.get_bind(), checkfirst=False)
