"""Connections know their account and how their tokens are; links and attempts to connect; where users are sent back."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

INSTANTS = ("expires_at", "last_used_at", "last_refreshed_at", "refresh_began_at", "refresh_until")


def upgrade() -> None:
    with op.batch_alter_table("connections", schema=None) as batch_op:
        batch_op.add_column(sa.Column("account_id", sa.String(length=200), nullable=True))
        batch_op.add_column(sa.Column("account_name", sa.String(length=500), nullable=True))
        batch_op.add_column(sa.Column("scopes", sa.JSON(none_as_null=True), nullable=True))
        batch_op.add_column(sa.Column("reason", sa.String(length=40), nullable=True))
        batch_op.add_column(sa.Column("refresh_lease", sa.String(length=40), nullable=True))
        for name in INSTANTS:
            batch_op.add_column(sa.Column(name, sa.Double(), nullable=True))
    op.add_column("workspaces", sa.Column("return_urls", sa.Text(), nullable=False, server_default="[]"))
    op.create_table(
        "connect_links",
        sa.Column("digest", sa.LargeBinary(length=32), primary_key=True),
        sa.Column("connection_id", sa.String(length=40), nullable=False),
        sa.Column("return_url", sa.Text(), nullable=True),
        sa.Column("allow_other_account", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
    )
    op.create_index("ix_connect_links_connection_id", "connect_links", ["connection_id"])
    op.create_index("ix_connect_links_expires_at", "connect_links", ["expires_at"])
    op.create_table(
        "consents",
        sa.Column("digest", sa.LargeBinary(length=32), primary_key=True),
        sa.Column("link", sa.LargeBinary(length=32), nullable=False),
        sa.Column("browser", sa.LargeBinary(length=32), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=True),
    )
    op.create_index("ix_consents_link", "consents", ["link"])
    op.create_index("ix_consents_expires_at", "consents", ["expires_at"])


def downgrade() -> None:
    op.drop_table("consents")
    op.drop_table("connect_links")
    with op.batch_alter_table("workspaces", schema=None) as batch_op:
        batch_op.drop_column("return_urls")
    with op.batch_alter_table("connections", schema=None) as batch_op:
        for name in (*INSTANTS, "refresh_lease", "reason", "scopes", "account_name", "account_id"):
            batch_op.drop_column(name)
