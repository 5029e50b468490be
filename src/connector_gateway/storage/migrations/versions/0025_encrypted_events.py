"""Events are stored encrypted; what is stored already can be read, and expires."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("events", sa.Column("sealed", sa.LargeBinary()))


def downgrade() -> None:
    # Without the column nobody could read them, and a reader of the former version would not know what they lack.
    op.execute(sa.text("DELETE FROM events WHERE sealed IS NOT NULL"))
    op.drop_column("events", "sealed")
