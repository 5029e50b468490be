"""Routes of tokens."""

from typing import Any

from workspace_sandbox.boards.access import token_json
from workspace_sandbox.boards.computed_fields import MEMBER, select_fields
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.oauth.server import Token


def read(request: ApiRequest) -> Any:
    """Return a token."""
    raw = token_json(_token(request))
    fields = request.arguments.fields()
    return {name: value for name, value in raw.items() if fields is None or name in {"id", *fields}}


def read_member(request: ApiRequest) -> Any:
    """Return the owner of a token."""
    return select_fields(MEMBER, _token(request).grant.account, request.arguments.fields())


def delete(request: ApiRequest) -> Any:
    """Revoke a token."""
    del request.oauth.tokens[_token(request).value]
    return {}


def _token(request: ApiRequest) -> Token:
    return require(request.oauth.find_unrevoked(request.path["token"], "key"), ApiError(404, NOT_FOUND))
