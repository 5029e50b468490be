"""Events: watches, snapshots, hints, events, gaps and hooks; connections that exist already are watched from now on."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

OBSERVED = ("notes", "chat")


def upgrade() -> None:
    op.create_table(
        "watches",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("connector", sa.String(length=20), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.Column("whole_at", sa.Double(), nullable=True),
        sa.Column("behind_since", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(length=40), nullable=True),
        sa.Column("leased_by", sa.String(length=40), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("observed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("connection_id"),
    )
    op.create_index("ix_watches_due", "watches", ["connector", "due_at"])
    op.create_index("ix_watches_account", "watches", ["connector", "account"])
    op.create_table(
        "snapshots",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("scope", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("connection_id", "scope", "name"),
    )
    op.create_index("ix_snapshots_name", "snapshots", ["scope", "name"])
    op.create_table(
        "hints",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("hint", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("connection_id", "hint"),
    )
    op.create_table(
        "events",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.String(length=40), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("channel", sa.String(length=40), nullable=True),
        sa.Column("observed_at", sa.Double(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("connection_id", "sequence"),
        sa.UniqueConstraint("connection_id", "event_id"),
    )
    op.create_index("ix_events_observed_at", "events", ["observed_at"])
    op.create_index("ix_events_since", "events", ["connection_id", "observed_at", "sequence"])
    op.create_table(
        "gaps",
        sa.Column("gap_id", sa.String(length=40), nullable=False),
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("channel", sa.String(length=40), nullable=True),
        sa.Column("since_at", sa.Double(), nullable=False),
        sa.Column("until_at", sa.Double(), nullable=False),
        sa.Column("noted_at", sa.Double(), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("gap_id"),
    )
    op.create_index("ix_gaps_noted_at", "gaps", ["noted_at"])
    op.create_index("ix_gaps_connection", "gaps", ["connection_id", "until_at"])
    op.create_table(
        "hooks",
        sa.Column("connector", sa.String(length=20), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("connector"),
    )
    _watch_existing()


def _watch_existing() -> None:
    connections = sa.table(
        "connections", sa.column("connection_id"), sa.column("connector"), sa.column("deleted", sa.Boolean)
    )
    columns = ["connection_id", "connector", "state", "due_at", "whole_at", "behind_since", "failures", "sequence"]
    watches = sa.table("watches", *map(sa.column, [*columns, "observed_at"]))
    now = sa.literal(time.time(), sa.Double)
    existing = sa.select(
        connections.c.connection_id,
        connections.c.connector,
        sa.literal("{}"),
        now,
        now,
        now,
        sa.literal(0),
        sa.literal(0),
        sa.literal(0.0, sa.Double),
    ).where(connections.c.connector.in_(OBSERVED), connections.c.deleted.is_(False))
    op.execute(watches.insert().from_select([*columns, "observed_at"], existing))


def downgrade() -> None:
    for table in ("hooks", "gaps", "events", "hints", "snapshots", "watches"):
        op.drop_table(table)
