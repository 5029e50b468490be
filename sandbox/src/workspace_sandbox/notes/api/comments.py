"""The routes of comments: on pages and blocks, and in existing discussions."""

from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import dates, page_edits
from workspace_sandbox.notes.data.state import Block, Comment, Database, Page
from workspace_sandbox.notes.error_responses import ApiError, invalid
from workspace_sandbox.notes.object_json import list_object
from workspace_sandbox.notes.pagination import read_window
from workspace_sandbox.notes.request import ApiRequest, cursor_scope

KEYS = ("parent", "discussion_id", "rich_text")


def create_comment(request: ApiRequest) -> dict[str, Any]:
    """Comment on a page or block, or in a discussion."""
    body = request.read_fields(*KEYS)
    text = rich_text.parse(validation.need(body, "rich_text", "body"), "body.rich_text")
    if ("parent" in body) == ("discussion_id" in body):
        raise invalid("body failed validation: body should have either parent or discussion_id.")
    subject, discussion_id = _discussion(request, body)
    return _comment_json(request, page_edits.comment(request.workspace, subject, discussion_id, text, request.bot))


def list_comments(request: ApiRequest) -> dict[str, Any]:
    """List the comments on a page or block, oldest first."""
    subject = _subject(
        request,
        validation.uid(validation.need(dict(request.query), "block_id", "query"), "query.block_id"),
    )
    comments = [comment for comment in request.workspace.comments.values() if comment.parent.id == subject.id]
    items, cursor = request.cursors.paginate(
        cursor_scope("comments", subject.id), comments, lambda comment: comment.id, read_window(request.query, "query")
    )
    return list_object("comment", [_comment_json(request, comment) for comment in items], cursor)


def retrieve_comment(request: ApiRequest) -> dict[str, Any]:
    """Return a comment."""
    return _comment_json(request, _comment(request))


def update_comment(request: ApiRequest) -> dict[str, Any]:
    """Change the text of the bot's own comment."""
    comment = _own_comment(request)
    body = request.read_fields("rich_text")
    comment.text = rich_text.parse(validation.need(body, "rich_text", "body"), "body.rich_text")
    request.workspace.record_change(comment, request.bot.id, "comment.updated")
    return _comment_json(request, comment)


def delete_comment(request: ApiRequest) -> dict[str, Any]:
    """Delete the bot's own comment."""
    comment = _own_comment(request)
    del request.workspace.comments[comment.id]
    request.workspace.record_change(comment, request.bot.id, "comment.deleted")
    return _comment_json(request, comment)


def _comment(request: ApiRequest) -> Comment:
    uid = request.path_id("comment_id")
    comment = request.workspace.comments.get(uid)
    if comment is None or not request.workspace.can_access(request.bot, comment):
        raise ApiError(404, "object_not_found", f"Could not find comment with ID: {uid}.")
    return comment


def _own_comment(request: ApiRequest) -> Comment:
    comment = _comment(request)
    if comment.created_by != request.bot.id:
        raise ApiError(403, "restricted_resource", "Connections can change the comments that they made, and no others.")
    return comment


def _discussion(request: ApiRequest, body: dict[str, Any]) -> tuple[Block | Page | Database, str]:
    """Return the subject of a new comment and its discussion id."""
    if "discussion_id" in body:
        discussion_id = validation.uid(body["discussion_id"], "body.discussion_id")
        others = (comment for comment in request.workspace.comments.values() if comment.discussion_id == discussion_id)
        existing = next(others, None)
        if existing is None:
            raise ApiError(404, "object_not_found", f"Could not find discussion with ID: {discussion_id}.")
        return _subject(request, existing.parent.id), discussion_id
    kind, value = validation.sole(validation.obj(body["parent"], "body.parent", "page_id", "block_id"), "body.parent")
    return _subject(request, validation.uid(value, f"body.parent.{kind}")), request.workspace.new_id()


def _subject(request: ApiRequest, uid: str) -> Block | Page | Database:
    return request.workspace.block(request.bot, uid)


def _comment_json(request: ApiRequest, comment: Comment) -> dict[str, Any]:
    author = request.workspace.users[comment.created_by]
    kind = "integration" if author.kind == "bot" else "user"
    return {
        "object": "comment",
        "id": comment.id,
        "parent": {"type": comment.parent.kind, comment.parent.kind: comment.parent.id},
        "discussion_id": comment.discussion_id,
        "created_time": dates.format_page_time(comment.created_at),
        "last_edited_time": dates.format_page_time(comment.edited_at),
        "created_by": {"object": "user", "id": comment.created_by},
        "rich_text": comment.text,
        "attachments": [],
        "display_name": {"type": kind, "resolved_name": author.name},
    }
