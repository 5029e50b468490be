"""Runs the migrations on the connection that the migration runner passes."""

from alembic import context

from connector_gateway.storage.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
