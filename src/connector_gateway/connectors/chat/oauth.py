"""How a workspace is connected in a browser, and whose the credentials are.

Source: docs.slack.dev/authentication, on installing with OAuth and on token rotation, read 2026-11.
"""

from dataclasses import replace

from connector_gateway.connectors.chat.client import ChatClient, expired
from connector_gateway.connectors.chat.errors import code_of, response_status
from connector_gateway.connectors.chat.mapping.events import account
from connector_gateway.kit.oauth import Account, Endpoint, IssuedTokens, OAuthConfig, parse_token_response
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire import WireModel

NAMED = ("post_message", "edit_message", "list_channels", "add_reaction", "read_events")
"""Operations to which a channel may be named, which is then looked for."""

SCOPES = {
    "chat:write": ("post_message", "edit_message"),
    "chat:write.public": (),
    "channels:read": NAMED,
    "groups:read": NAMED,
    "im:read": ("list_channels",),
    "im:write": (),
    "channels:history": ("read_events",),
    "groups:history": ("read_events",),
    "im:history": ("read_events",),
    "reactions:write": ("add_reaction",),
}


def refused(answer: UpstreamResponse) -> str | None:
    """The code of a refused request for tokens, whose status is 200 all the same."""
    verdict = response_status(answer)
    return None if answer.is_success and verdict.ok is True else code_of(verdict)


class Installed(WireModel):
    """The app that tokens were issued to, and for whom."""

    app_id: str | None = None


def granted(answer: UpstreamResponse) -> IssuedTokens:
    """Read the tokens of an accepted request, and which app they belong to."""
    return replace(parse_token_response(answer), app_id=answer.decode(Installed).app_id)


OAUTH = OAuthConfig(
    application="Slack",
    authorize=Endpoint("base", "/oauth/v2/authorize"),
    token=Endpoint("base", "/api/oauth.v2.access"),
    reads=(
        "The channels of your workspace, and their members",
        "Messages in channels that the app is in",
    ),
    changes=(
        "Post messages as the app, and edit them",
        "React to messages",
    ),
    scopes=SCOPES,
    separator=",",
    # Source: docs.slack.dev/authentication/installing-with-oauth, on redirect URIs, read 2026-11.
    callback_paths=True,
    client_auth="basic",
    margin_seconds=7200.0,
    withdrawn=("invalid_code", "bad_redirect_uri", "invalid_refresh_token", "token_revoked", "account_inactive"),
    granted=granted,
    refused=refused,
    expired=expired,
)
"""Tokens end only where the app rotates them: after twelve hours, and a spent refresh token is taken for a while more.

Tokens are not given back: without rotation that would uninstall the app for everybody in the workspace.
There is no code challenge: the vendor takes one only of apps that are declared public clients, which cannot be undone.
"""


async def identify(client: ChatClient) -> Account:
    """The app in its workspace: the bot that it has there stays the same when it is installed again."""
    identity, scopes = await client.auth_test()
    return Account(account(identity.team_id, identity.user_id), identity.team or identity.team_id, scopes or None)
