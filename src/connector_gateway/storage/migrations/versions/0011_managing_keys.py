"""Keys that manage connections, and when tokens that nobody uses are renewed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("manages_connections", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("connections", sa.Column("refresh_due_at", sa.Double(), nullable=True))
    op.create_index("ix_connections_refresh_due_at", "connections", ["refresh_due_at"])
    # Whether their application ends tokens that nobody uses is not known here: each is looked at once, and then knows.
    op.execute("UPDATE connections SET refresh_due_at = 0 WHERE expires_at IS NOT NULL AND status = 'active'")


def downgrade() -> None:
    op.drop_index("ix_connections_refresh_due_at", table_name="connections")
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.drop_column("refresh_due_at")
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.drop_column("manages_connections")
