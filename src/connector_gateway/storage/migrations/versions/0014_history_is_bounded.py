"""PostgreSQL: all of the history is looked at for its bound, while calls go on; nothing waits for this."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

BOUND = sa.text("SELECT 1 FROM pg_constraint WHERE conname = 'runs_bound' AND conrelid = 'runs'::regclass")


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite" and connection.execute(BOUND).first():
        op.execute("ALTER TABLE runs VALIDATE CONSTRAINT runs_bound")


def downgrade() -> None:
    """The bound goes with the step before."""
