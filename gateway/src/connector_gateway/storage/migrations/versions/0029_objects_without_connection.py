"""Owner rows name the account of an object only, and claims hold their answer encrypted only."""

from alembic import op
from sqlalchemy import Boolean, Column, Double, Index, MetaData, String, Table, column, select, table, text

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

UNKNOWN, KNOWN = text("upstream_id IS NULL"), text("upstream_id IS NOT NULL")

owned = Table(
    "owned",
    MetaData(),
    Column("row_id", String(40), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("upstream_id", String(200)),
    Column("fingerprint", String(64), nullable=False),
    Column("owner", String(40), nullable=False),
    Column("keyed", Boolean, nullable=False),
    Column("process_id", String(40)),
    Column("expires_at", Double, nullable=False, index=True),
    Column("scope", String(80)),
    Index(
        "ix_owned_object",
        "scope",
        "kind",
        "upstream_id",
        unique=True,
        sqlite_where=KNOWN,
        postgresql_where=KNOWN,
    ),
    Index("ix_owned_equal", "fingerprint", sqlite_where=UNKNOWN, postgresql_where=UNKNOWN),
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        # SQLite cannot drop a constraint of a table; the table is copied.
        op.rename_table("owned", "owned_before")
        for index in ("ix_owned_object", "ix_owned_equal", "ix_owned_expires_at"):
            op.drop_index(index, "owned_before")
        owned.create(op.get_bind())
        names = [one.name for one in owned.columns]
        before = table("owned_before", *map(column, names))
        op.execute(owned.insert().from_select(names, select(before)))
        op.drop_table("owned_before")
    else:
        # Dropping the column drops its constraint.
        op.drop_column("owned", "connection_id")
    op.drop_column("claims", "data")
