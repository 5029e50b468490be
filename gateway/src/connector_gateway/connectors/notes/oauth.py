"""The vendor's OAuth endpoints and the identification of accounts.

Source: developers.notion.com/docs/authorization and the reference pages of its endpoints, read 2026-11.
"""

from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig

OAUTH = OAuthConfig(
    vendor="Notion",
    authorize=Endpoint("base", "/v1/oauth/authorize"),
    token=Endpoint("base", "/v1/oauth/token"),
    readable=(
        "The pages and databases that you choose, with their properties",
        "The names and e-mail addresses of people in them",
    ),
    changeable=(
        "Create pages in these databases",
        "Change the properties of pages, and move pages to the trash",
    ),
    revoke=Endpoint("base", "/v1/oauth/revoke"),
    client_auth="basic",
    body="json",
    parameters={"owner": "user"},
)
"""The vendor has no scopes and no PKCE. The integration defines permissions, and users pick pages at consent.

A rejected token is refreshed. Facts notes.undocumented-token-lifetime and notes.rotating-tokens.
"""


async def identify(client: NotesClient) -> Account:
    """Return the integration's own user, one per authorisation, named after its workspace."""
    me = await client.retrieve_me()
    workspace = me.bot.workspace_name if me.bot else None
    return Account(me.id, workspace or me.name or me.id)
