"""Browsers that are signed in to the console, and when keys were used last."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("last_used_at", sa.Double(), nullable=True))
    op.create_table(
        "console_sessions",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_console_sessions_expires_at", "console_sessions", ["expires_at"])


def downgrade() -> None:
    op.drop_table("console_sessions")
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.drop_column("last_used_at")
