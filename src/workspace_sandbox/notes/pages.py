"""The routes of pages and their properties."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import bodies, checks, edits, markdown, richtext, tables, wire
from workspace_sandbox.notes.answers import listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.queries import Query, selected
from workspace_sandbox.notes.state import DataSource, Page, Property, Workspace
from workspace_sandbox.notes.wire import invalid
from workspace_sandbox.notes.writes import TITLE

CREATE_KEYS = ("parent", "properties", "children", "markdown", "icon", "cover")
UPDATE_KEYS = ("properties", "in_trash", "icon", "cover", "is_locked", "erase_content")
PARENTS = ("data_source_id", "database_id", "page_id")

UNCOMMITTED: dict[str, Callable[[], wire.Refusal]] = {
    "503_uncommitted": wire.unavailable,
    "529": wire.overloaded,
}
"""What the knob ``next_create`` lets happen instead of a page; ``503_committed`` happens after it."""


def create_page(call: Call) -> dict[str, Any]:
    """Create a page; answer 503 afterwards, or instead, where the knob ``next_create`` says so."""
    for key in ("template", "content", "position"):
        if key in call.body:
            raise wire.Refusal(400, "invalid_request", f"Unsupported request: page creation with {key}.")
    body = call.fields(*CREATE_KEYS)
    above = _above(call, checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", *PARENTS))
    icon = bodies.icon(body.get("icon"), "body.icon")
    cover = bodies.picture(body.get("cover"), "body.cover")
    source = above if isinstance(above, DataSource) else None
    drafts, properties = _contents(body, source)
    found = edits.given(call.workspace, source, properties, call.bot)
    accident, call.stage.knobs["next_create"] = call.stage.knobs["next_create"], ""
    if refuse := UNCOMMITTED.get(accident):
        raise refuse()
    page = edits.create(call.workspace, above, found, drafts, author=call.bot)
    page.icon, page.cover = icon, cover
    if accident == "503_committed":
        raise wire.unavailable(page.id)
    return call.answers.page(page)


def _contents(body: dict[str, Any], source: DataSource | None) -> tuple[list[bodies.Draft], Any]:
    """Blocks and properties of a new page; without a title, the first heading of its Markdown becomes it."""
    properties = body.get("properties", {})
    if "markdown" not in body:
        return bodies.read(body.get("children", []), "body.children"), properties
    if "children" in body:
        raise invalid("body failed validation: body should have either children or markdown.")
    drafts = markdown.read(checks.string(body["markdown"], "body.markdown"))
    named = {"title", *(prop.name for prop in source.of_type("title"))} if source else {"title"}
    first = next((draft for draft in drafts if draft.type == "heading_1"), None)
    if first is None or named & set(checks.obj(properties, "body.properties")):
        return drafts, properties
    title = {"title": [{"text": {"content": richtext.plain(first.content["rich_text"])}}]}
    return [draft for draft in drafts if draft is not first], {**properties, "title": title}


def retrieve_markdown(call: Call) -> dict[str, Any]:
    """What a page says, as Markdown."""
    return _markdown(call, call.workspace.page(call.bot, call.uid("page_id")))


def update_markdown(call: Call) -> dict[str, Any]:
    """Add to what a page says, or say something else."""
    page = call.workspace.page(call.bot, call.uid("page_id"))
    body = call.fields("type", *MARKDOWN, "update_content", "replace_content_range")
    kind = checks.one_of(body.get("type"), "body.type", (*MARKDOWN, "update_content", "replace_content_range"))
    if kind not in MARKDOWN:
        raise wire.Refusal(400, "invalid_request", f"Unsupported request: {kind}.")
    given = checks.obj(checks.need(body, kind, "body"), f"body.{kind}", MARKDOWN[kind], "allow_deleting_content")
    path = f"body.{kind}.{MARKDOWN[kind]}"
    drafts = markdown.read(checks.string(checks.need(given, MARKDOWN[kind], f"body.{kind}"), path))
    call.workspace.require_editable(page)
    if kind == "replace_content":
        edits.erase(call.workspace, page, call.bot)
    edits.extend(call.workspace, page, drafts, call.bot)
    return _markdown(call, page)


MARKDOWN = {"insert_content": "content", "replace_content": "new_str"}
"""What can be done with Markdown, and where it stands."""


def _markdown(call: Call, page: Page) -> dict[str, Any]:
    text, unknown = markdown.written(call.workspace, page)
    about = {"truncated": bool(unknown), "unknown_block_ids": unknown}
    return {"object": "page_markdown", "id": page.id, "markdown": text, **about}


def _above(call: Call, parent: dict[str, Any]) -> DataSource | Page:
    kind = next((kind for kind in PARENTS if kind in parent), "data_source_id")
    uid = checks.uid(checks.need(parent, kind, "body.parent"), f"body.parent.{kind}")
    if kind == "page_id":
        return call.workspace.page(call.bot, uid)
    if kind == "database_id":
        return call.workspace.sole_source(call.workspace.database(call.bot, uid))
    return call.workspace.source(call.bot, uid)


def retrieve_page(call: Call) -> dict[str, Any]:
    """One page, trashed or not."""
    page = call.workspace.page(call.bot, call.uid("page_id"))
    return call.answers.page(page, selected(call.workspace, call.workspace.source_of(page), call.filter_properties))


def update_page(call: Call) -> dict[str, Any]:
    """Update values, icon and cover, and move the page into the trash or out of it."""
    page = call.workspace.page(call.bot, call.uid("page_id"))
    body = call.fields(*UPDATE_KEYS)
    in_trash = checks.boolean(body["in_trash"], "body.in_trash") if "in_trash" in body else page.in_trash
    is_locked = checks.boolean(body.get("is_locked", page.is_locked), "body.is_locked")
    icon = bodies.icon(body.get("icon", page.icon), "body.icon")
    cover = bodies.picture(body.get("cover", page.cover), "body.cover")
    erase = checks.boolean(body.get("erase_content", False), "body.erase_content")
    if page.in_trash and in_trash and body:
        raise wire.archived()
    source = call.workspace.source_of(page)
    found = edits.given(call.workspace, source, body.get("properties", {}), call.bot)
    if not in_trash:
        edits.trash(call.workspace, page, call.bot, into=False)
    edits.update(call.workspace, page, found, call.bot)
    edits.lock(call.workspace, page, call.bot, locked=is_locked)
    page.icon, page.cover = icon, cover
    if body.keys() & {"icon", "cover"}:
        edits.revise(call.workspace, page, call.bot)
    if erase:
        edits.erase(call.workspace, page, call.bot)
    if in_trash:
        edits.trash(call.workspace, page, call.bot, into=True)
    return call.answers.page(page)


def move_page(call: Call) -> dict[str, Any]:
    """Put a page below another one, or into a data source."""
    page = call.workspace.page(call.bot, call.uid("page_id"))
    body = call.fields("parent")
    given = checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", "page_id", "data_source_id")
    above = _above(call, given)
    if any(upper is page for upper in call.workspace.lineage(above)):
        raise invalid("A page cannot be moved into itself.")
    tables.move(call.workspace, page, above, call.bot)
    return call.answers.page(page)


def retrieve_property(call: Call) -> dict[str, Any]:
    """One property of a page, with all its values."""
    page = call.workspace.page(call.bot, call.uid("page_id"))
    prop = _property(call.workspace, page, call.path["property_id"])
    items = call.answers.items(page, prop)
    if items is None:
        return call.answers.item(page, prop)
    places = list(enumerate(items))
    bounds = scope(page.id, prop.id)
    shown, cursor = call.cursors.turn(bounds, places, lambda place: str(place[0]), window(call.query, "query"))
    about = call.answers.about(page, prop)
    address = f"{call.stage.addresses['base']}/v1/pages/{page.id}/properties/{prop.wire_id}"
    about["next_url"] = cursor and f"{address}?start_cursor={cursor}"
    return listing("property_item", [item for _, item in shown], cursor, property_item=about)


def _property(workspace: Workspace, page: Page, key: str) -> Property:
    source = workspace.source_of(page)
    if source:
        return Query(workspace, source).property_in_address(key)
    if key != TITLE.id:
        raise invalid(f"Could not find property with name or id: {key}")
    return TITLE
