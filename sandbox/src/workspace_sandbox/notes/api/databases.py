"""The routes of databases."""

from typing import Any

from workspace_sandbox.notes import checks, wire
from workspace_sandbox.notes.api import data_sources
from workspace_sandbox.notes.content import block_parsing, richtext
from workspace_sandbox.notes.data import definitions, edits, tables
from workspace_sandbox.notes.data.state import Database
from workspace_sandbox.notes.request import ApiRequest
from workspace_sandbox.notes.views import WITH_SOURCES


def retrieve_database(request: ApiRequest) -> dict[str, Any]:
    """Return a database."""
    return request.responses.database(request.workspace.database(request.bot, request.path_id("database_id")))


def query_database(request: ApiRequest) -> dict[str, Any]:
    """Query the rows of a database, in versions without data sources."""
    if request.responses.version >= WITH_SOURCES:
        raise wire.bad_url()
    database = request.workspace.database(request.bot, request.path_id("database_id"))
    return data_sources.query_rows(request, request.workspace.only_source(database))


CREATE_KEYS = ("parent", "title", "description", "icon", "cover", "is_inline")
UPDATE_KEYS = ("title", "description", "icon", "cover", "is_inline", "in_trash")


def create_database(request: ApiRequest) -> dict[str, Any]:
    """Create a database on a page. Older versions pass its columns, newer ones those of its first data source."""
    older = request.responses.version < WITH_SOURCES
    body = request.read_fields(*CREATE_KEYS, "properties" if older else "initial_data_source")
    parent = checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", "page_id")
    uid = checks.uid(checks.need(parent, "page_id", "body.parent"), "body.parent.page_id")
    page = request.workspace.page(request.bot, uid)
    columns = definitions.parse_new_columns(request, *(_legacy_columns(body) if older else _columns(body)))
    appearance = _read_appearance(body)
    database = tables.create(request.workspace, page, data_sources.read_title(body), columns, request.bot)
    _set_appearance(database, appearance)
    return request.responses.database(database)


def _legacy_columns(body: dict[str, Any]) -> tuple[Any, str]:
    return checks.need(body, "properties", "body"), "body.properties"


def _columns(body: dict[str, Any]) -> tuple[Any, str]:
    """Return the columns of the first data source. The default is a title column."""
    first = checks.obj(body.get("initial_data_source", {}), "body.initial_data_source", "properties")
    return first.get("properties", {"Name": {"title": {}}}), "body.initial_data_source.properties"


def update_database(request: ApiRequest) -> dict[str, Any]:
    """Change the title, description, icon and cover, or trash or restore the database.

    Older versions change columns too.
    """
    older = request.responses.version < WITH_SOURCES
    database = request.workspace.database(request.bot, request.path_id("database_id"))
    body = request.read_fields(*UPDATE_KEYS, *(("properties",) if older else ()))
    in_trash = checks.boolean(body.get("in_trash", database.in_trash), "body.in_trash")
    appearance, title = _read_appearance(body), data_sources.read_title(body) if "title" in body else None
    if database.in_trash and in_trash and body:
        raise wire.archived()
    source = request.workspace.only_source(database) if older else None
    columns = (
        definitions.parse_column_changes(request, source, body.get("properties", {}), "body.properties")
        if source
        else []
    )
    if not in_trash:
        edits.trash(request.workspace, database, request.bot, into=False)
    if source and columns:
        tables.change_columns(request.workspace, source, columns, request.bot)
    if title is not None:
        tables.retitle(request.workspace, database, title, request.bot)
    if title is not None and source:
        tables.retitle(request.workspace, source, title, request.bot)
    _set_appearance(database, appearance)
    if in_trash:
        edits.trash(request.workspace, database, request.bot, into=True)
    return request.responses.database(database)


def _read_appearance(body: dict[str, Any]) -> dict[str, Any]:
    """Return the appearance fields of a request: all but the title and the columns."""
    parsers = {
        "description": lambda raw, path: richtext.plain_text(richtext.parse(raw, path)),
        "icon": block_parsing.icon,
        "cover": block_parsing.picture,
        "is_inline": checks.boolean,
    }
    return {name: parse(body[name], f"body.{name}") for name, parse in parsers.items() if name in body}


def _set_appearance(database: Database, appearance: dict[str, Any]) -> None:
    for name, value in appearance.items():
        setattr(database, name, value)
