"""The routes of databases."""

from typing import Any

from workspace_sandbox.notes import data_sources, wire
from workspace_sandbox.notes.answers import WITH_SOURCES
from workspace_sandbox.notes.call import Call


def retrieve_database(call: Call) -> dict[str, Any]:
    """One database."""
    return call.answers.database(call.workspace.database(call.bot, call.uid("database_id")))


def query_database(call: Call) -> dict[str, Any]:
    """Rows of a database, for the versions that know no data sources."""
    if call.answers.version >= WITH_SOURCES:
        raise wire.bad_url()
    database = call.workspace.database(call.bot, call.uid("database_id"))
    return data_sources.rows(call, call.workspace.sole_source(database))
