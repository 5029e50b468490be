"""The history is looked into and purged without scans; refused calls beyond a number are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

UNSUCCESSFUL = sa.text("status IN ('error', 'interrupted', 'partial')")
REFUSED = sa.text("code = 'rate_limited'")
AND_MORE = sa.text("and_more IS NOT NULL")
INDEXES = {
    "ix_runs_unsuccessful": (["workspace_id", "status", "run_id"], UNSUCCESSFUL),
    "ix_runs_refused": (["run_id"], REFUSED),
    "ix_runs_and_more": (["workspace_id", "run_id"], AND_MORE),
}


def upgrade() -> None:
    op.add_column("runs", sa.Column("and_more", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("more_until", sa.String(length=40), nullable=True))
    for name, (columns, where) in INDEXES.items():
        op.create_index(name, "runs", columns, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "runs")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_column("more_until")
        batch_op.drop_column("and_more")
