"""Routes of actions, including comments."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.data.objects import Action
from workspace_sandbox.boards.error_responses import HIDDEN_CARD, NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest


def comment(request: ApiRequest) -> Any:
    """Create a comment."""
    card = request.card
    return object_json.action(
        request.store.comment(request.author, card, request.arguments.text("text", min_length=1)), Arguments({})
    )


def _comment_of(request: ApiRequest) -> Action:
    action = request.action
    elsewhere = "card" in request.path and action.card is not request.card
    if elsewhere or action.type != "commentCard":
        raise ApiError(404, NOT_FOUND)
    return action


def edit_comment(request: ApiRequest) -> Any:
    """Update the text of a comment."""
    action = _comment_of(request)
    # On the action's own route, the parameter with the text is called ``value``.
    text = request.arguments.text("value" if "text" not in request.arguments else "text", min_length=1)
    if action.author.member is not request.author.member:
        raise ApiError(401, HIDDEN_CARD)
    old = action.data["text"]
    request.store.edit_comment(action, text, request.now)
    _announce(request, "updateComment", action, old={"text": old})
    return object_json.action(action, Arguments({}))


def delete_comment(request: ApiRequest) -> Any:
    """Delete a comment."""
    comment = _comment_of(request)
    request.store.delete_action(comment)
    _announce(request, "deleteComment", comment)
    return {"_value": None}


def _announce(request: ApiRequest, kind: str, comment: Action, **data: Any) -> None:
    if comment.card:
        comment_data = {"id": comment.id, "text": comment.data["text"]}
        request.store.announce(request.author, kind, comment.card, action=comment_data, **data)
