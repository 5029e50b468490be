"""PostgreSQL: what the history holds already is bounded, so that it can become one part of it without being read."""

import time

import sqlalchemy as sa
from alembic import op

from connector_gateway.storage.partitions import bound_of

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

DAYS_AHEAD = 7
"""As long may pass until the next steps: until they are made, no later run could be recorded."""


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite" or connection.execute(sa.text("SELECT 1 FROM runs LIMIT 1")).first() is None:
        return
    bound = bound_of(int(time.time() // 86_400) + DAYS_AHEAD)
    op.execute(f"ALTER TABLE runs ADD CONSTRAINT runs_bound CHECK (run_id < '{bound}') NOT VALID")


def downgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.execute("ALTER TABLE runs DROP CONSTRAINT IF EXISTS runs_bound")
