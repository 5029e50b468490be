"""Claims with attempts and sealed plans, and who owns what was made."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

UNKNOWN = sa.text("upstream_id IS NULL")
UNDER_WAY = sa.text("process_id IS NOT NULL")


def upgrade() -> None:
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.add_column(sa.Column("attempt", sa.Integer(), nullable=False, server_default="1"))
        batch_op.add_column(sa.Column("sealed", sa.LargeBinary(), nullable=True))
        batch_op.add_column(sa.Column("settle_seconds", sa.Double(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("settles_at", sa.Double(), nullable=True))
    # What older attempts planned is not known: nothing may be sent for them again. An empty seal cannot be opened.
    op.execute(
        sa.text(
            "UPDATE claims SET state = 'doubtful', process_id = NULL, sealed = :none WHERE state <> 'done'"
        ).bindparams(sa.bindparam("none", b"", type_=sa.LargeBinary()))
    )
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.alter_column("attempt", server_default=None)
        batch_op.alter_column("settle_seconds", server_default=None)
        batch_op.drop_column("started_at")
        batch_op.drop_column("doubt")
        batch_op.drop_column("doubted_at")
        batch_op.drop_column("progress")
        batch_op.create_index("ix_claims_process", ["process_id"], sqlite_where=UNDER_WAY, postgresql_where=UNDER_WAY)
    op.create_table(
        "owned",
        sa.Column("row_id", sa.String(length=40), nullable=False),
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("upstream_id", sa.String(length=200), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("keyed", sa.Boolean(), nullable=False),
        sa.Column("process_id", sa.String(length=40), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("row_id"),
        sa.UniqueConstraint("connection_id", "kind", "upstream_id"),
    )
    with op.batch_alter_table("owned", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_owned_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(
            "ix_owned_open", ["connection_id", "fingerprint"], sqlite_where=UNKNOWN, postgresql_where=UNKNOWN
        )


def downgrade() -> None:
    op.drop_table("owned")
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.drop_index("ix_claims_process", sqlite_where=UNDER_WAY, postgresql_where=UNDER_WAY)
        batch_op.add_column(sa.Column("started_at", sa.Double(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("doubt", sa.String(length=12), nullable=True))
        batch_op.add_column(sa.Column("doubted_at", sa.Double(), nullable=True))
        batch_op.add_column(sa.Column("progress", sa.Text(), nullable=False, server_default="{}"))
        batch_op.drop_column("attempt")
        batch_op.drop_column("sealed")
        batch_op.drop_column("settle_seconds")
        batch_op.drop_column("settles_at")
