"""The vendor's OAuth endpoints and the identification of accounts.

Source: developers.google.com/identity/protocols/oauth2/web-server, read 2026-11.
"""

from connector_gateway.connectors.mail.client import MailClient
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig

MODIFY = "https://www.googleapis.com/auth/gmail.modify"

OAUTH = OAuthConfig(
    vendor="Gmail",
    authorize=Endpoint("consent", "/o/oauth2/v2/auth"),
    token=Endpoint("tokens", "/token"),
    readable=(
        "Your messages, with their attachments",
        "The names of your labels",
    ),
    changeable=(
        "Send messages and write drafts, from your address",
        "Add labels to messages and take them off",
    ),
    revoke=Endpoint("tokens", "/revoke"),
    revokes_account=True,
    scopes={
        MODIFY: ("search_messages", "send_message", "change_message_labels", "fetch_attachment", "create_draft"),
    },
    pkce=True,
    parameters={"access_type": "offline", "prompt": "consent"},
    issuer="https://accounts.google.com",
    margin_seconds=300.0,
    idle_seconds=180 * 86_400.0,
)
"""The refresh token comes with the first consent and with each one that ``prompt`` forces. It does not expire.

Users may deselect scopes, so the granted scopes are compared with the required ones.
"""


async def identify(client: MailClient) -> Account:
    """Return the mailbox, identified by its address."""
    address = (await client.get_profile()).email_address
    return Account(address.casefold(), address)
