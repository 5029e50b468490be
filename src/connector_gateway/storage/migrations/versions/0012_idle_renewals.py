"""Idle tokens become due one after the other, and are found among revoked ones; consents do not name their link."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

INDEX = "ix_connections_refresh_due_at"
RENEWABLE = "status = 'active' AND refresh_due_at IS NOT NULL"
LATER_SECONDS = 40 * 86_400
"""Two thirds of the shortest life that an application gives refresh tokens that nobody uses."""


def upgrade() -> None:
    op.drop_index(INDEX, "connections")
    op.create_index(
        INDEX,
        "connections",
        ["refresh_due_at"],
        sqlite_where=sa.text(f"{RENEWABLE} AND deleted IS 0"),
        postgresql_where=sa.text(f"{RENEWABLE} AND deleted IS false"),
    )
    # Zero stands for those of which nothing was known. An access token ends soon after it was issued, and each renewal
    # issued one: its end tells when the refresh token was last used, and spreads what the update makes due.
    spread = f"UPDATE connections SET refresh_due_at = expires_at + {LATER_SECONDS}"  # noqa: S608  # a number
    op.execute(f"{spread} WHERE refresh_due_at = 0 AND expires_at IS NOT NULL")
    op.drop_index("ix_consents_link", "consents")
    with op.batch_alter_table("consents", schema=None) as batch_op:
        batch_op.drop_column("link")


def downgrade() -> None:
    # Consents last fifteen minutes; those under way could not be told from what link they came.
    op.execute("DELETE FROM consents")
    with op.batch_alter_table("consents", schema=None) as batch_op:
        batch_op.add_column(sa.Column("link", sa.LargeBinary(32), nullable=False))
    op.create_index("ix_consents_link", "consents", ["link"])
    op.drop_index(INDEX, "connections")
    op.create_index(INDEX, "connections", ["refresh_due_at"])
