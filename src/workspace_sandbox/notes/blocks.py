"""The routes of blocks."""

from typing import Any

from workspace_sandbox.notes import bodies, checks, edits
from workspace_sandbox.notes.answers import WITHOUT_ARCHIVED, listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.state import Block, Container
from workspace_sandbox.notes.wire import archived, invalid


def retrieve_block(call: Call) -> dict[str, Any]:
    """One block."""
    return call.answers.block(call.workspace.block(call.bot, call.uid("block_id")))


def update_block(call: Call) -> dict[str, Any]:
    """Change what a block says, and move it into the trash or out of it; its children and its type stay."""
    block = call.workspace.block(call.bot, call.uid("block_id"))
    if not isinstance(block, Block):
        raise invalid("Updating a page or database as a block is not supported. Use the routes of pages and databases.")
    body = call.fields("object", "type", "in_trash", block.type)
    checks.one_of(body.get("type", block.type), "body.type", (block.type,))
    in_trash = checks.boolean(body["in_trash"], "body.in_trash") if "in_trash" in body else block.in_trash
    content = bodies.revised(block, body[block.type], f"body.{block.type}") if block.type in body else None
    if block.in_trash and in_trash:
        raise archived()
    if not in_trash:
        edits.trash(call.workspace, block, call.bot, into=False)
    if content is not None:
        edits.rewrite(call.workspace, block, content, call.bot)
    if in_trash:
        edits.trash(call.workspace, block, call.bot, into=True)
    return call.answers.block(block)


def delete_block(call: Call) -> dict[str, Any]:
    """Move a block, page or database into the trash."""
    block = call.workspace.block(call.bot, call.uid("block_id"))
    edits.trash(call.workspace, block, call.bot, into=True)
    return call.answers.block(block)


def list_children(call: Call) -> dict[str, Any]:
    """What a block or page holds, outside the trash."""
    block = call.workspace.block(call.bot, call.uid("block_id"))
    uids = block.children if isinstance(block, Container) else []
    children = [call.workspace.block(call.bot, uid) for uid in uids]
    found = [child for child in children if not child.in_trash]
    shown, cursor = call.cursors.turn(
        scope("children", block.id), found, lambda child: child.id, window(call.query, "query")
    )
    return listing("block", [call.answers.block(child) for child in shown], cursor)


def append_children(call: Call) -> dict[str, Any]:
    """Append blocks to what a block or page holds."""
    into = bodies.holder(call.workspace.block(call.bot, call.uid("block_id")))
    older = call.answers.version < WITHOUT_ARCHIVED
    body = call.fields("children", "position", *(("after",) if older else ()))
    made = [call.workspace.blocks[uid] for uid in edits.append(call.workspace, into, body, call.bot)]
    return listing("block", [call.answers.block(block) for block in made], None)
