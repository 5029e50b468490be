"""Keys may be allowed to send requests of their own to vendors."""

from alembic import op
from sqlalchemy import Boolean, Column

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", Column("passthrough", Boolean))
