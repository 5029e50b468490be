"""The routes of pages and their properties."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import error_responses, validation
from workspace_sandbox.notes.content import block_parsing, markdown, rich_text
from workspace_sandbox.notes.data import database_edits, page_edits
from workspace_sandbox.notes.data.property_input import TITLE
from workspace_sandbox.notes.data.queries import RowQuery, select_properties
from workspace_sandbox.notes.data.state import DataSource, Page, Property, Workspace
from workspace_sandbox.notes.error_responses import invalid
from workspace_sandbox.notes.object_json import list_object
from workspace_sandbox.notes.pagination import read_window
from workspace_sandbox.notes.request import ApiRequest, cursor_scope

CREATE_KEYS = ("parent", "properties", "children", "markdown", "icon", "cover")
UPDATE_KEYS = ("properties", "in_trash", "icon", "cover", "is_locked", "erase_content")
PARENTS = ("data_source_id", "database_id", "page_id")

UNCOMMITTED: dict[str, Callable[[], error_responses.ApiError]] = {
    "503_uncommitted": error_responses.unavailable,
    "529": error_responses.overloaded,
}
"""The errors that the knob ``next_create`` raises instead of creating a page.

``503_committed`` is raised afterwards.
"""


def create_page(request: ApiRequest) -> dict[str, Any]:
    """Create a page. The knob ``next_create`` can make it fail with 503 before or after the page is stored."""
    for key in ("template", "content", "position"):
        if key in request.body:
            raise error_responses.ApiError(400, "invalid_request", f"Unsupported request: page creation with {key}.")
    body = request.read_fields(*CREATE_KEYS)
    parent = _parent(
        request,
        validation.obj(validation.need(body, "parent", "body"), "body.parent", "type", *PARENTS),
    )
    icon = block_parsing.icon(body.get("icon"), "body.icon")
    cover = block_parsing.picture(body.get("cover"), "body.cover")
    source = parent if isinstance(parent, DataSource) else None
    drafts, properties = _read_content(body, source)
    values = page_edits.validate_properties(request.workspace, source, properties, request.bot)
    failure, request.context.knobs["next_create"] = request.context.knobs["next_create"], ""
    if create_error := UNCOMMITTED.get(failure):
        raise create_error()
    page = page_edits.create(request.workspace, parent, values, drafts, author=request.bot)
    page.icon, page.cover = icon, cover
    if failure == "503_committed":
        raise error_responses.unavailable(page.id)
    return request.responses.page(page)


def _read_content(body: dict[str, Any], source: DataSource | None) -> tuple[list[block_parsing.BlockDraft], Any]:
    """Return the blocks and properties of a new page. The first heading of its Markdown is the default title."""
    properties = body.get("properties", {})
    if "markdown" not in body:
        return block_parsing.parse_blocks(body.get("children", []), "body.children"), properties
    if "children" in body:
        raise invalid("body failed validation: body should have either children or markdown.")
    drafts = markdown.parse(validation.string(body["markdown"], "body.markdown"))
    title_keys = {"title", *(prop.name for prop in source.properties_of_type("title"))} if source else {"title"}
    heading = next((draft for draft in drafts if draft.type == "heading_1"), None)
    if heading is None or title_keys & set(validation.obj(properties, "body.properties")):
        return drafts, properties
    title = {"title": [{"text": {"content": rich_text.plain_text(heading.content["rich_text"])}}]}
    return [draft for draft in drafts if draft is not heading], {**properties, "title": title}


def retrieve_markdown(request: ApiRequest) -> dict[str, Any]:
    """Return the content of a page as Markdown."""
    return _markdown(request, request.workspace.page(request.bot, request.path_id("page_id")))


def update_markdown(request: ApiRequest) -> dict[str, Any]:
    """Insert Markdown into a page, or replace its content."""
    page = request.workspace.page(request.bot, request.path_id("page_id"))
    body = request.read_fields("type", *MARKDOWN, "update_content", "replace_content_range")
    kind = validation.one_of(body.get("type"), "body.type", (*MARKDOWN, "update_content", "replace_content_range"))
    if kind not in MARKDOWN:
        raise error_responses.ApiError(400, "invalid_request", f"Unsupported request: {kind}.")
    fields = validation.obj(
        validation.need(body, kind, "body"), f"body.{kind}", MARKDOWN[kind], "allow_deleting_content"
    )
    path = f"body.{kind}.{MARKDOWN[kind]}"
    drafts = markdown.parse(validation.string(validation.need(fields, MARKDOWN[kind], f"body.{kind}"), path))
    request.workspace.check_editable(page)
    if kind == "replace_content":
        page_edits.erase(request.workspace, page, request.bot)
    page_edits.extend(request.workspace, page, drafts, request.bot)
    return _markdown(request, page)


MARKDOWN = {"insert_content": "content", "replace_content": "new_str"}
"""The Markdown operations with the name of their content field."""


def _markdown(request: ApiRequest, page: Page) -> dict[str, Any]:
    text, unknown = markdown.render(request.workspace, page)
    status = {"truncated": bool(unknown), "unknown_block_ids": unknown}
    return {"object": "page_markdown", "id": page.id, "markdown": text, **status}


def _parent(request: ApiRequest, parent: dict[str, Any]) -> DataSource | Page:
    kind = next((kind for kind in PARENTS if kind in parent), "data_source_id")
    uid = validation.uid(validation.need(parent, kind, "body.parent"), f"body.parent.{kind}")
    if kind == "page_id":
        return request.workspace.page(request.bot, uid)
    if kind == "database_id":
        return request.workspace.only_source(request.workspace.database(request.bot, uid))
    return request.workspace.source(request.bot, uid)


def retrieve_page(request: ApiRequest) -> dict[str, Any]:
    """Return a page, including a trashed one."""
    page = request.workspace.page(request.bot, request.path_id("page_id"))
    return request.responses.page(
        page, select_properties(request.workspace, request.workspace.get_source(page), request.filter_properties)
    )


def update_page(request: ApiRequest) -> dict[str, Any]:
    """Update the values, icon and cover, or move the page to the trash or out of it."""
    page = request.workspace.page(request.bot, request.path_id("page_id"))
    body = request.read_fields(*UPDATE_KEYS)
    in_trash = validation.boolean(body["in_trash"], "body.in_trash") if "in_trash" in body else page.in_trash
    is_locked = validation.boolean(body.get("is_locked", page.is_locked), "body.is_locked")
    icon = block_parsing.icon(body.get("icon", page.icon), "body.icon")
    cover = block_parsing.picture(body.get("cover", page.cover), "body.cover")
    erase = validation.boolean(body.get("erase_content", False), "body.erase_content")
    if page.in_trash and in_trash and body:
        raise error_responses.archived()
    source = request.workspace.get_source(page)
    values = page_edits.validate_properties(request.workspace, source, body.get("properties", {}), request.bot)
    if not in_trash:
        page_edits.trash(request.workspace, page, request.bot, into=False)
    page_edits.update(request.workspace, page, values, request.bot)
    page_edits.lock(request.workspace, page, request.bot, locked=is_locked)
    page.icon, page.cover = icon, cover
    if body.keys() & {"icon", "cover"}:
        page_edits.record_content_change(request.workspace, page, request.bot)
    if erase:
        page_edits.erase(request.workspace, page, request.bot)
    if in_trash:
        page_edits.trash(request.workspace, page, request.bot, into=True)
    return request.responses.page(page)


def move_page(request: ApiRequest) -> dict[str, Any]:
    """Move a page below another one, or into a data source."""
    page = request.workspace.page(request.bot, request.path_id("page_id"))
    body = request.read_fields("parent")
    fields = validation.obj(validation.need(body, "parent", "body"), "body.parent", "type", "page_id", "data_source_id")
    parent = _parent(request, fields)
    if any(upper is page for upper in request.workspace.lineage(parent)):
        raise invalid("A page cannot be moved into itself.")
    database_edits.move(request.workspace, page, parent, request.bot)
    return request.responses.page(page)


def retrieve_property(request: ApiRequest) -> dict[str, Any]:
    """Return a property of a page, with all its values."""
    page = request.workspace.page(request.bot, request.path_id("page_id"))
    prop = _property(request.workspace, page, request.path["property_id"])
    items = request.responses.items(page, prop)
    if items is None:
        return request.responses.item(page, prop)
    indexed_items = list(enumerate(items))
    bounds = cursor_scope(page.id, prop.id)
    page_items, cursor = request.cursors.paginate(
        bounds, indexed_items, lambda entry: str(entry[0]), read_window(request.query, "query")
    )
    list_item = request.responses.list_property_item(page, prop)
    url = f"{request.context.addresses['base']}/v1/pages/{page.id}/properties/{prop.wire_id}"
    list_item["next_url"] = cursor and f"{url}?start_cursor={cursor}"
    return list_object("property_item", [item for _, item in page_items], cursor, property_item=list_item)


def _property(workspace: Workspace, page: Page, key: str) -> Property:
    source = workspace.get_source(page)
    if source:
        return RowQuery(workspace, source).property_in_url(key)
    if key != TITLE.id:
        raise invalid(f"Could not find property with name or id: {key}")
    return TITLE
