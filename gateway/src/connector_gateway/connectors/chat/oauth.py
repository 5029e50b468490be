"""The vendor's OAuth endpoints and the identification of accounts.

Source: docs.slack.dev/authentication, on installing with OAuth and on token rotation, read 2026-11.
"""

from dataclasses import replace

from connector_gateway.connectors.chat.client import ChatClient, is_token_expired
from connector_gateway.connectors.chat.mapping.message_events import account
from connector_gateway.connectors.chat.vendor_errors import get_error_code, response_status
from connector_gateway.kit.oauth import Account, Endpoint, IssuedTokens, OAuthConfig, parse_token_response
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel

NAMED = ("post_message", "edit_message", "list_channels", "add_reaction", "read_events")
"""Operations that accept a channel's name, which is then looked up."""

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


def token_error_code(response: UpstreamResponse) -> str | None:
    """Return the code of a rejected token request, whose status is 200."""
    status = response_status(response)
    return None if response.is_success and status.ok is True else get_error_code(status)


class Installed(VendorModel):
    """The app and the installation that tokens were issued to."""

    app_id: str | None = None


def parse_tokens(response: UpstreamResponse) -> IssuedTokens:
    """Return the tokens of a successful response, and their app."""
    return replace(parse_token_response(response), app_id=response.decode(Installed).app_id)


OAUTH = OAuthConfig(
    vendor="Slack",
    authorize=Endpoint("base", "/oauth/v2/authorize"),
    token=Endpoint("base", "/api/oauth.v2.access"),
    readable=(
        "The channels of your workspace, and their members",
        "Messages in channels that the app is in",
    ),
    changeable=(
        "Post messages as the app, and edit them",
        "React to messages",
    ),
    scopes=SCOPES,
    separator=",",
    # Source: docs.slack.dev/authentication/installing-with-oauth, on redirect URIs, read 2026-11.
    callback_paths=True,
    client_auth="basic",
    margin_seconds=7200.0,
    withdrawn_codes=("invalid_code", "bad_redirect_uri", "invalid_refresh_token", "token_revoked", "account_inactive"),
    parse_tokens=parse_tokens,
    parse_error=token_error_code,
    is_expired=is_token_expired,
)
"""Tokens expire only if the app rotates them: after twelve hours. A used refresh token remains valid for a while.

Tokens are not revoked: without rotation that would uninstall the app for the entire workspace.
There is no code challenge: the vendor supports it only for apps declared as public clients, which is irreversible.
"""


async def identify(client: ChatClient) -> Account:
    """Return the app in its workspace. Its bot there stays the same after a reinstallation."""
    identity, scopes = await client.auth_test()
    return Account(account(identity.team_id, identity.user_id), identity.team or identity.team_id, scopes or None)
