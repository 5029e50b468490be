"""What deliveries say to poll is called a wake, as in the code."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("hints")
    op.create_table(
        "wakes",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("wake", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("connection_id", "wake"),
    )
    # What the old table said is not lost: everything that is watched is polled once.
    op.execute(sa.text("UPDATE watches SET due_at = 0, whole_at = 0"))


def downgrade() -> None:
    op.drop_table("wakes")
    op.create_table(
        "hints",
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("hint", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("connection_id", "hint"),
    )
