"""The routes of data sources: their schemas, and their rows."""

from typing import Any

from workspace_sandbox.notes import bodies, checks, definitions, richtext, tables
from workspace_sandbox.notes.answers import WITH_SOURCES, listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import Window, window
from workspace_sandbox.notes.queries import Query, selected
from workspace_sandbox.notes.state import DataSource, Page, Workspace
from workspace_sandbox.notes.wire import archived

KEYS = ("filter", "sorts", "start_cursor", "page_size", "in_trash", "is_archived", "result_type")
INCOMPLETE = {"request_status": {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}}


def retrieve_source(call: Call) -> dict[str, Any]:
    """One data source with its schema."""
    call.require_sources()
    return call.answers.source(call.workspace.source(call.bot, call.uid("data_source_id")))


def query_source(call: Call) -> dict[str, Any]:
    """Rows of a data source."""
    call.require_sources()
    return rows(call, call.workspace.source(call.bot, call.uid("data_source_id")))


def rows(call: Call, source: DataSource) -> dict[str, Any]:
    """The rows of *source* that a request asks for."""
    body = call.fields(*KEYS)
    wanted = window(body, "body")
    query = Query(call.workspace, source)
    only = selected(call.workspace, source, call.filter_properties)
    found = query.run(body, _candidates(call.workspace, body, source))
    cap = int(call.stage.knobs["row_cap"])
    asked = {key: body[key] for key in body if key not in {"start_cursor", "page_size"}}
    size = max(1, wanted.size * 2 // 3) if call.stage.knobs["short_pages"] else wanted.size
    shown, cursor = call.cursors.turn(
        scope(source.id, asked), found[:cap], lambda page: page.id, Window(size, wanted.cursor)
    )
    kind = "page_or_data_source" if call.answers.version >= WITH_SOURCES else "page_or_database"
    about = INCOMPLETE if len(found) > cap else {}
    return listing(kind, [call.answers.page(page, only) for page in shown], cursor, **about)


def _candidates(workspace: Workspace, body: dict[str, Any], source: DataSource) -> list[Page]:
    in_trash = checks.boolean(body.get("in_trash", False), "body.in_trash")
    is_archived = checks.boolean(body.get("is_archived", False), "body.is_archived")
    kind = checks.one_of(body.get("result_type", "page"), "body.result_type", ("page", "data_source"))
    if is_archived or kind != "page":
        return []
    rows = [workspace.pages[uid] for uid in source.rows]
    return [page for page in rows if page.in_trash == in_trash]


def create_source(call: Call) -> dict[str, Any]:
    """Another data source of a database."""
    call.require_sources()
    body = call.fields("parent", "properties", "title", "icon")
    above = checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", "database_id")
    uid = checks.uid(checks.need(above, "database_id", "body.parent"), "body.parent.database_id")
    database = call.workspace.database(call.bot, uid)
    columns = definitions.first(call, checks.need(body, "properties", "body"), "body.properties")
    icon = bodies.icon(body.get("icon"), "body.icon")
    source = tables.add_source(call.workspace, database, titled(body), columns, call.bot)
    source.icon = icon
    return call.answers.source(source)


def update_source(call: Call) -> dict[str, Any]:
    """Change title, icon and columns, and move it into the trash or out of it."""
    call.require_sources()
    source = call.workspace.source(call.bot, call.uid("data_source_id"))
    body = call.fields("title", "icon", "properties", "in_trash")
    in_trash = checks.boolean(body.get("in_trash", source.in_trash), "body.in_trash")
    icon, title = bodies.icon(body.get("icon", source.icon), "body.icon"), titled(body)
    columns = definitions.changes(call, source, body.get("properties", {}), "body.properties")
    if source.in_trash and in_trash and body:
        raise archived()
    if not in_trash:
        tables.trash(call.workspace, source, call.bot, into=False)
    tables.reshape(call.workspace, source, columns, call.bot)
    source.icon = icon
    if "title" in body:
        tables.retitle(call.workspace, source, title, call.bot)
    if in_trash:
        tables.trash(call.workspace, source, call.bot, into=True)
    return call.answers.source(source)


def list_templates(call: Call) -> dict[str, Any]:
    """Templates of a data source; there are none."""
    call.require_sources()
    call.workspace.source(call.bot, call.uid("data_source_id"))
    return {"templates": [], "has_more": False, "next_cursor": None}


def titled(body: dict[str, Any]) -> str:
    """The title of a request, without its style."""
    return richtext.plain(richtext.read(body.get("title", []), "body.title"))
