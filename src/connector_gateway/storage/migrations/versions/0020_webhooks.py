"""Events are delivered to webhooks, each of which has a position in the events of each connection."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("webhook_id", sa.String(40), nullable=False),
        sa.Column("workspace_id", sa.String(40), sa.ForeignKey("workspaces.workspace_id"), nullable=False),
        sa.Column("connection_id", sa.String(40)),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(20)),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("webhook_id"),
    )
    op.create_index("ix_webhooks_workspace_id", "webhooks", ["workspace_id"])
    op.create_table(
        "webhook_positions",
        sa.Column("webhook_id", sa.String(40), nullable=False),
        sa.Column("connection_id", sa.String(40), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.Double()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.Double()),
        sa.Column("delivered_at", sa.Double()),
        sa.Column("lease", sa.String(40)),
        sa.PrimaryKeyConstraint("webhook_id", "connection_id"),
    )
    op.create_index("ix_webhook_positions_due_at", "webhook_positions", ["due_at"])
    op.create_index("ix_webhook_positions_lease", "webhook_positions", ["lease"])


def downgrade() -> None:
    op.drop_table("webhook_positions")
    op.drop_table("webhooks")
