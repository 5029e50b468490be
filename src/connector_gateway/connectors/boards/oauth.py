"""How an account is connected in a browser, and whose the credentials are.

Source: developer.atlassian.com/cloud/trello/guides/rest-api/, on OAuth 2.0 and its confidential clients, read 2026-11.
"""

from collections.abc import Sequence

from connector_gateway.connectors.boards.client import BoardsClient, expired
from connector_gateway.connectors.boards.wire import Permission
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig, TokenPage

EVERY = ("create_card", "move_card", "comment_on_card", "describe_board", "attach_checklist")

TOKEN_PAGE = TokenPage(
    authorize=Endpoint("site", "/1/authorize"),
    scopes={"read": EVERY, "write": tuple(name for name in EVERY if name != "describe_board")},
    parameters={
        "response_type": "token",
        "callback_method": "fragment",
        "expiration": "never",
        "name": "Connector gateway",
    },
    denied=("Token request rejected",),
)
"""Hands out a token of the installation's API key, which does not end by itself.

The page has no ``state``: it travels in the query of the address to go back to. That a member who does not allow it is
sent back with an error is seen, not documented.
Source: developer.atlassian.com/cloud/trello/guides/rest-api/authorization/, read 2026-11.
"""

OAUTH = OAuthConfig(
    application="Trello",
    authorize=Endpoint("consent", "/authorize"),
    token=Endpoint("consent", "/oauth/token"),
    reads=(
        "Your boards, with their lists, cards, labels and members",
        "Your name",
    ),
    changes=(
        "Create and move cards",
        "Write comments and checklists on cards, in your name",
    ),
    scopes={
        "read:board:trello": EVERY,
        "write:board:trello": tuple(name for name in EVERY if name != "describe_board"),
        "read:member:trello": (),
        "offline_access": (),
    },
    pkce=True,
    body="json",
    parameters={"prompt": "consent"},
    margin_seconds=300.0,
    idle_seconds=90 * 86_400.0,
    expired=expired,
    token_page=TOKEN_PAGE,
)
"""OAuth 2, with a code challenge that is asked of every client. Each refresh token serves once.

A key and a token that a member has made are credentials too; they do not end unless the member wants that.
How tokens of OAuth 2 are given back is not documented.
"""


async def identify(client: BoardsClient) -> Account:
    """The member; of a token of an API key, what it allows and when it ends as well."""
    me, token = await client.get_me(), await client.get_token()
    name = me.full_name or me.username or me.id
    if token is None:
        return Account(me.id, name)
    ends_at = token.date_expires.timestamp() if token.date_expires else None
    return Account(me.id, name, _scopes(token.permissions), ends_at)


async def give_back(client: BoardsClient) -> bool:
    """End the token."""
    return await client.delete_token()


def _scopes(permissions: Sequence[Permission]) -> frozenset[str]:
    """What a token allows with boards, by the names that are asked for."""
    boards = [permission for permission in permissions if permission.model_type == "Board"]
    allowed = {"read": any(one.read for one in boards), "write": any(one.write for one in boards)}
    return frozenset(scope for scope, granted in allowed.items() if granted)
