"""A run tells whether it was a dry run; those of before tell nothing, so that no row is written anew."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("dry_run", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "dry_run")
