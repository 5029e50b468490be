"""The routes of comments on records."""

import re
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import dates, record_queries
from workspace_sandbox.tables.data.state import Base, Comment, Record, User
from workspace_sandbox.tables.request import ApiRequest

MENTION = re.compile(r"@\[(usr\w+)\]")
MAX_PER_PAGE = 100


def list_comments(request: ApiRequest) -> dict[str, Any]:
    """List the comments on a record, newest first."""
    comments = list(reversed(_record(request).comments))
    size, offset = request.query.get("pageSize", str(MAX_PER_PAGE)), request.query.get("offset")
    if not record_queries.DIGITS.fullmatch(size) or not 1 <= int(size) <= MAX_PER_PAGE:
        raise error_responses.invalid_request()
    ids = [comment.id for comment in comments]
    if offset and offset not in ids:
        raise error_responses.expired_offset()
    start = ids.index(offset) if offset else 0
    end = start + int(size)
    page = [_comment_json(request.base, comment) for comment in comments[start:end]]
    return {"comments": page, "offset": ids[end] if end < len(ids) else None}


def create_comment(request: ApiRequest) -> dict[str, Any]:
    """Create a comment by the token's user."""
    record = _record(request)
    text, parent = _text(request), request.body.get("parentCommentId")
    if parent is not None and all(comment.id != parent for comment in record.comments):
        raise error_responses.invalid_request("parentCommentId names no comment on this record")
    comment = Comment(request.workspace.new_id("com"), request.access.user, text, request.reader.now, parent=parent)
    record.comments = (*record.comments, comment)
    return _comment_json(request.base, comment)


def update_comment(request: ApiRequest) -> dict[str, Any]:
    """Change the text of the user's own comment."""
    comment = _own_comment(request)
    comment.text, comment.updated_at = _text(request), request.reader.now
    return _comment_json(request.base, comment)


def delete_comment(request: ApiRequest) -> dict[str, Any]:
    """Delete the user's own comment."""
    record, comment = _record(request), _own_comment(request)
    record.comments = tuple(other for other in record.comments if other is not comment)
    return {"id": comment.id, "deleted": True}


def add(record: Record, identifier: str, author: User, text: str, at: float) -> Comment:
    """Add a comment that *author* writes in Airtable."""
    comment = Comment(identifier, author, text, at)
    record.comments = (*record.comments, comment)
    return comment


def _record(request: ApiRequest) -> Record:
    return request.path_record(request.table())


def _own_comment(request: ApiRequest) -> Comment:
    match = next((comment for comment in _record(request).comments if comment.id == request.path["comment"]), None)
    if match is None:
        raise error_responses.not_found()
    # Only the author can change a comment.
    if match.author != request.access.user:
        raise error_responses.forbidden()
    return match


def _text(request: ApiRequest) -> str:
    text = require(request.body.get("text"), error_responses.missing("text"))
    if not isinstance(text, str) or not text:
        raise error_responses.invalid_request()
    return text


def _comment_json(base: Base, comment: Comment) -> dict[str, Any]:
    names = set(MENTION.findall(comment.text))
    mentions = {user.id: _mention_json(user) for user in base.users if user.id in names}
    return {
        "id": comment.id,
        "author": comment.author.to_json(),
        "text": comment.text,
        "createdTime": dates.format_time(comment.created_at),
        "lastUpdatedTime": None if comment.updated_at is None else dates.format_time(comment.updated_at),
        **({"mentioned": mentions} if mentions else {}),
        **({"parentCommentId": comment.parent} if comment.parent else {}),
    }


def _mention_json(user: User) -> dict[str, str]:
    return {"type": "user", "id": user.id, "displayName": user.name, "email": user.email}
