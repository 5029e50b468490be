"""Pending consents are counted by their connect link and by workspace; those that are pending now end uncounted."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("consents", sa.Column("link", sa.LargeBinary(32)))
    op.add_column("consents", sa.Column("workspace_id", sa.String(40)))
    op.create_index("ix_consents_link", "consents", ["link"])
    op.create_index("ix_consents_workspace_id", "consents", ["workspace_id"])


def downgrade() -> None:
    op.drop_index("ix_consents_workspace_id", "consents")
    op.drop_index("ix_consents_link", "consents")
    op.drop_column("consents", "workspace_id")
    op.drop_column("consents", "link")
