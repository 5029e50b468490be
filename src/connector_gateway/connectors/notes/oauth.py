"""How a workspace is connected in a browser, and whose the credentials are.

Source: developers.notion.com/docs/authorization and the reference pages of its endpoints, read 2026-11.
"""

from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig

OAUTH = OAuthConfig(
    application="Notion",
    authorize=Endpoint("base", "/v1/oauth/authorize"),
    token=Endpoint("base", "/v1/oauth/token"),
    reads=(
        "The pages and databases that you choose, with their properties",
        "The names and e-mail addresses of people in them",
    ),
    changes=(
        "Create pages in these databases",
        "Change the properties of pages, and move pages to the trash",
    ),
    revoke=Endpoint("base", "/v1/oauth/revoke"),
    client_auth="basic",
    body="json",
    parameters={"owner": "user"},
)
"""The vendor has no scopes and no PKCE; what is allowed is set in the integration, and pages are picked at consent.

It does not say how long a token lives: it is renewed once it is refused, with a new refresh token each time.
"""


async def identify(client: NotesClient) -> Account:
    """The integration's own user, one for each authorisation, in the workspace that it is named after."""
    me = await client.retrieve_me()
    workspace = me.bot.workspace_name if me.bot else None
    return Account(me.id, workspace or me.name or me.id)
