"""The routes of comments: on pages and blocks, and in discussions that are already there."""

from dataclasses import dataclass
from typing import Any

from workspace_sandbox.notes import checks, richtext, times
from workspace_sandbox.notes.answers import listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.state import Block, Database, Page
from workspace_sandbox.notes.wire import Refusal, invalid

KEYS = ("parent", "discussion_id", "rich_text")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment; those of a discussion are about the same page or block."""

    id: str
    discussion_id: str
    about_id: str
    author_id: str
    at: float
    text: richtext.Items


def create_comment(call: Call) -> dict[str, Any]:
    """Comment on a page or block, or in a discussion."""
    body = call.fields(*KEYS)
    text = richtext.read(checks.need(body, "rich_text", "body"), "body.rich_text")
    if ("parent" in body) == ("discussion_id" in body):
        raise invalid("body failed validation: body should have either parent or discussion_id.")
    about_id, discussion_id = _place(call, body)
    workspace = call.workspace
    comment = Comment(workspace.new_id(), discussion_id, about_id, call.bot.id, workspace.now(), text)
    workspace.comments[comment.id] = comment
    return _shown(call, comment)


def list_comments(call: Call) -> dict[str, Any]:
    """The comments on a page or block, oldest first."""
    about = _about(call, checks.uid(checks.need(dict(call.query), "block_id", "query"), "query.block_id"))
    found = [comment for comment in call.workspace.comments.values() if comment.about_id == about.id]
    shown, cursor = call.cursors.turn(
        scope("comments", about.id), found, lambda comment: comment.id, window(call.query, "query")
    )
    return listing("comment", [_shown(call, comment) for comment in shown], cursor)


def _place(call: Call, body: dict[str, Any]) -> tuple[str, str]:
    """What a new comment is about, and the discussion that it goes to."""
    if "discussion_id" in body:
        wanted = checks.uid(body["discussion_id"], "body.discussion_id")
        others = (comment for comment in call.workspace.comments.values() if comment.discussion_id == wanted)
        known = next(others, None)
        if known is None:
            raise Refusal(404, "object_not_found", f"Could not find discussion with ID: {wanted}.")
        return _about(call, known.about_id).id, wanted
    kind, value = checks.sole(checks.obj(body["parent"], "body.parent", "page_id", "block_id"), "body.parent")
    return _about(call, checks.uid(value, f"body.parent.{kind}")).id, call.workspace.new_id()


def _about(call: Call, uid: str) -> Block | Page | Database:
    return call.workspace.block(call.bot, uid)


def _shown(call: Call, comment: Comment) -> dict[str, Any]:
    kind = "page_id" if comment.about_id in call.workspace.pages else "block_id"
    at = times.minute(comment.at)
    return {
        "object": "comment",
        "id": comment.id,
        "parent": {"type": kind, kind: comment.about_id},
        "discussion_id": comment.discussion_id,
        "created_time": at,
        "last_edited_time": at,
        "created_by": {"object": "user", "id": comment.author_id},
        "rich_text": comment.text,
        "attachments": [],
        "display_name": {"type": "integration", "resolved_name": call.workspace.users[comment.author_id].name},
    }
