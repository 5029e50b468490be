"""Connections of an account are found by an index, when one of them is removed."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_connections_account",
        "connections",
        ["connector", "account_id"],
        sqlite_where=sa.text("deleted IS 0"),
        postgresql_where=sa.text("deleted IS false"),
    )


def downgrade() -> None:
    op.drop_index("ix_connections_account", "connections")
