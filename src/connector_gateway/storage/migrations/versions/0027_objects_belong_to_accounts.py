"""Objects belong to vendor accounts rather than to connections, and acknowledged changes are recorded.

Rows of the release before have no scope: they count for every account until they expire, which takes two days. The
keys by connection stay as long as that release may still write.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

UNKNOWN, KNOWN = sa.text("upstream_id IS NULL"), sa.text("upstream_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("connections", sa.Column("era", sa.Integer, server_default="0"))
    op.add_column("owned", sa.Column("scope", sa.String(80)))
    op.create_index(
        "ix_owned_object",
        "owned",
        ["scope", "kind", "upstream_id"],
        unique=True,
        sqlite_where=KNOWN,
        postgresql_where=KNOWN,
    )
    op.create_index("ix_owned_equal", "owned", ["fingerprint"], sqlite_where=UNKNOWN, postgresql_where=UNKNOWN)
    # It only makes a search quicker, for which the key by connection serves the release before as well.
    op.drop_index("ix_owned_open", "owned")
    op.create_table(
        "changed",
        sa.Column("change_id", sa.String(40), primary_key=True),
        sa.Column("target", sa.String(64), nullable=False, index=True),
        sa.Column("mark", sa.String(40), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("changed")
    op.create_index(
        "ix_owned_open", "owned", ["connection_id", "fingerprint"], sqlite_where=UNKNOWN, postgresql_where=UNKNOWN
    )
    op.drop_index("ix_owned_equal", "owned")
    op.drop_index("ix_owned_object", "owned")
    op.drop_column("owned", "scope")
    op.drop_column("connections", "era")
