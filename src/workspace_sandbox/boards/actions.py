"""Answers about what happened, and about comments, which are a part of that."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import Ask
from workspace_sandbox.boards.state import Action
from workspace_sandbox.boards.wire import HIDDEN_CARD, NOT_FOUND, Refusal


def read_of_card(ask: Ask) -> Any:
    """What happened to a card."""
    return views.card_actions(ask.card, ask.arguments)


def comment(ask: Ask) -> Any:
    """Create a comment."""
    card = ask.card
    return views.action(ask.store.comment(ask.author, card, ask.arguments.text("text", shortest=1)), Arguments({}))


def _comment_of(ask: Ask) -> Action:
    action = ask.action
    elsewhere = "card" in ask.path and action.card is not ask.card
    if elsewhere or action.type != "commentCard":
        raise Refusal(404, NOT_FOUND)
    return action


def edit_comment(ask: Ask) -> Any:
    """Change the text of a comment."""
    action = _comment_of(ask)
    if action.author.member is not ask.author.member:
        raise Refusal(401, HIDDEN_CARD)
    ask.store.edit_comment(action, ask.arguments.text("text", shortest=1), ask.now)
    return views.action(action, Arguments({}))


def delete_comment(ask: Ask) -> Any:
    """Delete a comment."""
    ask.store.delete_action(_comment_of(ask))
    return {"_value": None}


def read(ask: Ask) -> Any:
    """An action."""
    return views.action(ask.action, ask.arguments)
