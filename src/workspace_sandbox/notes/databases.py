"""The routes of databases."""

from typing import Any

from workspace_sandbox.notes import bodies, checks, data_sources, definitions, edits, richtext, tables, wire
from workspace_sandbox.notes.answers import WITH_SOURCES
from workspace_sandbox.notes.call import Call
from workspace_sandbox.notes.state import Database


def retrieve_database(call: Call) -> dict[str, Any]:
    """One database."""
    return call.answers.database(call.workspace.database(call.bot, call.uid("database_id")))


def query_database(call: Call) -> dict[str, Any]:
    """Rows of a database, for the versions that know no data sources."""
    if call.answers.version >= WITH_SOURCES:
        raise wire.bad_url()
    database = call.workspace.database(call.bot, call.uid("database_id"))
    return data_sources.rows(call, call.workspace.sole_source(database))


NEW = ("parent", "title", "description", "icon", "cover", "is_inline")
CHANGED = ("title", "description", "icon", "cover", "is_inline", "in_trash")


def create_database(call: Call) -> dict[str, Any]:
    """A database on a page; older versions give its columns, newer ones those of its first data source."""
    older = call.answers.version < WITH_SOURCES
    body = call.fields(*NEW, "properties" if older else "initial_data_source")
    above = checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", "page_id")
    uid = checks.uid(checks.need(above, "page_id", "body.parent"), "body.parent.page_id")
    page = call.workspace.page(call.bot, uid)
    columns = definitions.first(call, *(_columns_of_older(body) if older else _columns(body)))
    look = _look(body)
    database = tables.create(call.workspace, page, data_sources.titled(body), columns, call.bot)
    _show(database, look)
    return call.answers.database(database)


def _columns_of_older(body: dict[str, Any]) -> tuple[Any, str]:
    return checks.need(body, "properties", "body"), "body.properties"


def _columns(body: dict[str, Any]) -> tuple[Any, str]:
    """Columns of the first data source; without any it has a title alone."""
    first = checks.obj(body.get("initial_data_source", {}), "body.initial_data_source", "properties")
    return first.get("properties", {"Name": {"title": {}}}), "body.initial_data_source.properties"


def update_database(call: Call) -> dict[str, Any]:
    """Change title, description and looks, for older versions also the columns, and move it into the trash or out."""
    older = call.answers.version < WITH_SOURCES
    database = call.workspace.database(call.bot, call.uid("database_id"))
    body = call.fields(*CHANGED, *(("properties",) if older else ()))
    in_trash = checks.boolean(body.get("in_trash", database.in_trash), "body.in_trash")
    look, title = _look(body), data_sources.titled(body) if "title" in body else None
    if database.in_trash and in_trash and body:
        raise wire.archived()
    source = call.workspace.sole_source(database) if older else None
    columns = definitions.changes(call, source, body.get("properties", {}), "body.properties") if source else []
    if not in_trash:
        edits.trash(call.workspace, database, call.bot, into=False)
    if source and columns:
        tables.reshape(call.workspace, source, columns, call.bot)
    if title is not None:
        tables.retitle(call.workspace, database, title, call.bot)
    if title is not None and source:
        tables.retitle(call.workspace, source, title, call.bot)
    _show(database, look)
    if in_trash:
        edits.trash(call.workspace, database, call.bot, into=True)
    return call.answers.database(database)


def _look(body: dict[str, Any]) -> dict[str, Any]:
    """What is given of all but the title and the columns."""
    read = {
        "description": lambda raw, path: richtext.plain(richtext.read(raw, path)),
        "icon": bodies.icon,
        "cover": bodies.picture,
        "is_inline": checks.boolean,
    }
    return {name: of(body[name], f"body.{name}") for name, of in read.items() if name in body}


def _show(database: Database, look: dict[str, Any]) -> None:
    for name, value in look.items():
        setattr(database, name, value)
