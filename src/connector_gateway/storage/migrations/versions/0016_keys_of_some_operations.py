"""Keys that are limited to some operations."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("operations", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.drop_column("operations")
