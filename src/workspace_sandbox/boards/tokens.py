"""Answers about tokens."""

from typing import Any

from workspace_sandbox.boards.access import Token
from workspace_sandbox.boards.ask import Ask
from workspace_sandbox.boards.fields import MEMBER, pick
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal


def read(ask: Ask) -> Any:
    """What a token allows."""
    raw = _token(ask).raw()
    wanted = ask.arguments.fields()
    return {name: value for name, value in raw.items() if wanted is None or name in {"id", *wanted}}


def read_member(ask: Ask) -> Any:
    """Whose token it is."""
    return pick(MEMBER, _token(ask).member, ask.arguments.fields())


def delete(ask: Ask) -> Any:
    """Revoke a token."""
    del ask.access.tokens[_token(ask).value]
    return {}


def _token(ask: Ask) -> Token:
    token = ask.access.tokens.get(ask.path["token"])
    if token is None or token.bearer:
        raise Refusal(404, NOT_FOUND)
    return token
