"""The routes of data sources: their schemas and rows."""

from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import block_parsing, rich_text
from workspace_sandbox.notes.data import column_definitions, database_edits
from workspace_sandbox.notes.data.queries import RowQuery, select_properties
from workspace_sandbox.notes.data.state import DataSource, Page, Workspace
from workspace_sandbox.notes.error_responses import archived
from workspace_sandbox.notes.object_json import WITH_SOURCES, list_object
from workspace_sandbox.notes.pagination import Window, read_window
from workspace_sandbox.notes.request import ApiRequest, cursor_scope

KEYS = ("filter", "sorts", "start_cursor", "page_size", "in_trash", "is_archived", "result_type")
INCOMPLETE = {"request_status": {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}}


def retrieve_source(request: ApiRequest) -> dict[str, Any]:
    """Return a data source with its schema."""
    request.check_data_sources()
    return request.responses.source(request.workspace.source(request.bot, request.path_id("data_source_id")))


def query_source(request: ApiRequest) -> dict[str, Any]:
    """Query the rows of a data source."""
    request.check_data_sources()
    return query_rows(request, request.workspace.source(request.bot, request.path_id("data_source_id")))


def query_rows(request: ApiRequest, source: DataSource) -> dict[str, Any]:
    """Return the rows of *source* that a request selects."""
    body = request.read_fields(*KEYS)
    requested = read_window(body, "body")
    query = RowQuery(request.workspace, source)
    only = select_properties(request.workspace, source, request.filter_properties)
    matches = query.run(body, _candidates(request.workspace, body, source))
    cap = int(request.context.knobs["row_cap"])
    parameters = {key: body[key] for key in body if key not in {"start_cursor", "page_size"}}
    size = max(1, requested.size * 2 // 3) if request.context.knobs["short_pages"] else requested.size
    pages, cursor = request.cursors.paginate(
        cursor_scope(source.id, parameters), matches[:cap], lambda page: page.id, Window(size, requested.cursor)
    )
    kind = "page_or_data_source" if request.responses.version >= WITH_SOURCES else "page_or_database"
    extra = INCOMPLETE if len(matches) > cap else {}
    return list_object(kind, [request.responses.page(page, only) for page in pages], cursor, **extra)


def _candidates(workspace: Workspace, body: dict[str, Any], source: DataSource) -> list[Page]:
    in_trash = validation.boolean(body.get("in_trash", False), "body.in_trash")
    is_archived = validation.boolean(body.get("is_archived", False), "body.is_archived")
    kind = validation.one_of(body.get("result_type", "page"), "body.result_type", ("page", "data_source"))
    if is_archived or kind != "page":
        return []
    rows = [workspace.pages[uid] for uid in source.rows]
    return [page for page in rows if page.in_trash == in_trash]


def create_source(request: ApiRequest) -> dict[str, Any]:
    """Add a data source to a database."""
    request.check_data_sources()
    body = request.read_fields("parent", "properties", "title", "icon")
    parent = validation.obj(validation.need(body, "parent", "body"), "body.parent", "type", "database_id")
    uid = validation.uid(validation.need(parent, "database_id", "body.parent"), "body.parent.database_id")
    database = request.workspace.database(request.bot, uid)
    columns = column_definitions.parse_new_columns(
        request, validation.need(body, "properties", "body"), "body.properties"
    )
    icon = block_parsing.icon(body.get("icon"), "body.icon")
    source = database_edits.add_source(request.workspace, database, read_title(body), columns, request.bot)
    source.icon = icon
    return request.responses.source(source)


def update_source(request: ApiRequest) -> dict[str, Any]:
    """Change the title, icon and columns, or move it to the trash or out of it."""
    request.check_data_sources()
    source = request.workspace.source(request.bot, request.path_id("data_source_id"))
    body = request.read_fields("title", "icon", "properties", "in_trash")
    in_trash = validation.boolean(body.get("in_trash", source.in_trash), "body.in_trash")
    icon, title = block_parsing.icon(body.get("icon", source.icon), "body.icon"), read_title(body)
    columns = column_definitions.parse_column_changes(request, source, body.get("properties", {}), "body.properties")
    if source.in_trash and in_trash and body:
        raise archived()
    if not in_trash:
        database_edits.trash(request.workspace, source, request.bot, into=False)
    database_edits.change_columns(request.workspace, source, columns, request.bot)
    source.icon = icon
    if "title" in body:
        database_edits.retitle(request.workspace, source, title, request.bot)
    if in_trash:
        database_edits.trash(request.workspace, source, request.bot, into=True)
    return request.responses.source(source)


def list_templates(request: ApiRequest) -> dict[str, Any]:
    """List the templates of a data source, of which there are none."""
    request.check_data_sources()
    request.workspace.source(request.bot, request.path_id("data_source_id"))
    return {"templates": [], "has_more": False, "next_cursor": None}


def read_title(body: dict[str, Any]) -> str:
    """Return the title in a request, without styles."""
    return rich_text.plain_text(rich_text.parse(body.get("title", []), "body.title"))
