"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "claims",
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("operation", sa.String(length=60), nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("process_id", sa.String(length=40), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("doubt", sa.String(length=12), nullable=True),
        sa.Column("doubted_at", sa.Double(), nullable=True),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=True),
        sa.Column("data", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "connection_id", "operation", "idempotency_key"),
    )
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_claims_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "processes",
        sa.Column("process_id", sa.String(length=40), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("process_id"),
    )
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=False),
        sa.Column("connection_id", sa.String(length=200), nullable=True),
        sa.Column("connector", sa.String(length=20), nullable=False),
        sa.Column("operation", sa.String(length=60), nullable=False),
        sa.Column("surface", sa.String(length=10), nullable=False),
        sa.Column("status", sa.String(length=12), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("code", sa.String(length=40), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("duration_ms", sa.Double(), nullable=True),
        sa.Column("upstream", sa.Text(), nullable=False),
        sa.Column("idempotency", sa.Text(), nullable=True),
        sa.Column("process_id", sa.String(length=40), nullable=True),
        sa.PrimaryKeyConstraint("run_id"),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_connection", ["workspace_id", "connection_id", "run_id"], unique=False)
        batch_op.create_index(
            "ix_runs_process",
            ["process_id"],
            unique=False,
            sqlite_where=sa.text("process_id IS NOT NULL"),
            postgresql_where=sa.text("process_id IS NOT NULL"),
        )
        batch_op.create_index("ix_runs_workspace", ["workspace_id", "run_id"], unique=False)

    op.create_table(
        "workspaces",
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id"),
    )
    op.create_table(
        "connections",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("connector", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspaces.workspace_id"],
        ),
        sa.PrimaryKeyConstraint("connection_id"),
    )
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_connections_workspace_id"), ["workspace_id"], unique=False)

    op.create_table(
        "keys",
        sa.Column("key_id", sa.String(length=40), nullable=False),
        sa.Column("workspace_id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("ending", sa.String(length=4), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("calls_per_minute", sa.Integer(), nullable=False),
        sa.Column("connection_ids", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspaces.workspace_id"],
        ),
        sa.PrimaryKeyConstraint("key_id"),
        sa.UniqueConstraint("digest"),
    )
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_keys_workspace_id"), ["workspace_id"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_keys_workspace_id"))

    op.drop_table("keys")
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_connections_workspace_id"))

    op.drop_table("connections")
    op.drop_table("workspaces")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("ix_runs_workspace")
        batch_op.drop_index(
            "ix_runs_process",
            sqlite_where=sa.text("process_id IS NOT NULL"),
            postgresql_where=sa.text("process_id IS NOT NULL"),
        )
        batch_op.drop_index("ix_runs_connection")

    op.drop_table("runs")
    op.drop_table("processes")
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_claims_expires_at"))

    op.drop_table("claims")
