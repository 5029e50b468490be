"""Connections are listed page by page, with an index for every choice of filters."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

KEPT, KEPT_SQLITE = sa.text("deleted IS false"), sa.text("deleted IS 0")
INDEXES = {
    "ix_connections": ["connection_id"],
    "ix_connections_workspace": ["workspace_id", "connection_id"],
    "ix_connections_connector": ["connector", "connection_id"],
    "ix_connections_workspace_connector": ["workspace_id", "connector", "connection_id"],
}


def upgrade() -> None:
    op.drop_index("ix_connections_workspace_id", "connections")
    for name, columns in INDEXES.items():
        op.create_index(name, "connections", columns, sqlite_where=KEPT_SQLITE, postgresql_where=KEPT)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "connections")
    op.create_index("ix_connections_workspace_id", "connections", ["workspace_id"])
