"""Asana's OAuth endpoints, and the identification of accounts.

Source: developers.asana.com/docs/oauth and /docs/oauth-scopes, read 2026-11.
"""

from asana_connector.client import AsanaClient
from connector_gateway.kit.oauth import Account, Endpoint, OAuthConfig

OAUTH = OAuthConfig(
    vendor="Asana",
    authorize=Endpoint("base", "/-/oauth_authorize"),
    token=Endpoint("base", "/-/oauth_token"),
    revoke=Endpoint("base", "/-/oauth_revoke"),
    readable=("Tasks of your projects", "Your name and e-mail address"),
    changeable=("Create and change tasks",),
    scopes={"default": ("list_tasks", "create_task", "update_task", "read_events")},
    pkce=True,
)
"""A token lives for an hour. The refresh token stays the same.

Events have no scope of their own, so the scope of everything is requested.
"""


async def identify(client: AsanaClient) -> Account:
    """Return the user."""
    me = await client.get_me()
    return Account(me.gid, me.email or me.name or me.gid)
