"""Keys of agents, the tokens of their clients, and keys whose writes a person confirms."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("agent", sa.String(300)))
    op.add_column("keys", sa.Column("confirm", sa.JSON))
    op.create_table(
        "agent_tokens",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("client_id", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.Column("request", sa.Text),
    )
    op.create_index("ix_agent_tokens_expires_at", "agent_tokens", ["expires_at"])
