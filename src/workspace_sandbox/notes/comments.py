"""The routes of comments: on pages and blocks, and in discussions that are already there."""

from typing import Any

from workspace_sandbox.notes import checks, edits, richtext, times
from workspace_sandbox.notes.answers import listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.state import Block, Comment, Database, Page
from workspace_sandbox.notes.wire import Refusal, invalid

KEYS = ("parent", "discussion_id", "rich_text")


def create_comment(call: Call) -> dict[str, Any]:
    """Comment on a page or block, or in a discussion."""
    body = call.fields(*KEYS)
    text = richtext.read(checks.need(body, "rich_text", "body"), "body.rich_text")
    if ("parent" in body) == ("discussion_id" in body):
        raise invalid("body failed validation: body should have either parent or discussion_id.")
    about, discussion_id = _place(call, body)
    return _shown(call, edits.comment(call.workspace, about, discussion_id, text, call.bot))


def list_comments(call: Call) -> dict[str, Any]:
    """The comments on a page or block, oldest first."""
    about = _about(call, checks.uid(checks.need(dict(call.query), "block_id", "query"), "query.block_id"))
    found = [comment for comment in call.workspace.comments.values() if comment.parent.id == about.id]
    shown, cursor = call.cursors.turn(
        scope("comments", about.id), found, lambda comment: comment.id, window(call.query, "query")
    )
    return listing("comment", [_shown(call, comment) for comment in shown], cursor)


def retrieve_comment(call: Call) -> dict[str, Any]:
    """One comment."""
    return _shown(call, _comment(call))


def update_comment(call: Call) -> dict[str, Any]:
    """Give a comment of one's own another text."""
    comment = _own(call)
    body = call.fields("rich_text")
    comment.text = richtext.read(checks.need(body, "rich_text", "body"), "body.rich_text")
    call.workspace.touch(comment, call.bot.id, "comment.updated")
    return _shown(call, comment)


def delete_comment(call: Call) -> dict[str, Any]:
    """Delete a comment of one's own."""
    comment = _own(call)
    del call.workspace.comments[comment.id]
    call.workspace.touch(comment, call.bot.id, "comment.deleted")
    return _shown(call, comment)


def _comment(call: Call) -> Comment:
    uid = call.uid("comment_id")
    found = call.workspace.comments.get(uid)
    if found is None or not call.workspace.may_see(call.bot, found):
        raise Refusal(404, "object_not_found", f"Could not find comment with ID: {uid}.")
    return found


def _own(call: Call) -> Comment:
    comment = _comment(call)
    if comment.created_by != call.bot.id:
        raise Refusal(403, "restricted_resource", "Connections can change the comments that they made, and no others.")
    return comment


def _place(call: Call, body: dict[str, Any]) -> tuple[Block | Page | Database, str]:
    """What a new comment is about, and the discussion that it goes to."""
    if "discussion_id" in body:
        wanted = checks.uid(body["discussion_id"], "body.discussion_id")
        others = (comment for comment in call.workspace.comments.values() if comment.discussion_id == wanted)
        known = next(others, None)
        if known is None:
            raise Refusal(404, "object_not_found", f"Could not find discussion with ID: {wanted}.")
        return _about(call, known.parent.id), wanted
    kind, value = checks.sole(checks.obj(body["parent"], "body.parent", "page_id", "block_id"), "body.parent")
    return _about(call, checks.uid(value, f"body.parent.{kind}")), call.workspace.new_id()


def _about(call: Call, uid: str) -> Block | Page | Database:
    return call.workspace.block(call.bot, uid)


def _shown(call: Call, comment: Comment) -> dict[str, Any]:
    author = call.workspace.users[comment.created_by]
    kind = "integration" if author.kind == "bot" else "user"
    return {
        "object": "comment",
        "id": comment.id,
        "parent": {"type": comment.parent.kind, comment.parent.kind: comment.parent.id},
        "discussion_id": comment.discussion_id,
        "created_time": times.minute(comment.created_at),
        "last_edited_time": times.minute(comment.edited_at),
        "created_by": {"object": "user", "id": comment.created_by},
        "rich_text": comment.text,
        "attachments": [],
        "display_name": {"type": kind, "resolved_name": author.name},
    }
