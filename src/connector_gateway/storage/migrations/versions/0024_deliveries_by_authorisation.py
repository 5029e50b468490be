"""Deliveries are matched by authorisation, and keys have a rule for mentions."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("mentions", sa.String(10)))
    op.add_column("connections", sa.Column("app_id", sa.String(200)))
    op.add_column("watches", sa.Column("place", sa.String(200)))
    op.create_index("ix_watches_place", "watches", ["connector", "place"])
    _identify_chat()


def downgrade() -> None:
    op.execute("UPDATE watches SET account = place WHERE connector = 'chat' AND place IS NOT NULL")
    op.drop_index("ix_watches_place", "watches")
    op.drop_column("watches", "place")
    op.drop_column("connections", "app_id")
    op.drop_column("keys", "mentions")


def _identify_chat() -> None:
    """Give watches of chat the identity that their last poll noted; poll them all, since no app is proven yet."""
    bind = op.get_bind()
    watches = sa.table(
        "watches",
        *map(sa.column, ("connection_id", "connector", "account", "place", "state", "due_at", "whole_at")),
    )
    chat = watches.c.connector == "chat"
    rows = bind.execute(sa.select(watches.c.connection_id, watches.c.state).where(chat)).all()
    identities = [
        {"_connection_id": row.connection_id, "_account": f"{team}/{user}", "_place": team}
        for row in rows
        for state in [json.loads(row.state)]
        if (team := state.get("team_id")) and (user := state.get("user_id"))
    ]
    # An identity that is unknown is found out by the next poll.
    bind.execute(sa.update(watches).where(chat).values(account=None))
    if identities:
        identify = sa.update(watches).where(watches.c.connection_id == sa.bindparam("_connection_id"))
        values: dict[str, Any] = {"account": sa.bindparam("_account"), "place": sa.bindparam("_place")}
        bind.execute(identify.values(**values), identities)
    bind.execute(sa.update(watches).where(chat, watches.c.due_at.is_(None)).values(due_at=0.0, whole_at=0.0))
