"""PostgreSQL: the history is kept in a partition for each day, and what was there before is the first one."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BOUND = sa.text(
    "SELECT substring(pg_get_constraintdef(oid) from '''(run_[0-9A-Z]+)''') FROM pg_constraint"
    " WHERE conname = 'runs_bound' AND conrelid = 'runs'::regclass"
)
LAST = "run_Z"
"""Behind every identifier that is made in this millennium."""

INDEXES = {
    "ix_runs_workspace": "(workspace_id, run_id)",
    "ix_runs_connection": "(workspace_id, connection_id, run_id)",
    "ix_runs_process": "(process_id) WHERE process_id IS NOT NULL",
    "ix_runs_unsuccessful": "(workspace_id, status, run_id) WHERE status IN ('error', 'interrupted', 'partial')",
    "ix_runs_refused": "(run_id) WHERE code = 'rate_limited'",
    "ix_runs_and_more": "(workspace_id, run_id) WHERE and_more IS NOT NULL",
}


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    # All of this only changes the catalogue, and calls wait for it: no row is read or moved.
    op.execute("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
    bound = connection.execute(BOUND).scalar()
    filled = connection.execute(sa.text("SELECT 1 FROM runs LIMIT 1")).first() is not None
    op.execute("ALTER TABLE runs RENAME TO runs_first")
    op.execute("ALTER INDEX runs_pkey RENAME TO runs_first_pkey")
    for name in INDEXES:
        op.execute(f"ALTER INDEX {name} RENAME TO {name}_first")
    op.execute("CREATE TABLE runs (LIKE runs_first INCLUDING DEFAULTS) PARTITION BY RANGE (run_id)")
    op.execute("ALTER TABLE runs ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id)")
    for name, columns in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON runs {columns}")
    if filled:
        op.execute(f"ALTER TABLE runs ATTACH PARTITION runs_first FOR VALUES FROM (MINVALUE) TO ('{bound or LAST}')")
        op.execute("ALTER TABLE runs_first DROP CONSTRAINT IF EXISTS runs_bound")
    else:
        op.execute("DROP TABLE runs_first")
    # For identifiers of a clock that is far ahead, or behind what was dropped.
    op.execute("CREATE TABLE runs_rest PARTITION OF runs DEFAULT")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    op.execute("ALTER TABLE runs RENAME TO runs_parted")
    op.execute("ALTER TABLE runs_parted DROP CONSTRAINT runs_pkey")
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("CREATE TABLE runs (LIKE runs_parted INCLUDING DEFAULTS, CONSTRAINT runs_pkey PRIMARY KEY (run_id))")
    op.execute("INSERT INTO runs SELECT * FROM runs_parted")
    op.execute("DROP TABLE runs_parted")
    for name, columns in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON runs {columns}")
