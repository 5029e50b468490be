"""Windows for handing over a secret can be closed before their time."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hook_windows",
        sa.Column("connector", sa.String(20), nullable=False),
        sa.Column("closed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("connector"),
    )


def downgrade() -> None:
    op.drop_table("hook_windows")
