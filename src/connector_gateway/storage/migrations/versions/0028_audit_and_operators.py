"""Administrative acts are recorded, operators have names, and a run names the parameters that were sent."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

SESSION_SECONDS = 12 * 60 * 60.0
"""How long sessions lasted that were begun before."""


def upgrade() -> None:
    op.create_table(
        "operators",
        sa.Column("operator_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("revoked_at", sa.Double()),
        sa.PrimaryKeyConstraint("operator_id"),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "audit",
        sa.Column("sequence", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(60), nullable=False),
        sa.Column("address", sa.String(60)),
        sa.Column("surface", sa.String(10), nullable=False),
        sa.Column("act", sa.String(60), nullable=False),
        sa.Column("object_id", sa.String(80), nullable=False),
        sa.Column("workspace_id", sa.String(40)),
        sa.Column("outcome", sa.String(40), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("mac", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("sequence"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_object", "audit", ["object_id", "sequence"])
    op.create_index("ix_audit_actor", "audit", ["actor", "sequence"])
    op.create_index("ix_audit_workspace", "audit", ["workspace_id", "sequence"])
    op.create_table(
        "audit_chain",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("mac", sa.LargeBinary(32), nullable=False),
        sa.Column("seal", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.add_column("console_sessions", sa.Column("operator_id", sa.String(40)))
    op.add_column("console_sessions", sa.Column("seen_at", sa.Double(), server_default="0"))
    # They began that long before they end; nobody knows when a page was last asked for.
    sessions = sa.table("console_sessions", sa.column("seen_at", sa.Double()), sa.column("expires_at", sa.Double()))
    op.execute(sessions.update().values(seen_at=sessions.c.expires_at - SESSION_SECONDS))
    op.add_column("runs", sa.Column("parameters", sa.Text()))


def downgrade() -> None:
    op.drop_column("runs", "parameters")
    op.drop_column("console_sessions", "seen_at")
    op.drop_column("console_sessions", "operator_id")
    op.drop_table("audit_chain")
    op.drop_table("audit")
    op.drop_table("operators")
