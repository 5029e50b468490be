"""Comments on records."""

import re
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import queries, times, wire
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.state import Base, Comment, Record, User

MENTIONED = re.compile(r"@\[(usr\w+)\]")
MOST_PER_PAGE = 100


def list_comments(call: Call) -> dict[str, Any]:
    """Comments on a record, the newest first."""
    comments = list(reversed(_record(call).comments))
    size, offset = call.query.get("pageSize", str(MOST_PER_PAGE)), call.query.get("offset")
    if not queries.WHOLE.fullmatch(size) or not 1 <= int(size) <= MOST_PER_PAGE:
        raise wire.invalid_request()
    ids = [comment.id for comment in comments]
    if offset and offset not in ids:
        raise wire.expired_offset()
    start = ids.index(offset) if offset else 0
    end = start + int(size)
    shown = [_shown(call.base, comment) for comment in comments[start:end]]
    return {"comments": shown, "offset": ids[end] if end < len(ids) else None}


def create_comment(call: Call) -> dict[str, Any]:
    """A comment of the token's user."""
    record = _record(call)
    text, parent = _text(call), call.body.get("parentCommentId")
    if parent is not None and all(comment.id != parent for comment in record.comments):
        raise wire.invalid_request("parentCommentId names no comment on this record")
    comment = Comment(call.workspace.new_id("com"), call.access.user, text, call.reader.now, parent=parent)
    record.comments = (*record.comments, comment)
    return _shown(call.base, comment)


def update_comment(call: Call) -> dict[str, Any]:
    """Another text of a comment of one's own."""
    comment = _own(call)
    comment.text, comment.updated_at = _text(call), call.reader.now
    return _shown(call.base, comment)


def delete_comment(call: Call) -> dict[str, Any]:
    """Delete a comment of one's own."""
    record, comment = _record(call), _own(call)
    record.comments = tuple(one for one in record.comments if one is not comment)
    return {"id": comment.id, "deleted": True}


def add(record: Record, identifier: str, author: User, text: str, at: float) -> Comment:
    """A comment that *author* makes in the application."""
    comment = Comment(identifier, author, text, at)
    record.comments = (*record.comments, comment)
    return comment


def _record(call: Call) -> Record:
    return call.own_record(call.table())


def _own(call: Call) -> Comment:
    known = next((one for one in _record(call).comments if one.id == call.path["comment"]), None)
    if known is None:
        raise wire.not_found()
    # Comments of others can be changed by nobody but them.
    if known.author != call.access.user:
        raise wire.forbidden()
    return known


def _text(call: Call) -> str:
    text = require(call.body.get("text"), wire.missing("text"))
    if not isinstance(text, str) or not text:
        raise wire.invalid_request()
    return text


def _shown(base: Base, comment: Comment) -> dict[str, Any]:
    names = set(MENTIONED.findall(comment.text))
    mentioned = {user.id: _mentioned(user) for user in base.users if user.id in names}
    return {
        "id": comment.id,
        "author": comment.author.shape(),
        "text": comment.text,
        "createdTime": times.written(comment.created_at),
        "lastUpdatedTime": None if comment.updated_at is None else times.written(comment.updated_at),
        **({"mentioned": mentioned} if mentioned else {}),
        **({"parentCommentId": comment.parent} if comment.parent else {}),
    }


def _mentioned(user: User) -> dict[str, str]:
    return {"type": "user", "id": user.id, "displayName": user.name, "email": user.email}
