"""Answers about tokens."""

from typing import Any

from workspace_sandbox.boards.access import described
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import MEMBER, pick
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal
from workspace_sandbox.kit.oauth import Token
from workspace_sandbox.kit.refusals import require


def read(ask: ApiRequest) -> Any:
    """What a token allows."""
    raw = described(_token(ask))
    wanted = ask.arguments.fields()
    return {name: value for name, value in raw.items() if wanted is None or name in {"id", *wanted}}


def read_member(ask: ApiRequest) -> Any:
    """Whose token it is."""
    return pick(MEMBER, _token(ask).grant.account, ask.arguments.fields())


def delete(ask: ApiRequest) -> Any:
    """Revoke a token."""
    del ask.oauth.tokens[_token(ask).value]
    return {}


def _token(ask: ApiRequest) -> Token:
    return require(ask.oauth.find(ask.path["token"], "key"), Refusal(404, NOT_FOUND))
