"""The routes of blocks."""

from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import block_parsing
from workspace_sandbox.notes.data import page_edits
from workspace_sandbox.notes.data.state import Block, Container
from workspace_sandbox.notes.error_responses import archived, invalid
from workspace_sandbox.notes.object_json import WITHOUT_ARCHIVED, list_object
from workspace_sandbox.notes.pagination import read_window
from workspace_sandbox.notes.request import ApiRequest, cursor_scope


def retrieve_block(request: ApiRequest) -> dict[str, Any]:
    """Return a block."""
    return request.responses.block(request.workspace.block(request.bot, request.path_id("block_id")))


def update_block(request: ApiRequest) -> dict[str, Any]:
    """Change the content of a block, or move it to the trash or out of it. Its children and type stay."""
    block = request.workspace.block(request.bot, request.path_id("block_id"))
    if not isinstance(block, Block):
        raise invalid("Updating a page or database as a block is not supported. Use the routes of pages and databases.")
    body = request.read_fields("object", "type", "in_trash", block.type)
    validation.one_of(body.get("type", block.type), "body.type", (block.type,))
    in_trash = validation.boolean(body["in_trash"], "body.in_trash") if "in_trash" in body else block.in_trash
    content = (
        block_parsing.revise_content(block, body[block.type], f"body.{block.type}") if block.type in body else None
    )
    if block.in_trash and in_trash:
        raise archived()
    if not in_trash:
        page_edits.trash(request.workspace, block, request.bot, into=False)
    if content is not None:
        page_edits.rewrite(request.workspace, block, content, request.bot)
    if in_trash:
        page_edits.trash(request.workspace, block, request.bot, into=True)
    return request.responses.block(block)


def delete_block(request: ApiRequest) -> dict[str, Any]:
    """Move a block, page or database into the trash."""
    block = request.workspace.block(request.bot, request.path_id("block_id"))
    page_edits.trash(request.workspace, block, request.bot, into=True)
    return request.responses.block(block)


def list_children(request: ApiRequest) -> dict[str, Any]:
    """List the children of a block or page, without the trash."""
    block = request.workspace.block(request.bot, request.path_id("block_id"))
    uids = block.children if isinstance(block, Container) else []
    children = [request.workspace.block(request.bot, uid) for uid in uids]
    visible = [child for child in children if not child.in_trash]
    items, cursor = request.cursors.paginate(
        cursor_scope("children", block.id), visible, lambda child: child.id, read_window(request.query, "query")
    )
    return list_object("block", [request.responses.block(child) for child in items], cursor)


def append_children(request: ApiRequest) -> dict[str, Any]:
    """Append child blocks to a block or page."""
    into = block_parsing.check_container(request.workspace.block(request.bot, request.path_id("block_id")))
    older = request.responses.version < WITHOUT_ARCHIVED
    body = request.read_fields("children", "position", *(("after",) if older else ()))
    blocks = [request.workspace.blocks[uid] for uid in page_edits.append(request.workspace, into, body, request.bot)]
    return list_object("block", [request.responses.block(block) for block in blocks], None)
