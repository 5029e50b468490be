"""Claims tell what their first call asked for; the installation tells its age, and when it was restored."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("claims", sa.Column("target", sa.String(64)))
    op.add_column("claims", sa.Column("parameters", sa.String(64)))
    op.add_column("installation", sa.Column("epoch", sa.BigInteger(), server_default="0"))
    op.add_column("installation", sa.Column("epoch_at", sa.Double()))
    op.create_table(
        "restores",
        sa.Column("restored_at", sa.Double(), nullable=False),
        sa.Column("backup_at", sa.Double(), nullable=False),
        sa.Column("noticed", sa.String(20), nullable=False),
        sa.PrimaryKeyConstraint("restored_at"),
    )


def downgrade() -> None:
    op.drop_table("restores")
    op.drop_column("installation", "epoch_at")
    op.drop_column("installation", "epoch")
    op.drop_column("claims", "parameters")
    op.drop_column("claims", "target")
