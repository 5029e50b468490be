"""The vendor's token page, its OAuth endpoints, and the identification of accounts.

Source: developer.atlassian.com/cloud/trello/guides/rest-api/, on OAuth 2.0 and its confidential clients, read 2026-11.
"""

from collections.abc import Sequence

from connector_gateway.connectors.boards.client import BoardsClient, is_token_expired
from connector_gateway.connectors.boards.vendor_models import Permission
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
"""The page that issues a token of the installation's API key. The token does not expire.

The page supports no ``state``, so the query of the return URL carries it. If a member declines, the page redirects
with an error, which is undocumented.
Source: developer.atlassian.com/cloud/trello/guides/rest-api/authorization/, read 2026-11.
"""

OAUTH = OAuthConfig(
    vendor="Trello",
    authorize=Endpoint("consent", "/authorize"),
    token=Endpoint("consent", "/oauth/token"),
    readable=(
        "Your boards, with their lists, cards, labels and members",
        "Your name",
    ),
    changeable=(
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
    is_expired=is_token_expired,
    token_page=TOKEN_PAGE,
)
"""OAuth 2 with a code challenge, which every client must send. Each refresh token is valid once.

A key and a token that a member created are accepted as credentials too. They expire only if the member chose so.
The revocation of OAuth 2 tokens is not documented.
"""


async def identify(client: BoardsClient) -> Account:
    """Return the member. For a token of an API key, include its scopes and expiry."""
    me, token = await client.get_me(), await client.get_token()
    name = me.full_name or me.username or me.id
    if token is None:
        return Account(me.id, name)
    ends_at = token.date_expires.timestamp() if token.date_expires else None
    return Account(me.id, name, _scopes(token.permissions), ends_at)


async def revoke_token(client: BoardsClient) -> bool:
    """Revoke the token."""
    return await client.delete_token()


def _scopes(permissions: Sequence[Permission]) -> frozenset[str]:
    """Return the scopes that a token grants on boards, by the names used in requests."""
    boards = [permission for permission in permissions if permission.model_type == "Board"]
    allowed = {"read": any(one.read for one in boards), "write": any(one.write for one in boards)}
    return frozenset(scope for scope, granted in allowed.items() if granted)
