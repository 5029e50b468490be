"""The routes of databases."""

from typing import Any

from workspace_sandbox.notes import error_responses, validation
from workspace_sandbox.notes.api import data_sources
from workspace_sandbox.notes.content import block_parsing, rich_text
from workspace_sandbox.notes.data import column_definitions, database_edits, page_edits
from workspace_sandbox.notes.data.state import Database
from workspace_sandbox.notes.object_json import WITH_SOURCES
from workspace_sandbox.notes.request import ApiRequest


def retrieve_database(request: ApiRequest) -> dict[str, Any]:
    """Return a database."""
    return request.responses.database(request.workspace.database(request.bot, request.path_id("database_id")))


def query_database(request: ApiRequest) -> dict[str, Any]:
    """Query the rows of a database, in versions without data sources."""
    if request.responses.version >= WITH_SOURCES:
        raise error_responses.bad_url()
    database = request.workspace.database(request.bot, request.path_id("database_id"))
    return data_sources.query_rows(request, request.workspace.only_source(database))


CREATE_KEYS = ("parent", "title", "description", "icon", "cover", "is_inline")
UPDATE_KEYS = ("title", "description", "icon", "cover", "is_inline", "in_trash")


def create_database(request: ApiRequest) -> dict[str, Any]:
    """Create a database on a page. Older versions pass its columns, newer ones those of its first data source."""
    older = request.responses.version < WITH_SOURCES
    body = request.read_fields(*CREATE_KEYS, "properties" if older else "initial_data_source")
    parent = validation.obj(validation.need(body, "parent", "body"), "body.parent", "type", "page_id")
    uid = validation.uid(validation.need(parent, "page_id", "body.parent"), "body.parent.page_id")
    page = request.workspace.page(request.bot, uid)
    columns = column_definitions.parse_new_columns(request, *(_legacy_columns(body) if older else _columns(body)))
    appearance = _read_appearance(body)
    database = database_edits.create(request.workspace, page, data_sources.read_title(body), columns, request.bot)
    _set_appearance(database, appearance)
    return request.responses.database(database)


def _legacy_columns(body: dict[str, Any]) -> tuple[Any, str]:
    return validation.need(body, "properties", "body"), "body.properties"


def _columns(body: dict[str, Any]) -> tuple[Any, str]:
    """Return the columns of the first data source. The default is a title column."""
    first = validation.obj(body.get("initial_data_source", {}), "body.initial_data_source", "properties")
    return first.get("properties", {"Name": {"title": {}}}), "body.initial_data_source.properties"


def update_database(request: ApiRequest) -> dict[str, Any]:
    """Change the title, description, icon and cover, or trash or restore the database.

    Older versions change columns too.
    """
    older = request.responses.version < WITH_SOURCES
    database = request.workspace.database(request.bot, request.path_id("database_id"))
    body = request.read_fields(*UPDATE_KEYS, *(("properties",) if older else ()))
    in_trash = validation.boolean(body.get("in_trash", database.in_trash), "body.in_trash")
    appearance, title = _read_appearance(body), data_sources.read_title(body) if "title" in body else None
    if database.in_trash and in_trash and body:
        raise error_responses.archived()
    source = request.workspace.only_source(database) if older else None
    columns = (
        column_definitions.parse_column_changes(request, source, body.get("properties", {}), "body.properties")
        if source
        else []
    )
    if not in_trash:
        page_edits.trash(request.workspace, database, request.bot, into=False)
    if source and columns:
        database_edits.change_columns(request.workspace, source, columns, request.bot)
    if title is not None:
        database_edits.retitle(request.workspace, database, title, request.bot)
    if title is not None and source:
        database_edits.retitle(request.workspace, source, title, request.bot)
    _set_appearance(database, appearance)
    if in_trash:
        page_edits.trash(request.workspace, database, request.bot, into=True)
    return request.responses.database(database)


def _read_appearance(body: dict[str, Any]) -> dict[str, Any]:
    """Return the appearance fields of a request: all but the title and the columns."""
    parsers = {
        "description": lambda raw, path: rich_text.plain_text(rich_text.parse(raw, path)),
        "icon": block_parsing.icon,
        "cover": block_parsing.picture,
        "is_inline": validation.boolean,
    }
    return {name: parse(body[name], f"body.{name}") for name, parse in parsers.items() if name in body}


def _set_appearance(database: Database, appearance: dict[str, Any]) -> None:
    for name, value in appearance.items():
        setattr(database, name, value)
