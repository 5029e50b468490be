"""Answers about what happened, and about comments, which are a part of that."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.state import Action
from workspace_sandbox.boards.wire import HIDDEN_CARD, NOT_FOUND, Refusal


def comment(ask: ApiRequest) -> Any:
    """Create a comment."""
    card = ask.card
    return views.action(ask.store.comment(ask.author, card, ask.arguments.text("text", shortest=1)), Arguments({}))


def _comment_of(ask: ApiRequest) -> Action:
    action = ask.action
    elsewhere = "card" in ask.path and action.card is not ask.card
    if elsewhere or action.type != "commentCard":
        raise Refusal(404, NOT_FOUND)
    return action


def edit_comment(ask: ApiRequest) -> Any:
    """Change the text of a comment."""
    action = _comment_of(ask)
    # By the route of its own the new text is called ``value``.
    text = ask.arguments.text("value" if "text" not in ask.arguments else "text", shortest=1)
    if action.author.member is not ask.author.member:
        raise Refusal(401, HIDDEN_CARD)
    old = action.data["text"]
    ask.store.edit_comment(action, text, ask.now)
    _announce(ask, "updateComment", action, old={"text": old})
    return views.action(action, Arguments({}))


def delete_comment(ask: ApiRequest) -> Any:
    """Delete a comment."""
    comment = _comment_of(ask)
    ask.store.delete_action(comment)
    _announce(ask, "deleteComment", comment)
    return {"_value": None}


def _announce(ask: ApiRequest, kind: str, comment: Action, **told: Any) -> None:
    if comment.card:
        about = {"id": comment.id, "text": comment.data["text"]}
        ask.store.announce(ask.author, kind, comment.card, action=about, **told)
