"""Webhooks may be for some types of events, and tell how their last attempt failed."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("types", sa.JSON()))
    op.add_column("webhook_positions", sa.Column("result", sa.String(20)))
    op.add_column("webhook_positions", sa.Column("http_status", sa.Integer()))


def downgrade() -> None:
    op.drop_column("webhook_positions", "http_status")
    op.drop_column("webhook_positions", "result")
    op.drop_column("webhooks", "types")
