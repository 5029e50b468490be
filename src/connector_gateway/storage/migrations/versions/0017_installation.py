"""An installation has an identifier, by which a shared store tells it from others."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "installation",
        sa.Column("row_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("installation_id", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("row_id"),
    )


def downgrade() -> None:
    op.drop_table("installation")
